"""What changed beyond noise between two releases, table by table, without a question.

A table's shares are those of its cells among all records. Whether any changed is one test for each
table; the tests are corrected together (Holm), so that with the stated confidence no table is named
that did not change. Intervals of single cells hold for all cells of all tables at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Literal

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.blue import NotMeasured
from hallmark.mechanisms.inference.change import stacked
from hallmark.mechanisms.inference.chi_square import ChiSquare, chi_square, holm
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.schemas.question import Question, Statistic, listed
from hallmark.tasks.changes.common_cells import CommonCells, NotComparable
from hallmark.tasks.changes.posing import Releases, common_columns, on_common
from hallmark.tasks.changes.recoding import Recoding
from hallmark.tasks.planning.coding import cell_labels
from hallmark.tasks.questions.functions import ONE
from hallmark.tasks.questions.questioning import Questioning

MOST_CELLS = 600
"""Of a table that is looked at; a question can be asked of a larger one."""

_SEED = 20_261_129  # of the law under Laplace noise: comparing twice tells the same


@dataclass(frozen=True, kw_only=True)
class Shift:
    """How the share of one cell changed.

    Attributes:
        cell: a label for each column of the table.
        before, after: estimates of its share of all records.
        low, high: of the change; with the confidence, those of all cells of all tables hold.
    """

    cell: tuple[str, ...]
    before: float
    after: float
    low: float
    high: float

    @property
    def change(self) -> float:
        """The estimate of the change."""
        return self.after - self.before

    @property
    def is_told(self) -> bool:
        """Whether the change is told apart from noise."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True)
class ShiftedTable:
    """One table in both releases.

    Attributes:
        columns: of the table.
        cells: that both releases have.
        test: of no change in any cell.
        changed: whether the table is named as changed.
        basis: `exact` where the test follows from the law of the noise; `nominal` where tables were
            chosen on earlier answers.
        largest: the cells whose shares changed most, those first that are told apart from noise.
        hidden: the largest change of a cell's share that may stay within its interval.
        seen_from: the least change of a share that, in whichever cell, is told with the confidence.
        apart: cells of single columns that only one release has, which are not compared.
    """

    columns: tuple[str, ...]
    cells: int
    test: ChiSquare
    changed: bool
    basis: Literal["exact", "nominal"]
    largest: tuple[Shift, ...]
    hidden: float
    seen_from: float
    apart: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shifts:
    """All tables that both releases tell.

    Attributes:
        within: the change of a share that the reader wants to be told.
        tables: those named as changed first, by the probability of their tests.
        untold: tables that are not looked at, and why.
        notes: what a reader must know of them.
    """

    confidence: float
    within: float
    tables: tuple[ShiftedTable, ...]
    untold: tuple[tuple[tuple[str, ...], str], ...]
    notes: tuple[str, ...]


def shifts(
    before: Questioning,
    after: Questioning,
    recoding: Recoding,
    *,
    confidence: float,
    within: float,
    pairs: bool = False,
    most: int = 3,
) -> Shifts:
    """What changed in the tables of single columns that both releases tell.

    Args:
        within: the change of a share that the reader wants to be told.
        pairs: look at the tables of two columns that both measured, too.
        most: cells of a table that are shown.
    """
    releases = (before.on_shared, after.on_shared)
    names = [name for name in after.spec.released_columns if name in before.spec.released_columns]
    cliques: list[tuple[str, ...]] = [(name,) for name in names]
    if pairs:
        cliques += [pair for pair in combinations(names, 2) if _are_measured(pair, releases)]
    told: list[_Told] = []
    untold: list[tuple[tuple[str, ...], str]] = []
    for clique in cliques:
        try:
            told.append(_told(clique, releases, recoding))
        except (_Unseen, NotComparable) as error:
            untold.append((clique, str(error)))
        except NotMeasured:
            untold.append((clique, "the noisy tables of one release do not tell it"))
    rng = np.random.default_rng(_SEED)
    tests = [chi_square(one.estimates, one.sums, rng) for one in told]
    changed = holm([test.probability for test in tests], 1 - confidence)
    cells = sum(one.size for one in told)
    each = 1 - (1 - confidence) / max(1, cells)
    tables = [
        one.table(test, bool(named), each, confidence, most)
        for one, test, named in zip(told, tests, changed, strict=True)
    ]
    tables.sort(key=lambda one: (not one.changed, one.test.probability))
    return Shifts(
        confidence=confidence,
        within=within,
        tables=tuple(tables),
        untold=tuple(untold),
        notes=tuple(_notes(tables, cells, confidence, within)),
    )


class _Unseen(Exception):
    """A table is not looked at."""


@dataclass(frozen=True, eq=False)
class _Told:
    """A table as both releases tell it.

    Attributes:
        labels: of its cells, for each column.
        estimates: the counts of both releases, each followed by the number of its records.
        apart: cells of single columns that only one release has.
    """

    columns: tuple[str, ...]
    labels: Sequence[tuple[str, ...]]
    estimates: Estimates
    apart: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def counts(self) -> tuple[Floats, Floats]:
        """The cells of either release, then the number of its records, shape (cells + 1,)."""
        before, after = np.split(self.estimates.values, 2)
        return before, after

    def slopes(self, before: Floats, after: Floats) -> Floats:
        """How each cell's change moves with the queries, shape (cells, queries).

        Args:
            before, after: shares of the cells at which the numbers of records, if they are noisy,
                count to first order.
        """
        records = [counts[-1] for counts in self.counts]
        one, two = (np.hstack([np.eye(self.size), -shares[:, None]]) for shares in (before, after))
        return np.hstack([-one / records[0], two / records[1]])

    @property
    def sums(self) -> Floats:
        """Weights whose sums are the changes, and which are their slopes where nothing changed,
        shape (cells, queries)."""
        before, after = self.counts
        shares = (before[:-1] + after[:-1]) / (before[-1] + after[-1])
        return self.slopes(shares, shares)

    def table(
        self, test: ChiSquare, changed: bool, each: float, confidence: float, most: int
    ) -> ShiftedTable:
        """The table with its test and the cells that changed most.

        Args:
            each: confidence of every cell's interval.
            confidence: with which a change of `seen_from` is told.
        """
        before, after = (counts[:-1] / counts[-1] for counts in self.counts)
        slopes = self.slopes(before, after)
        halves = [self.estimates.half_width(row, each) for row in slopes]
        # An estimate falls short by more than this with probability 1 - confidence at most.
        shortfalls = [
            self.estimates.half_width(row, 2 * confidence - 1) if confidence > 0.5 else 0.0
            for row in slopes
        ]
        cells = [
            Shift(
                cell=label,
                before=float(one),
                after=float(two),
                low=float(two - one - half),
                high=float(two - one + half),
            )
            for label, one, two, half in zip(self.labels, before, after, halves, strict=True)
        ]
        cells.sort(key=lambda one: (not one.is_told, -abs(one.change)))
        return ShiftedTable(
            columns=self.columns,
            cells=self.size,
            test=test,
            changed=changed,
            basis="nominal" if self.estimates.is_conditional else "exact",
            largest=tuple(cells[:most]),
            hidden=max(halves),
            seen_from=max(half + short for half, short in zip(halves, shortfalls, strict=True)),
            apart=self.apart,
        )


def _told(columns: tuple[str, ...], releases: Releases, recoding: Recoding) -> _Told:
    """A table as both releases tell it.

    Raises:
        NotComparable: a column is not the same in both.
        NotMeasured: the noisy tables of one release do not tell it.
        _Unseen: it has too many cells, or noise hides how many records there are.
    """
    common = common_columns(columns, releases, recoding)
    sides = on_common(releases, common, {})
    question = Question(f"count by {listed(columns)}", Statistic("count"), None, columns)
    alone = [common[name].alone for name in columns]
    cells = [
        cell
        for cell in product(*(range(size) for size in _sizes(columns, common)))
        if not any(code in lone for code, lone in zip(cell, alone, strict=True))
    ]
    if len(cells) > MOST_CELLS:
        raise _Unseen(f"it has {len(cells):,} cells; ask {question.text!r}, or about fewer")
    every: list[Estimates] = []
    for side in sides:
        groups = (side.group(question, cell).on(side.cells) for cell in cells)
        every.append(side.estimator.estimates([*(one.query() for one in groups), ONE.query()]))
    for found in every:
        records = np.eye(len(cells) + 1)[-1]
        if found.values[-1] <= 4 * found.deviation(records):
            raise _Unseen("the noise hides how many records there are")
    labels = [sides[1].labels(question, cell) for cell in cells]
    apart = tuple(
        f"{name} = {cell_labels(sides[1].codec.named(name))[code]}"
        for name in columns
        for code in common[name].alone
    )
    return _Told(columns, labels, stacked(every[0], every[1]), apart)


def _sizes(columns: tuple[str, ...], common: Mapping[str, CommonCells]) -> list[int]:
    found = [common[name].column.levels + common[name].column.nulls for name in columns]
    if prod(found) > 100 * MOST_CELLS:  # not even counted
        raise _Unseen(f"it has {prod(found):,} cells; ask about fewer")
    return found


def _are_measured(pair: tuple[str, ...], releases: Releases) -> bool:
    """Whether each release has a noisy table with both columns."""
    return all(
        any(
            {of.codec.names.index(name) for name in pair} <= set(table.columns)
            for table in of.estimator.tables
        )
        for of in releases
    )


def _notes(
    tables: Sequence[ShiftedTable], cells: int, confidence: float, within: float
) -> Iterator[str]:
    if not tables:
        return
    percent = f"{100 * confidence:g} %"
    yield (
        f"with {percent} confidence, no table is named as changed that did not change: the tests "
        f"of {len(tables)} tables are corrected together (Holm)"
    )
    yield f"intervals of all {cells} cells hold at once with {percent} confidence"
    if any(one.changed and not any(cell.is_told for cell in one.largest) for one in tables):
        yield "a table can be named although no single cell is: its changes are spread over many"
    if apart := sorted({cell for one in tables for cell in one.apart}):
        yield f"not compared, since the releases do not count the same there: {', '.join(apart)}"
    if any(one.basis == "nominal" for one in tables):
        yield (
            "nominal: some tables were chosen on earlier answers, which confidence does not count"
        )
    points = f"{100 * within:g} percentage point{'' if within == 0.01 else 's'}"
    if blind := sum(one.hidden > within for one in tables):
        yield (
            f"{blind} of {len(tables)} tables cannot tell a change of {points} in every cell: the "
            "last column says how large a change can stay hidden in some cell"
        )
