"""How far reruns must be stretched, so that they are as far apart as the release is from the truth.

Released records have weaker dependence than private ones, so what a generator loses is lost once
and not again in a rerun. But noisy answers y tell the release's error free of charge. With r what
the records say, r* what a rerun's say and y* what it was told,

    E (r - truth)^2 = E (y - r)^2 - noise variance + 2 cov(y, r),

and the covariance is that of y* and r* in the reruns (Efron 2004). Taken over all answers it gives
one factor for everything, never below 1. Taken along one direction of every pair, the product of
its columns' codes, it gives a factor for what the pair adds to their covariance: correlations and
regressions depend on nothing else of the pair, and generators lose it first. One answer tells a
factor with much noise, so there it is the larger of the two, which makes intervals rather too wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.blue import LinearQuery, NotMeasured
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.replicates.pairs import PairTables
from hallmark.mechanisms.replicates.rerun import Rerun, asked_first

_MOST_STRETCHED = 25.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """Factors for a rerun's change.

    Attributes:
        stretch: of everything; at least 1.
        slopes: of the covariance that each pair adds, shape (pairs,); at least `stretch`.
    """

    pairs: PairTables
    stretch: float
    slopes: Floats

    def stretched(self, change: Floats) -> Floats:
        """A rerun's change of all tables, from its cells to those of a replicate."""
        found = self.stretch * change
        for number, factor in enumerate(self.slopes):
            along = slope(self.pairs, number)
            table = self.pairs.table(found, number)
            table += (factor / self.stretch - 1) * float((along * table).sum()) * along
        return found


def slope(pairs: PairTables, number: int) -> Floats:
    """The product of a pair's centred cells, of length 1; 0 where a column has a single cell."""
    a, b = (_centred(pairs.shape[column]) for column in pairs.pairs[number])
    return np.outer(a, b)


def _centred(cells: int) -> Floats:
    line = np.arange(cells, dtype=np.float64) - (cells - 1) / 2
    return line / (float(np.linalg.norm(line)) or 1.0)


def untold(pairs: PairTables, tables: Sequence[MeasuredTable]) -> Clique | None:
    """A pair whose covariance no answer tells before something is chosen; None if all are told.

    Where one is not, the error that the generator makes there is out of sight, and replicates that
    leave it out are far too close to each other.
    """
    first = asked_first(tables)
    own = {one.columns for one in first if one.sums.entries == pairs.own_cells(one.columns)}
    estimator = Estimator(first, None)
    for number, pair in enumerate(pairs.pairs):
        if not all(pairs.is_whole(column) for column in pair):
            return pair
        if pair in own:
            continue
        along = LinearQuery(pair, slope(pairs, number))
        try:
            estimator.about(pair).estimates([along])
        except NotMeasured:
            return pair
    return None


def calibrated(
    pairs: PairTables,
    tables: Sequence[MeasuredTable],
    total: int | None,
    *,
    released: Floats,
    stood_for: Floats,
    reruns: Sequence[Rerun],
) -> Calibration:
    """The factors, from the release's own noisy answers and from the reruns.

    Args:
        tables: all that the release measured.
        total: number of private records where it is public.
        released, stood_for: tables of all pairs of the released records, and of those that stood
            for the private ones in the reruns; in records of the private table.

    What was asked because of other answers, and tables of more than two columns, tell nothing here.
    """
    known = _Known.of(pairs, tables, reruns)
    changes = [one.tables - stood_for for one in reruns]
    stretch = _overall(known, released, stood_for, changes)
    estimator = Estimator(known.tables, total)
    slopes = np.full(len(pairs.pairs), stretch)
    for number, pair in enumerate(pairs.pairs):
        if all(pairs.is_whole(column) for column in pair):
            along = slope(pairs, number)
            try:
                found = estimator.about(pair).estimates([LinearQuery(pair, along)])
            except NotMeasured:
                continue

            def sums(joined: Floats, number: int = number, along: Floats = along) -> float:
                return float((pairs.table(joined, number) * along).sum())

            moved = np.array([sums(change) for change in changes])
            again = known.again(found) - sums(stood_for)
            miss = found.values[0] - sums(released)
            error = miss**2 - found.covariance[0, 0] + 2 * np.mean(again * moved)
            slopes[number] = max(stretch, _stretch(float(error), float(np.mean(moved**2))))
    return Calibration(pairs, stretch, slopes)


@dataclass(frozen=True, eq=False)
class _Known:
    """Measured tables of one or two columns that every rerun measured, too.

    Attributes:
        told: their answers in each rerun.
    """

    pairs: PairTables
    tables: tuple[MeasuredTable, ...]
    told: tuple[tuple[Counts, ...], ...]

    @classmethod
    def of(
        cls, pairs: PairTables, tables: Sequence[MeasuredTable], reruns: Sequence[Rerun]
    ) -> "_Known":
        first = asked_first(tables)
        ends = np.cumsum([len(one.answers) for one in first])[:-1]
        split = [np.split(one.answers, ends) for one in reruns]
        within = [
            number
            for number, one in enumerate(first)
            if len(one.columns) <= 2
            and set(one.columns) <= set(pairs.columns)
            and all(map(pairs.is_whole, one.columns))
        ]
        return cls(
            pairs,
            tuple(first[number] for number in within),
            tuple(tuple(answers[number] for number in within) for answers in split),
        )

    def expected(self, number: int, joined: Floats) -> Floats:
        """What a measured table is, without noise, where all pairs have these tables."""
        table = self.tables[number]
        pair = next(i for i, pair in enumerate(self.pairs.pairs) if set(table.columns) <= set(pair))
        cells = self.pairs.table(joined, pair)
        if len(table.columns) < 2:
            cells = cells.sum(axis=1 - self.pairs.pairs[pair].index(table.columns[0]))
        return np.asarray(table.by_codes @ cells.ravel())

    def again(self, estimates: Estimates) -> Floats:
        """The first of the estimates in each rerun, shape (reruns,)."""
        number = {id(table): i for i, table in enumerate(self.tables)}
        weights = estimates.weights
        pairs = zip(weights.tables, weights.by_table, strict=True)
        mine = [(number[id(table)], w[:, 0]) for table, w in pairs]
        constant = float(weights.constant[0]) * estimates.total
        return np.array([constant + sum(w @ told[i] for i, w in mine) for told in self.told])


def _overall(
    known: _Known, released: Floats, stood_for: Floats, changes: Sequence[Floats]
) -> float:
    """The factor from all answers together, each in deviations of its noise."""
    error = spread = 0.0
    for number, table in enumerate(known.tables):
        miss = table.answers - known.expected(number, released)
        before = known.expected(number, stood_for)
        moved = [known.expected(number, change) for change in changes]
        shared = [(told[number] - before) @ m for told, m in zip(known.told, moved, strict=True)]
        squares = float(miss @ miss) + 2 * float(np.mean(shared))
        error += squares / table.sigma**2 - len(miss)
        spread += float(np.mean([m @ m for m in moved])) / table.sigma**2
    return _stretch(error, spread)


def _stretch(error: float, spread: float) -> float:
    """From squared errors and squared changes to a factor."""
    if spread <= 0:
        return 1.0
    return float(np.clip(error / spread, 1.0, _MOST_STRETCHED**2)) ** 0.5
