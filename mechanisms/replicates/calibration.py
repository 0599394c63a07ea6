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

A column that is measured with others in bins has a histogram of its own cells besides, whose
answers tell in the same way how far those are from the truth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.blue import LinearQuery, NotMeasured
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.replicates.pairs import MOST_ALONE, PairTables
from hallmark.mechanisms.replicates.rerun import Rerun, asked_first

_MOST_STRETCHED = 25.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """Factors for a rerun's change.

    Attributes:
        stretch: of everything; at least 1.
        slopes: of the covariance that each pair adds, shape (pairs,); at least `stretch`.
        within: of what each column that has a table of its own moves within the cells of pairs.
    """

    pairs: PairTables
    stretch: float
    slopes: Floats
    within: Floats

    def stretched(self, change: Floats) -> Floats:
        """A rerun's change of all tables, from its cells to those of a replicate."""
        found = self.stretch * change
        for number, factor in enumerate(self.slopes):
            along = slope(self.pairs, number)
            table = self.pairs.table(found, number)
            table += (factor / self.stretch - 1) * float((along * table).sum()) * along
        for number, factor in enumerate(self.within):
            table = self.pairs.own_table(found, number)
            table += (factor / self.stretch - 1) * _within(self.pairs, number, table)
        return found


def slope(pairs: PairTables, number: int) -> Floats:
    """The product of a pair's centred cells, of length 1; 0 where a column has a single cell."""
    a, b = (_centred(pairs.shape[column]) for column in pairs.pairs[number])
    return np.outer(a, b)


def _within(pairs: PairTables, number: int, table: Floats) -> Floats:
    """A column's own table without what its cells move alike that share one in tables of pairs."""
    groups = pairs.groups_of_own(pairs.alone[number])
    return table - (np.bincount(groups, table) / np.bincount(groups))[groups]


def _centred(cells: int) -> Floats:
    line = np.arange(cells, dtype=np.float64) - (cells - 1) / 2
    return line / (float(np.linalg.norm(line)) or 1.0)


def untold(pairs: PairTables, tables: Sequence[MeasuredTable]) -> Clique | None:
    """A pair whose covariance no answer tells before something is chosen; None if all are told.

    Where one is not, the error that the generator makes there is out of sight, and replicates that
    leave it out are far too close to each other.
    """
    together = (_in_bins(one, pairs) for one in asked_first(tables))
    first = tuple(one for one in together if one is not None)
    whole = {one.columns for one in first if one.sums.entries == prod(one.shape)}
    estimator = Estimator(first, None)
    for number, pair in enumerate(pairs.pairs):
        if pair in whole:
            continue
        try:
            estimator.about(pair).estimates([_along(pairs, number)])
        except NotMeasured:
            return pair
    return None


def _along(pairs: PairTables, number: int) -> LinearQuery:
    """The product of a pair's centred cells, as a query about what is measured of it."""
    pair = pairs.pairs[number]
    groups = (pairs.groups_of_measured(column) for column in pair)
    return LinearQuery(pair, slope(pairs, number)[np.ix_(*groups)])


def _in_bins(table: MeasuredTable, pairs: PairTables) -> MeasuredTable | None:
    """A measured table for records with bins for cells; None if it tells cells of a bin apart."""
    own = zip(table.cells.columns, table.cells.tables, strict=True)
    binned = []
    for column, cells in own:
        if column in pairs.bins:
            bins = np.array(pairs.bins[column])
            _, firsts = np.unique(bins, return_index=True)
            if not np.array_equal(cells[firsts][bins], cells):
                return None
            cells = cells[firsts]
        binned.append(cells)
    return replace(table, cells=replace(table.cells, tables=tuple(binned)))


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
    together, alone = _known(pairs, tables, reruns)
    changes = [one.tables - stood_for for one in reruns]
    whole = [one for one in together if not any(map(pairs.merges, one.table.columns))]
    stretch = _factor(whole, released, stood_for, changes)
    estimator = Estimator(tuple(one.table for one in together), total)
    slopes = np.full(len(pairs.pairs), stretch)
    for number, pair in enumerate(pairs.pairs):
        along = slope(pairs, number)
        try:
            found = estimator.about(pair).estimates([_along(pairs, number)])
        except NotMeasured:
            continue

        def sums(joined: Floats, number: int = number, along: Floats = along) -> float:
            return float((pairs.table(joined, number) * along).sum())

        moved = np.array([sums(change) for change in changes])
        again = _again(found, together) - sums(stood_for)
        miss = found.values[0] - sums(released)
        error = miss**2 - found.covariance[0, 0] + 2 * np.mean(again * moved)
        slopes[number] = max(stretch, _stretch(float(error), float(np.mean(moved**2))))
    within = [
        max(stretch, _factor(alone[column], released, stood_for, changes)) for column in pairs.alone
    ]
    return Calibration(pairs, stretch, slopes, np.array(within))


@dataclass(frozen=True, eq=False)
class _Known:
    """A table that the release measured, and every rerun, too.

    Attributes:
        told: its answers in each rerun.
        number: of a table of `pairs` that has its columns.
    """

    pairs: PairTables
    table: MeasuredTable
    told: tuple[Counts, ...]
    number: int

    def expected(self, joined: Floats) -> Floats:
        """What is measured, without noise, where all pairs have these tables."""
        columns = self.pairs.cliques[self.number]
        if len(columns) == 1:
            cells = self.pairs.own_table(joined, self.number - len(self.pairs.pairs))
        else:
            cells = self.pairs.table(joined, self.number)
            if len(self.table.columns) < 2:
                cells = cells.sum(axis=1 - columns.index(self.table.columns[0]))
        return np.asarray(self.table.by_codes @ cells.ravel())


def _known(
    pairs: PairTables, tables: Sequence[MeasuredTable], reruns: Sequence[Rerun]
) -> tuple[list[_Known], Mapping[int, list[_Known]]]:
    """Tables of one or two columns as they are measured with others; and by column, those that tell
    cells apart which share a bin, where the column's own table has all of them."""
    first = asked_first(tables)
    ends = np.cumsum([len(one.answers) for one in first])[:-1]
    split = [np.split(one.answers, ends) for one in reruns]
    together: list[_Known] = []
    alone: dict[int, list[_Known]] = {column: [] for column in pairs.alone}
    for place, table in enumerate(first):
        columns = set(table.columns)
        if not 1 <= len(columns) <= 2 or not columns <= set(pairs.columns):
            continue
        told = tuple(answers[place] for answers in split)
        number = next(i for i, pair in enumerate(pairs.pairs) if columns <= set(pair))
        if (binned := _in_bins(table, pairs)) is not None:
            together.append(_Known(pairs, binned, told, number))
        elif len(columns) == 1 and pairs.cells[table.columns[0]] <= MOST_ALONE:
            (column,) = table.columns
            number = len(pairs.pairs) + pairs.alone.index(column)
            alone[column].append(_Known(pairs, table, told, number))
    return together, alone


def _again(estimates: Estimates, known: Sequence[_Known]) -> Floats:
    """The first of the estimates in each rerun, shape (reruns,)."""
    told = {id(one.table): np.array(one.told, dtype=np.float64) for one in known}
    weights = estimates.weights
    every = zip(weights.tables, weights.by_table, strict=True)
    constant = float(weights.constant[0]) * estimates.total
    return np.asarray(constant + sum(told[id(table)] @ w[:, 0] for table, w in every))


def _factor(
    known: Sequence[_Known], released: Floats, stood_for: Floats, changes: Sequence[Floats]
) -> float:
    """The factor from all answers together, each in deviations of its noise."""
    error = spread = 0.0
    for one in known:
        miss = one.table.answers - one.expected(released)
        before = one.expected(stood_for)
        moved = [one.expected(change) for change in changes]
        shared = [(told - before) @ m for told, m in zip(one.told, moved, strict=True)]
        squares = float(miss @ miss) + 2 * float(np.mean(shared))
        error += squares / one.table.sigma**2 - len(miss)
        spread += float(np.mean([m @ m for m in moved])) / one.table.sigma**2
    return _stretch(error, spread)


def _stretch(error: float, spread: float) -> float:
    """From squared errors and squared changes to a factor."""
    if spread <= 0:
        return 1.0
    return float(np.clip(error / spread, 1.0, _MOST_STRETCHED**2)) ** 0.5
