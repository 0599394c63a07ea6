"""Single columns' histograms: from tables of their own, or else from those of the marginals.

Claim.   The estimates are linear in the noisy answers, and unbiased but for the columns that are
         `merged`; their error is the same map of the noise alone, which `errors` draws.
Proof.   Both estimators' errors are drawn as they are, independently, as the noise of both is; each
         histogram is a linear map of one of them. Histograms and the number of records need not
         come from the same answers: single_columns.md asks for the law of their errors together, no
         more.
Oracle.  tests/mechanisms/certificates/test_measured_columns.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.estimate import FamilyEstimate, FamilyEstimator
from hallmark.mechanisms.blocks.single_columns import SingleColumns
from hallmark.mechanisms.certificates.family import BATCH, column_errors
from hallmark.mechanisms.certificates.single_columns import ColumnErrors, ColumnEstimates


@dataclass(frozen=True, eq=False)
class MeasuredColumns:
    """Every column that some marginal holds. Public; pickles.

    Attributes:
        marginals: how blocks of several columns are estimated, on their grid.
        own: how some columns are estimated at their own cells, a block for each; None where none
            is measured by itself.
    """

    marginals: FamilyEstimator
    own: FamilyEstimator | None

    @cached_property
    def single_columns(self) -> SingleColumns:
        """Histograms from the marginals' tables."""
        return SingleColumns(self.marginals.family)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Positions in the domain, ascending."""
        return self.single_columns.columns

    @cached_property
    def apart(self) -> dict[int, int]:
        """Columns that are measured by themselves, with their blocks."""
        if self.own is None:
            return {}
        return {block.columns[0]: b for b, block in enumerate(self.own.family.blocks)}

    @property
    def merged(self) -> tuple[int, ...]:
        """Columns that are known on the marginals' grid alone, which merges some of their codes."""
        return tuple(column for column in self.single_columns.merged if column not in self.apart)

    @property
    def coarsening(self) -> tuple[float, ...]:
        """How far the marginals' grid moves values of each column at most, on average."""
        pairs = zip(self.columns, self.single_columns.coarsening, strict=True)
        return tuple(0.0 if column in self.apart else coarse for column, coarse in pairs)

    def estimate(self, marginals: FamilyEstimate, own: FamilyEstimate | None) -> ColumnEstimates:
        """Histograms of all `columns`, from the estimates of both estimators."""
        pairs = zip(self.columns, self.single_columns(marginals.tables), strict=True)
        return ColumnEstimates(
            counts=tuple(self._finer(column, counts, own) for column, counts in pairs),
            total=float(marginals.total),
            coarsening=self.coarsening,
        )

    def errors(self, draws: int, rng: np.random.Generator) -> Iterator[ColumnErrors]:
        """Errors of `estimate` from fresh draws of all noise, in batches that fit into memory."""
        cells = self.marginals.family.cells + (0 if self.own is None else self.own.family.cells)
        batch = max(1, BATCH // cells)
        for start in range(0, draws, batch):
            some = min(batch, draws - start)
            for coarse in column_errors(self.marginals, self.single_columns, some, rng):
                own = None if self.own is None else self.own.simulate(len(coarse.total), rng)
                pairs = zip(self.columns, coarse.counts, strict=True)
                yield ColumnErrors(
                    counts=tuple(self._finer(column, counts, own) for column, counts in pairs),
                    total=coarse.total,
                )

    def _finer(self, column: int, counts: Floats, own: FamilyEstimate | None) -> Floats:
        if own is None or column not in self.apart:
            return counts
        return own.tables[self.apart[column]]
