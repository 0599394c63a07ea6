"""Give columns private quantile bins, and release them by a marginal mechanism.

Noisy histograms of all cells of some columns choose bins that hold nearly equally many records; the
mechanism measures marginals of bins and makes records; these get cells within their bins.

Claim.   A run is (epsilon, delta)-differentially private within `plan.budget`, and its one-way
         marginals on all cells obey the bounds of the certificate.
Proof.   Privacy: `plan`. The bins are post-processing of the histograms, and so is what is made of
         the records afterwards. The certificate: `certify`.
Oracle.  tests/mechanisms/marginals/binning/test_mechanism.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.checkpoint import Checkpoint
from hallmark.mechanisms.compute import SERIAL, Compute
from hallmark.mechanisms.contract import Certificate, Measurements, Progress, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain, Kind
from hallmark.mechanisms.marginals.binning.asking import BinnedCurator
from hallmark.mechanisms.marginals.binning.bins import Bins, coarse_domain, equal_runs
from hallmark.mechanisms.marginals.binning.certify import certify_cells
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.marginals.binning.quantiles import nearest_shares
from hallmark.mechanisms.marginals.binning.refine import refined
from hallmark.mechanisms.marginals.mechanism import (
    FittedMarginals,
    MarginalMeasurements,
    Marginals,
    answers_of,
)
from hallmark.mechanisms.marginals.selection.design import Answer
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.request import Request

CALL = "binning"
BINS = "bins"  # in the history: by column, the first cell of every bin


@dataclass(frozen=True, eq=False)
class BinnedSelection:
    """The histograms of the columns with bins, and what the mechanism selected. Public."""

    histograms: tuple[Counts, ...]
    inner: tuple[Answer, ...]


@dataclass(frozen=True, eq=False)
class _CellsOfBins:
    """The bins, and how records are spread over the cells of each. Public.

    Attributes:
        names: of the columns with bins.
        shares: of every cell of such a column, as its histogram has it.
    """

    names: tuple[str, ...]
    bins: tuple[Bins, ...]
    shares: tuple[Floats, ...]

    @classmethod
    def of(cls, plan: BinnedPlan, measurements: Measurements) -> "_CellsOfBins":
        histograms = measurements.tables[CALL]
        bins = tuple(plan.chosen(histograms))
        pairs = zip(bins, histograms, strict=True)
        shares = tuple(nearest_shares(plan.values(one.column, counts)) for one, counts in pairs)
        return cls(tuple(plan.domain.names[one.column] for one in bins), bins, shares)

    def given_to(self, made: SyntheticMeasure, rng: np.random.Generator) -> SyntheticMeasure:
        """Records in bins, with cells in their place."""
        codes = made.codes.copy()
        for one, shares in zip(self.bins, self.shares, strict=True):
            codes[:, one.column] = refined(made.codes[:, one.column], one, shares, rng)
        starts = {name: list(one.starts) for name, one in zip(self.names, self.bins, strict=True)}
        return SyntheticMeasure(codes=codes, history={**made.history, BINS: starts})


@dataclass(frozen=True, eq=False)
class FittedBins:
    """A mechanism's fit on bins, whose records get cells."""

    inner: FittedMarginals
    cells: _CellsOfBins

    @property
    def rows(self) -> int:
        return self.inner.rows

    def batch(self, rows: int, rng: np.random.Generator) -> SyntheticMeasure:
        """One of several batches of a table."""
        first, then = rng.spawn(2)
        return self.cells.given_to(self.inner.batch(rows, first), then)


@dataclass(frozen=True)
class PrivatelyBinned:
    """A marginal mechanism on bins that noisy histograms choose.

    Attributes:
        inner: the mechanism.
        share: part of epsilon that it leaves to the histograms, in (0, 1).
        bins: number of bins by column; numbers and dates, fewer bins than cells, two at least.
    """

    inner: Marginals
    share: Fraction
    bins: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.inner.name

    def plan(self, request: Request) -> BinnedPlan:
        """The mechanism's plan with less epsilon, and histograms with what that leaves.

        Raises:
            ValueError: as the mechanism's; or a column cannot have so many bins, or the share pays
                for nothing.
        """
        domain, budget, adjacency = request.domain, request.budget, request.adjacency
        _check(domain, self.share, self.bins)
        columns = tuple(i for i, name in enumerate(domain.names) if name in self.bins)
        bins = tuple(self.bins[domain.names[column]] for column in columns)
        runs = [equal_runs(domain, c, k) for c, k in zip(columns, bins, strict=True)]
        inner = self.inner.plan(
            replace(
                request,
                domain=coarse_domain(domain, runs),
                budget=replace(budget, epsilon=(1 - self.share) * budget.epsilon),
            )
        )
        try:
            noise = gaussian_sigma2(
                budget,
                l2_squared=adjacency.l2_squared,
                unit_moves=adjacency.unit_moves,
                count=len(columns),
                beside=inner.events,
            )
        except ValueError as error:
            raise ValueError(
                f"binning.share: {self.share} of epsilon {budget.epsilon} pays for no histogram "
                f"that could be proved to fit the budget beside {self.name}; give a larger share"
            ) from error
        return BinnedPlan(
            request=request,
            inner=inner,
            columns=columns,
            bins=bins,
            sigma2=noise.value,
        )

    def select(self, curator: MarginalRounds, plan: BinnedPlan) -> BinnedSelection:
        """The histograms, and what the mechanism selects on their bins."""
        histograms = tuple(curator.histograms(CALL, plan.queries))
        bins = plan.chosen(histograms)
        inner = self.inner.select(BinnedCurator(curator, bins), plan.on(bins))
        return BinnedSelection(histograms, inner)

    def measure(
        self, curator: MarginalRounds, plan: BinnedPlan, selection: BinnedSelection
    ) -> MarginalMeasurements:
        """The mechanism's answers, then the histograms."""
        bins = plan.chosen(selection.histograms)
        own = self.inner.measure(BinnedCurator(curator, bins), plan.on(bins), selection.inner)
        return own.with_call(CALL, selection.histograms)

    def generate(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        progress: Progress,
        checkpoint: Checkpoint | None = None,
    ) -> SyntheticMeasure:
        """The mechanism's records, with cells for their bins. The history has the bins."""
        cells = _CellsOfBins.of(plan, measurements)
        first, then = rng.spawn(2)  # so that cells do not depend on how much the mechanism draws
        made = self.inner.generate(
            plan.on(cells.bins),
            measurements,
            rows=rows,
            rng=first,
            progress=progress,
            checkpoint=checkpoint,
        )
        return cells.given_to(made, then)

    def fit(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        *,
        rng: np.random.Generator,
        progress: Progress,
        checkpoint: Checkpoint | None = None,
    ) -> "FittedBins":
        """The mechanism's fit on bins."""
        cells = _CellsOfBins.of(plan, measurements)
        inner = self.inner.fit(
            plan.on(cells.bins), measurements, rng=rng, progress=progress, checkpoint=checkpoint
        )
        return FittedBins(inner, cells)

    def certify(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        compute: Compute = SERIAL,
    ) -> Certificate:
        """Bounds on every column on all its cells; see `certify_cells`."""
        return certify_cells(
            plan,
            answers_of(measurements),
            measurements.total,
            measurements.tables[CALL],
            synthetic.codes,
            confidence=confidence,
            rng=rng,
        )


def _check(domain: Domain, share: Fraction, bins: Mapping[str, int]) -> None:
    """Check that the columns can have the bins.

    Raises:
        ValueError: they cannot; or the share is no part of a budget.
    """
    if not 0 < share < 1:
        raise ValueError(f"binning.share: {share}; give a number above 0 and below 1")
    if not bins:
        raise ValueError("binning.columns: names no column; name one, or remove the section")
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    for name, number in bins.items():
        if name not in attributes:
            raise ValueError(f"binning.columns.{name}: there is no such column")
        attribute = attributes[name]
        if attribute.kind not in (Kind.NUMERIC, Kind.DATE):
            raise ValueError(
                f"binning.columns.{name}: is {attribute.kind.value}; only numbers and dates have "
                "bins"
            )
        if not 2 <= number < attribute.levels:
            raise ValueError(
                f"binning.columns.{name}: {number} bins of {attribute.levels} cells; give 2 at "
                "least, and fewer than cells"
            )
