"""The answers that a page has at hand: counts by one column and by two, with their intervals.

They are those of `hallmark query`, computed when the page is made, since a page from a disk can
compute nothing. Only what the noisy tables tell is among them, and no more cells than a page can
carry; for all else, a page names the command.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf

from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.schemas.question import QuestionError, listed
from hallmark.tasks.questions.answers import Answers
from hallmark.tasks.questions.questioning import Questioning
from hallmark.tasks.questions.release import OpenRelease

MOST_CELLS = 5_000
"""Cells of all tables in a page together."""

LARGE = MOST_CELLS // 10
"""Cells of a single column's table from which on it does not go before those of pairs."""

CONFIDENCE = 0.95

Columns = tuple[str, ...]
"""Those of a table, one or two."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Cross tables of a release.

    Attributes:
        answers: by the columns of each.
        too_large: columns whose table has no room in a page.
        not_told: columns whose table the noisy tables do not tell.
    """

    answers: dict[Columns, Answers]
    too_large: tuple[Columns, ...]
    not_told: tuple[Columns, ...]

    @cached_property
    def cells(self) -> int:
        """Cells of all tables."""
        return sum(len(one.answers) for one in self.answers.values())


NO_TABLES = Tables(answers={}, too_large=(), not_told=())


def tables_of(release: OpenRelease) -> Tables:
    """The tables of single columns unless they are large, then all others, by their cells."""
    names = release.spec.released_columns
    every: list[Columns] = [(name,) for name in names]
    every += combinations(names, 2)
    if not (release.folder / MEASUREMENTS_FILE).exists():
        return Tables(answers={}, too_large=(), not_told=tuple(every))
    asking = release.from_tables
    sizes = {columns: _size(asking, columns) for columns in every}
    answers: dict[Columns, Answers] = {}
    too_large: list[Columns] = []
    not_told: list[Columns] = []
    room = MOST_CELLS
    for columns in sorted(every, key=lambda one: (len(one) > 1 or sizes[one] > LARGE, sizes[one])):
        if sizes[columns] > room:
            too_large.append(columns)
        elif (found := _told(release, columns)) is not None:
            answers[columns] = found
            room -= int(sizes[columns])
        else:
            not_told.append(columns)
    return Tables(answers=answers, too_large=tuple(too_large), not_told=tuple(not_told))


def question_of(columns: Columns) -> str:
    """The question whose answer is a table, as `hallmark query` takes it."""
    return f"count by {listed(columns)}"


def cells_of(table: Answers, release: OpenRelease) -> Iterator[list[str]]:
    """The labels of the cells of each column of a table, in the order of its answers."""
    asking = release.from_tables
    question = asking.bound(table.question)
    sizes = asking.answering(question).groups(question)
    step = len(table.answers)
    for place, size in enumerate(sizes):
        step //= size
        yield [table.answers[cell * step].group[place] for cell in range(size)]


def _size(asking: Questioning, columns: Columns) -> float:
    """How many cells a table has; infinitely many where it cannot be asked for."""
    try:
        return asking.groups(asking.bound(question_of(columns)))
    except QuestionError:
        return inf


def _told(release: OpenRelease, columns: Columns) -> Answers | None:
    """What the noisy tables tell; None where that is not all of a table."""
    try:
        (found,) = release.ask(question_of(columns), confidence=CONFIDENCE, told_by_tables=True)
    except QuestionError:
        return None
    return found
