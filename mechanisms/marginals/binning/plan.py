"""Plan a release on bins: noisy histograms of the columns on their own cells, then a mechanism.

Own cells may be all values of a column, too many to tell of stretches of it. Then it has two
histograms: of its values, in which single ones stand out, and of pieces, which hold many values
each.

Claim.   The histograms and the mechanism together are (epsilon, delta)-differentially private
         within the budget: the mechanism is planned with (1 - share) of epsilon and all of delta,
         the histograms get the least noise that the accountant proves to fit beside it.
Proof.   What is charged is known before a private byte is read: the mechanism's design, which says
         which noise is asked for and is charged, is made on bins of equally many cells and kept
         for the bins that are chosen (`BinnedPlan.on`). It looks at the numbers of cells alone,
         which are the same. Which records a cell counts may depend on answers (`privacy.events`).
         Public bins are what they are from the start.
Oracle.  tests/mechanisms/marginals/binning/test_plan.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.certificates.single_columns import ColumnErrors, forecast_single_columns
from hallmark.mechanisms.contract import Forecast, NoiseLine
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.asking import BinnedCurator
from hallmark.mechanisms.marginals.binning.bins import Bins, coarse_domain, on_bins
from hallmark.mechanisms.marginals.binning.joined import bin_variance, on_cells
from hallmark.mechanisms.marginals.binning.quantiles import nearest_shares, quantile_starts
from hallmark.mechanisms.marginals.binning.two_grids import TwoGrids
from hallmark.mechanisms.marginals.plan import FORECAST_CONFIDENCE, MarginalPlan
from hallmark.mechanisms.marginals.selection.design import Asked
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.request import Requested

CALL = "binning"  # of the histograms
VALUES = "values"  # of those of values, where others are of pieces
_BYTES_A_DRAW = 8 * 3  # of one cell: noise, what is adjusted, cumulative sums


@dataclass(frozen=True, eq=False, kw_only=True)
class BinnedPlan(Requested):
    """The mechanism's plan on bins, with the histograms of own cells. Every field is public.

    Attributes:
        inner: what the mechanism does with its part of the budget, on `bins`.
        bins: of the columns that have some, in their order; where they will be chosen privately,
            of equally many cells.
        chosen_later: columns whose bins will be chosen privately.
        pieces: by column whose own cells are all values, which lie within its bins.
        kinds: of the cells (or pieces) that hold values, by column with bins; see `within`.
        sigma2: noise parameter of every count of the histograms, records^2.
        sigma2_of_values: of every count of a value, where there are pieces; records^2.
    """

    inner: MarginalPlan
    bins: tuple[Bins, ...]
    chosen_later: frozenset[int]
    pieces: Mapping[int, Bins]
    kinds: Mapping[int, tuple[int, ...]]
    sigma2: Fraction
    sigma2_of_values: Fraction

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of the columns with bins, ascending."""
        return tuple(bins.column for bins in self.bins)

    @cached_property
    def public(self) -> Mapping[int, Bins]:
        """The bins of cells, or of pieces, that are known already, by column."""
        return {
            b.column: b.of_pieces(self.pieces[b.column]) if b.column in self.pieces else b
            for b in self.bins
            if b.column not in self.chosen_later
        }

    @cached_property
    def measured(self) -> Domain:
        """The domain with pieces for the values of columns that have some; without rules."""
        return coarse_domain(Domain(self.domain.attributes), tuple(self.pieces.values()))

    @property
    def mechanism(self) -> str:
        return self.inner.mechanism

    @property
    def source(self) -> str:
        return self.inner.source

    @property
    def in_batches(self) -> bool:
        return self.inner.in_batches

    @property
    def bins_of_cells(self) -> Mapping[int, tuple[int, ...]]:
        """The bin of every own cell, its null cell included, of columns whose bins are public."""
        public = (one for one in self.bins if one.column not in self.chosen_later)
        return {one.column: tuple(map(int, one.table)) for one in public}

    @property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """The histograms of own cells or pieces, as the curator is asked for them."""
        shape = self.measured.shape
        asked = (Asked((column,), self.sigma2).query(shape) for column in self.columns)
        recoding = {column: (column, pieces.table) for column, pieces in self.pieces.items()}
        return tuple(replace(query, cells=query.cells.after(recoding)) for query in asked)

    @property
    def value_queries(self) -> tuple[HistogramQuery, ...]:
        """The histograms of values, where others are of pieces."""
        every = (Asked((column,), self.sigma2_of_values) for column in self.pieces)
        return tuple(asked.query(self.domain.shape) for asked in every)

    @property
    def events(self) -> tuple[Event, ...]:
        own = (query.event(self.adjacency) for query in (*self.queries, *self.value_queries))
        return merged([*own, *self.inner.events])

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        kinds = (
            ([c for c in self.columns if c in self.chosen_later], "for their quantile bins"),
            ([c for c in self.columns if c in self.public], "each by itself"),
        )
        own = (
            NoiseLine.of(
                self.queries[self.columns.index(columns[0])],
                f"all cells of {self._names(columns)}, {why}",
                sum(self.measured.shape[column] for column in columns),
                adjacency=self.adjacency,
                times=len(columns),
            )
            for columns, why in kinds
            if columns
        )
        values = (
            NoiseLine.of(
                query,
                f"all values of {self._names([column])}, for those that stand out",
                self.domain.shape[column],
                adjacency=self.adjacency,
            )
            for column, query in zip(self.pieces, self.value_queries, strict=True)
        )
        return (*own, *values, *self.inner.noise)

    @property
    def parameters(self) -> Mapping[str, Any]:
        names = self.domain.names
        return {
            **self.inner.parameters,
            "binning": {
                "bins": {names[bins.column]: bins.number for bins in self.bins},
                "sigma2": str(self.sigma2),
                **({"sigma2_of_values": str(self.sigma2_of_values)} if self.pieces else {}),
            },
            "epsilon_of_the_mechanism": str(self.inner.budget.epsilon),
        }

    @cached_property
    def two_grids(self) -> TwoGrids:
        """Own cells (or pieces) and public bins of the columns in an order, for certificates."""
        attributes = self.domain.attributes
        ordered = (b for c, b in self.public.items() if attributes[c].kind.ordered)
        return TwoGrids(self.measured, tuple(ordered))

    def in_pieces(self, codes: AnyCodes) -> AnyCodes:
        """Records with pieces for values."""
        codes = codes.copy()
        for column, pieces in self.pieces.items():
            codes[:, column] = pieces.table[codes[:, column]]
        return codes

    def settled(self, histograms: Sequence[Counts]) -> tuple[Bins, ...]:
        """The bins, those that are chosen privately by noisy histograms of all cells."""
        return tuple(
            self._quantiles(bins, counts) if bins.column in self.chosen_later else bins
            for bins, counts in zip(self.bins, histograms, strict=True)
        )

    def _quantiles(self, bins: Bins, counts: Counts) -> Bins:
        shares = nearest_shares(self.values(bins.column, counts))
        starts = quantile_starts(shares, bins.number)
        return Bins.runs(bins.column, starts, len(bins.of), bins.has_null)

    def asking(self, curator: MarginalRounds, bins: tuple[Bins, ...]) -> BinnedCurator:
        """The curator as the mechanism asks it, in bins."""
        return BinnedCurator(curator, bins, chosen=bool(self.chosen_later))

    def on(self, bins: Sequence[Bins]) -> MarginalPlan:
        """The mechanism's plan, with the same design, on these bins."""
        request = replace(on_bins(self.request, bins), budget=self.inner.budget)
        assert request.domain.shape == self.inner.domain.shape, "as many bins as were planned"
        return replace(self.inner, request=request)

    def values(self, column: int, counts: Counts) -> Counts:
        """The counts of a column without that of its null cell."""
        return counts[: self.measured.attributes[column].levels]

    def on_cells(
        self, on_bins: Sequence[Floats], own: Sequence[Floats | Counts], total: Floats
    ) -> tuple[Floats, ...]:
        """Estimates of all columns on their own cells; see `joined.on_cells`.

        Args:
            on_bins: of the mechanism's domain.
            own: the histograms, in the order of `bins`.
        """
        first, shape = self.inner.design.first, self.inner.domain.shape
        return on_cells(
            on_bins,
            {c: np.asarray(o, dtype=np.float64) for c, o in zip(self.columns, own, strict=True)},
            total,
            public=self.public,
            own_variance=float(self.sigma2),
            bin_variances={c: bin_variance(first, shape, c) for c in self.public},
        )

    def forecast(self) -> Forecast:
        """The mechanism's own between bins; certificates of the columns with bins on all cells."""
        rng = np.random.default_rng(1)  # a forecast is the same each time it is asked for
        errors = self.inner.forecast_errors()
        inner = self.inner.forecast_from(errors)
        draws = len(errors.total)
        sigma = float(self.sigma2) ** 0.5
        shape = self.measured.shape
        own = [rng.normal(scale=sigma, size=(draws, shape[c])) for c in self.columns]
        grids = self.two_grids
        counts = grids.counts(self.on_cells(errors.counts, own, errors.total))
        bounds = forecast_single_columns(
            grids.domain,
            ColumnErrors(counts=counts, total=errors.total),
            expected_records=self.expected_records,
            total_is_public=self.adjacency.total_is_public,
            confidence=FORECAST_CONFIDENCE,
        )
        smaller = grids.smaller(list(bounds.values()), float)
        return replace(
            inner,
            statement=f"{inner.statement}; between bins of {self._names(self.columns)}"
            + (", as if each had equally many cells" if self.chosen_later else ""),
            memory_bytes=inner.memory_bytes
            + draws * _BYTES_A_DRAW * sum(shape[c] for c in self.columns),
            per_attribute=dict(zip(self.domain.names, smaller, strict=True)),
        )

    def _names(self, columns: Sequence[int]) -> str:
        return ", ".join(self.domain.names[column] for column in columns)
