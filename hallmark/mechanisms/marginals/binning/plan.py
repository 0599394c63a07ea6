"""Plan a release on private quantile bins: noisy histograms of the columns, then a mechanism.

Claim.   The histograms and the mechanism together are (epsilon, delta)-differentially private
         within the budget: the mechanism is planned with (1 - share) of epsilon and all of delta,
         the histograms get the least noise that the accountant proves to fit beside it.
Proof.   What is charged is known before a private byte is read: the mechanism's design, which says
         which noise is asked for and is charged, is made on bins of equally many cells and kept
         for the bins that are chosen (`BinnedPlan.on`). It looks at the numbers of cells alone,
         which are the same. Which records a cell counts may depend on answers (`privacy.events`).
Oracle.  tests/mechanisms/marginals/binning/test_plan.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.certificates.simultaneous import PILOT
from hallmark.mechanisms.certificates.single_columns import ColumnErrors, forecast_single_columns
from hallmark.mechanisms.contract import Forecast, NoiseLine
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.bins import Bins, coarse_domain, equal_runs
from hallmark.mechanisms.marginals.binning.quantiles import nearest_shares, quantile_starts
from hallmark.mechanisms.marginals.plan import FORECAST_CONFIDENCE, MarginalPlan
from hallmark.mechanisms.marginals.selection.design import Asked
from hallmark.mechanisms.marginals.single_columns import combine, gaussian_margins
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.request import Requested

_DRAWS = PILOT + 199  # of a forecast
_BYTES_A_DRAW = 8 * 3  # of one cell: noise, what is adjusted, cumulative sums


@dataclass(frozen=True, eq=False, kw_only=True)
class BinnedPlan(Requested):
    """The mechanism's plan on bins, with the histograms that choose them. Every field is public.

    Attributes:
        inner: what the mechanism does with its part of the budget, on bins of equally many cells.
        columns: positions of the columns that get bins, ascending.
        bins: how many each gets.
        sigma2: noise parameter of every count of their histograms, records^2.
    """

    inner: MarginalPlan
    columns: tuple[int, ...]
    bins: tuple[int, ...]
    sigma2: Fraction

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
    def asked(self) -> tuple[Asked, ...]:
        """The histograms."""
        return tuple(Asked((column,), self.sigma2) for column in self.columns)

    @property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """The histograms, as the curator is asked for them."""
        return tuple(asked.query(self.domain.shape) for asked in self.asked)

    @property
    def events(self) -> tuple[Event, ...]:
        own = (query.event(self.adjacency) for query in self.queries)
        return merged([*own, *self.inner.events])

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        own = NoiseLine.of(
            self.queries[0],
            f"all cells of {self._names()}, for their quantile bins",
            sum(self.domain.shape[column] for column in self.columns),
            adjacency=self.adjacency,
            times=len(self.columns),
        )
        return (own, *self.inner.noise)

    @property
    def parameters(self) -> Mapping[str, Any]:
        names = self.domain.names
        return {
            **self.inner.parameters,
            "binning": {
                "bins": {names[c]: k for c, k in zip(self.columns, self.bins, strict=True)},
                "sigma2": str(self.sigma2),
            },
            "epsilon_of_the_mechanism": str(self.inner.budget.epsilon),
        }

    def chosen(self, histograms: Sequence[Counts]) -> tuple[Bins, ...]:
        """The bins that noisy histograms of all cells give."""
        return tuple(
            replace(
                equal_runs(self.domain, column, bins),
                starts=quantile_starts(nearest_shares(self.values(column, counts)), bins),
            )
            for column, bins, counts in zip(self.columns, self.bins, histograms, strict=True)
        )

    def on(self, bins: Sequence[Bins]) -> MarginalPlan:
        """The mechanism's plan, with the same design, on these bins."""
        coarse = coarse_domain(self.domain, bins)
        assert coarse.shape == self.inner.domain.shape, "as many bins as were planned"
        return replace(self.inner, request=replace(self.inner.request, domain=coarse))

    def values(self, column: int, counts: Counts) -> Counts:
        """The counts of a column without that of its null cell."""
        return counts[: self.domain.attributes[column].levels]

    def forecast(self) -> Forecast:
        """The mechanism's own between bins; certificates of the columns with bins on all cells."""
        inner, public = self.inner.forecast(), self.adjacency.total_is_public
        fine = Domain(tuple(self.domain.attributes[column] for column in self.columns))
        rng = np.random.default_rng(0)  # a forecast is the same each time it is asked for
        every = (
            gaussian_margins(Asked((axis,), self.sigma2), fine.shape, _DRAWS, rng)
            for axis in range(len(fine))
        )
        counts, total = combine(fine.shape, every, total=0.0 if public else None)
        own = forecast_single_columns(
            fine,
            ColumnErrors(counts=counts, total=total),
            expected_records=self.expected_records,
            total_is_public=public,
            confidence=FORECAST_CONFIDENCE,
        )
        return replace(
            inner,
            statement=f"{inner.statement}; between bins of {self._names()}, as if each had equally "
            "many cells",
            memory_bytes=inner.memory_bytes + _DRAWS * _BYTES_A_DRAW * sum(fine.shape),
            per_attribute={**inner.per_attribute, **own},
        )

    def _names(self) -> str:
        return ", ".join(self.domain.names[column] for column in self.columns)
