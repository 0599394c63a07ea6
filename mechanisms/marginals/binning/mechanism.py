"""Give columns bins, and release them by a marginal mechanism.

Some columns' own cells are measured once, each column by itself. Their bins are public, or are
chosen by these noisy histograms so that they hold nearly equally many records. The mechanism
measures marginals of bins and makes records; these get cells within their bins.

Where a column's own cells are all its values, it is measured in public pieces, too. These get what
the share would pay for were it `_PIECES`, or half of it if it is less than twice that; the rest is
for counts of values, which have to stand out one by one.

Of several public levels of bins, the finest is taken whose tables with a typical column still hold
enough records a cell; that looks at public numbers alone.

Claim.   A run is (epsilon, delta)-differentially private within `plan.budget`, and its one-way
         marginals on all cells obey the bounds of the certificate.
Proof.   Privacy: `plan`. The bins are post-processing of the histograms, and so is what is made of
         the records afterwards. The certificate: `certify`.
Oracle.  tests/mechanisms/marginals/binning/test_mechanism.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, comb

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats, Table
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.marginals.binning.bins import Bins, equal_runs, on_bins
from hallmark.mechanisms.marginals.binning.certify import certify_cells
from hallmark.mechanisms.marginals.binning.plan import CALL, VALUES, BinnedPlan
from hallmark.mechanisms.marginals.binning.values import shares_of_values
from hallmark.mechanisms.marginals.binning.within import refined, shares_within
from hallmark.mechanisms.marginals.evidence import NoisyMarginal
from hallmark.mechanisms.marginals.mechanism import (
    FittedMarginals,
    MarginalMeasurements,
    Marginals,
    answers_of,
    asked_first,
    single_columns,
)
from hallmark.mechanisms.marginals.selection.design import Answer
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.request import Request

_FAINTEST = 0.25  # records a cell, in deviations of its noise
_PIECES = Fraction(1, 40)  # of epsilon, for cells and pieces where values are counted, too
BINS = "bins"  # in the history: by column, the first cell of every bin that was chosen


@dataclass(frozen=True, eq=False)
class BinnedSelection:
    """The histograms of the columns with bins, and what the mechanism selected. Public."""

    histograms: tuple[Counts, ...]
    values: tuple[Counts, ...]
    inner: tuple[Answer, ...]


@dataclass(frozen=True, eq=False)
class _CellsOfBins:
    """The bins, and how records are spread over the cells of each. Public.

    Attributes:
        names: of the columns with bins.
        shares: of every cell of such a column in its bin, as its histograms have it.
        private: columns whose bins were chosen by it.
    """

    names: tuple[str, ...]
    bins: tuple[Bins, ...]
    shares: tuple[Floats, ...]
    private: frozenset[int]

    @classmethod
    def of(cls, plan: BinnedPlan, measurements: Measurements) -> "_CellsOfBins":
        histograms = measurements.tables[CALL]
        bins = tuple(plan.settled(histograms))
        answers = asked_first(answers_of(measurements))
        on_bins, records = single_columns(plan.inner.domain, answers, measurements.total)
        estimates = plan.on_cells(on_bins, histograms, np.array(records))
        values = dict(zip(plan.pieces, measurements.tables.get(VALUES, ()), strict=True))
        shares = tuple(
            _shares(plan, one, counts, values.get(one.column), estimates[one.column])
            for one, counts in zip(bins, histograms, strict=True)
        )
        names = tuple(plan.domain.names[one.column] for one in bins)
        return cls(names, bins, shares, plan.chosen_later)

    def given_to(self, made: SyntheticMeasure, rng: np.random.Generator) -> SyntheticMeasure:
        """Records in bins, with cells in their place."""
        codes = made.codes.copy()
        for one, shares in zip(self.bins, self.shares, strict=True):
            codes[:, one.column] = refined(made.codes[:, one.column], one, shares, rng)
        return SyntheticMeasure(codes=codes, history={**made.history, BINS: self._first_cells})

    def on_own(self, clique: Clique, table: Table) -> Table:
        """The table of a single column with cells for bins; any other as it is."""
        for one, shares in zip(self.bins, self.shares, strict=True):
            if clique == (one.column,):
                of = np.array(one.of)
                return np.concatenate([table[of] * shares, table[one.number :]])
        return table

    @property
    def _first_cells(self) -> Mapping[str, list[int]]:
        named = zip(self.names, self.bins, strict=True)
        return {name: list(one.starts) for name, one in named if one.column in self.private}


def _shares(
    plan: BinnedPlan, bins: Bins, histogram: Counts, values: Counts | None, estimates: Floats
) -> Floats:
    """Shares of a column's cells in their bins, from its histograms and joined estimates."""
    column = bins.column
    measured = plan.public.get(column, bins)
    masses = measured.merged(estimates, -1)[: bins.number]
    counts = plan.values(column, histogram).astype(np.float64)
    within = partial(
        shares_within,
        plan.measured.attributes[column],
        measured,
        np.array(plan.kinds[column]),
        sigma=float(plan.sigma2) ** 0.5,
    )
    if values is None:
        return within(counts, masses)
    sigma, pieces = float(plan.sigma2_of_values) ** 0.5, plan.pieces[column]
    known = values[: len(bins.of)]
    return shares_of_values(bins, pieces, known, counts, masses, sigma, within)


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
class Binned:
    """A marginal mechanism on bins of some columns.

    Attributes:
        inner: the mechanism.
        share: part of epsilon that it leaves to the histograms of own cells, in (0, 1).
        bins: by column: how many are chosen privately (of numbers and dates; fewer bins than cells,
            two at least), or for every level of public bins that of every cell.
        kinds: of the cells of such columns (or their pieces), where some are alike
            (`Column.kinds_of_cells`).
        pieces: by column whose own cells are all its values, the piece of every value, within the
            public bins.
    """

    inner: Marginals
    share: Fraction
    bins: Mapping[str, int | tuple[tuple[int, ...], ...]]
    kinds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    pieces: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def private(self) -> tuple[str, ...]:
        """Columns whose bins are chosen privately."""
        return tuple(name for name, bins in self.bins.items() if isinstance(bins, int))

    @property
    def public(self) -> tuple[str, ...]:
        """Columns whose bins are public."""
        return tuple(name for name in self.bins if name not in self.private)

    def plan(self, request: Request) -> BinnedPlan:
        """The mechanism's plan with less epsilon, and histograms with all that this leaves.

        Raises:
            ValueError: as the mechanism's; or a column cannot have so many bins, or the share pays
                for nothing.
        """
        domain, budget, adjacency = request.domain, request.budget, request.adjacency
        _check(domain, self.share, self.bins)
        levels = [
            _levels(domain, column, self.bins[name])
            for column, name in enumerate(domain.names)
            if name in self.bins
        ]
        rest = replace(budget, epsilon=(1 - self.share) * budget.epsilon)
        bins = tuple(_finest(own, request, rest) if len(own) > 1 else own[0] for own in levels)
        pieces = {
            one.column: Bins(one.column, self.pieces[name], domain.attributes[one.column].has_null)
            for one in bins
            if (name := domain.names[one.column]) in self.pieces
        }
        inner = self.inner.plan(replace(on_bins(request, bins), budget=rest))
        least = partial(
            gaussian_sigma2,
            budget,
            l2_squared=adjacency.l2_squared,
            unit_moves=adjacency.unit_moves,
        )
        try:
            parts = self.share / min(_PIECES, self.share / 2) if pieces else Fraction(1)
            sigma2 = sigma2_of_values = least(
                count=ceil(parts * len(bins)), beside=inner.events
            ).value
            if pieces:
                own = DiscreteGaussian(
                    l2_squared=adjacency.l2_squared,
                    sigma2=sigma2,
                    unit_moves=adjacency.unit_moves,
                    times=len(bins),
                )
                left = least(count=len(pieces), beside=(*inner.events, own))
                sigma2_of_values = left.value
        except ValueError as error:
            raise ValueError(
                f"binning.share: {self.share} of epsilon {budget.epsilon} pays for no histogram "
                f"that could be proved to fit the budget beside {self.name}; give a larger share"
            ) from error
        return BinnedPlan(
            request=request,
            inner=inner,
            bins=bins,
            chosen_later=frozenset(domain.names.index(name) for name in self.private),
            pieces=pieces,
            kinds={
                one.column: self.kinds.get(domain.names[one.column], (0,) * size)
                for one in bins
                for size in [pieces[one.column].number if one.column in pieces else len(one.of)]
            },
            sigma2=sigma2,
            sigma2_of_values=sigma2_of_values,
        )

    def select(self, curator: MarginalRounds, plan: BinnedPlan) -> BinnedSelection:
        """The histograms, and what the mechanism selects on their bins."""
        histograms = tuple(curator.histograms(CALL, plan.queries))
        values = tuple(curator.histograms(VALUES, plan.value_queries)) if plan.pieces else ()
        bins = plan.settled(histograms)
        inner = self.inner.select(plan.asking(curator, bins), plan.on(bins))
        return BinnedSelection(histograms, values, inner)

    def measure(
        self, curator: MarginalRounds, plan: BinnedPlan, selection: BinnedSelection
    ) -> MarginalMeasurements:
        """The mechanism's answers, then the histograms."""
        bins = plan.settled(selection.histograms)
        own = self.inner.measure(plan.asking(curator, bins), plan.on(bins), selection.inner)
        own = own.with_call(CALL, selection.histograms)
        return own.with_call(VALUES, selection.values) if plan.pieces else own

    def generate(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """The mechanism's records, with cells for their bins. The history has the bins."""
        cells = _CellsOfBins.of(plan, measurements)
        first, then = rng.spawn(2)  # so that cells do not depend on how much the mechanism draws
        made = self.inner.generate(
            plan.on(cells.bins),
            measurements,
            rows=rows,
            rng=first,
            execution=execution,
            besides=_sums_of_bins(plan, measurements),
        )
        return cells.given_to(made, then)

    def fit(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> "FittedBins":
        """The mechanism's fit on bins."""
        cells = _CellsOfBins.of(plan, measurements)
        inner = self.inner.fit(
            plan.on(cells.bins),
            measurements,
            rng=rng,
            execution=execution,
            besides=_sums_of_bins(plan, measurements),
        )
        return FittedBins(inner, cells)

    def drafted(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        cliques: Sequence[Clique],
        rng: np.random.Generator,
    ) -> list[Table]:
        """Marginals in records, as a draft of the generator would have them: those of several
        columns over bins, those of one column over its own cells."""
        cells = _CellsOfBins.of(plan, measurements)
        tables = self.inner.drafted(
            plan.on(cells.bins), measurements, cliques, rng, _sums_of_bins(plan, measurements)
        )
        return [cells.on_own(*one) for one in zip(cliques, tables, strict=True)]

    def certify(
        self,
        plan: BinnedPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """Bounds on every column on all its cells; see `certify_cells`."""
        return certify_cells(plan, measurements, synthetic.codes, confidence=confidence, rng=rng)


def _sums_of_bins(plan: BinnedPlan, measurements: Measurements) -> list[NoisyMarginal]:
    """What the histograms say of public bins, with the mean variance.

    Sums over bins that the same noise chose are biased, so nothing is said of private ones.
    """
    sums = []
    for column, counts in zip(plan.columns, measurements.tables[CALL], strict=True):
        if column in plan.public:
            bins = plan.public[column]
            sigma = float(plan.sigma2 * Fraction(bins.sizes.mean())) ** 0.5
            table = bins.merged(counts.astype(np.float64), -1)
            sums.append(NoisyMarginal((column,), table, sigma))
    return sums


def _levels(
    domain: Domain, column: int, bins: int | tuple[tuple[int, ...], ...]
) -> tuple[Bins, ...]:
    """The bins that the column may have, from the coarsest on."""
    if isinstance(bins, int):
        return (equal_runs(domain, column, bins),)
    null = domain.attributes[column].has_null
    return tuple(sorted((Bins(column, of, null) for of in bins), key=lambda one: one.number))


def _finest(levels: Sequence[Bins], request: Request, budget: Budget) -> Bins:
    """The finest bins with enough records in the cells of a table with a typical column.

    As if all pairs of columns were measured, with equal noise.

    Args:
        budget: of the mechanism.
    """
    domain, adjacency = request.domain, request.adjacency
    others = [k for a, k in enumerate(domain.shape) if a != levels[0].column] or [1]
    sigma2 = gaussian_sigma2(
        budget,
        l2_squared=adjacency.l2_squared,
        unit_moves=adjacency.unit_moves,
        count=max(1, comb(len(domain), 2)),
    )
    faintest = _FAINTEST * float(sigma2.value) ** 0.5
    affordable = request.expected_records / (faintest * float(np.median(others)))
    return max(
        (one for one in levels if one.number <= affordable),
        key=lambda one: one.number,
        default=levels[0],
    )


def _check(
    domain: Domain, share: Fraction, every: Mapping[str, int | tuple[tuple[int, ...], ...]]
) -> None:
    """Check that the columns can have the bins.

    Raises:
        ValueError: they cannot; or the share is no part of a budget.
    """
    if not 0 < share < 1:
        raise ValueError(f"binning.share: {share}; give a number above 0 and below 1")
    if not every:
        raise ValueError("binning.columns: names no column; name one, or remove the section")
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    for name, bins in every.items():
        if name not in attributes:
            raise ValueError(f"binning.columns.{name}: there is no such column")
        attribute = attributes[name]
        if not isinstance(bins, int):
            _check_public(attribute, bins)
            continue
        if attribute.kind not in (Kind.NUMERIC, Kind.DATE):
            raise ValueError(
                f"binning.columns.{name}: is {attribute.kind.value}; only numbers and dates have "
                "bins"
            )
        if not 2 <= bins < attribute.levels:
            raise ValueError(
                f"binning.columns.{name}: {bins} bins of {attribute.levels} cells; give 2 at "
                "least, and fewer than cells"
            )


def _check_public(attribute: Attribute, levels: Sequence[Sequence[int]]) -> None:
    for of in levels:
        if len(of) != attribute.levels or not np.array_equal(np.unique(of), np.arange(max(of) + 1)):
            raise ValueError(
                f"columns.{attribute.name}: groups of {len(of)} cells, of which there are "
                f"{attribute.levels}; every cell needs one group, and every group a cell"
            )
        if attribute.kind.ordered and np.any(np.diff(of) < 0):
            raise ValueError(f"columns.{attribute.name}: bins of an order must be neighbours")
