"""One question, posed to two releases so that it is the same function of records in both."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.schemas.lookups import Lookup, as_columns
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.question import Question, QuestionError, parse_question
from hallmark.tasks.changes.changes import Changes, Comparing
from hallmark.tasks.changes.common_cells import CommonCells, common_cells
from hallmark.tasks.changes.recoding import Recoding
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.questions.answers import Answering
from hallmark.tasks.questions.functions import measured
from hallmark.tasks.questions.questioning import Questioning

_RECODE = "if a public table says which codes are the same, give it with --recode"


@dataclass(frozen=True, eq=False)
class Posed:
    """A question that both releases can be asked.

    Attributes:
        comparing: both releases, on cells that both count.
        notes: what of these cells a reader must know.
    """

    comparing: Comparing
    notes: tuple[str, ...]

    @property
    def groups(self) -> int:
        """How many groups both releases have."""
        return sum(self.comparing.kept)

    def changes(self, *, confidence: float, together: int | None = None) -> Changes:
        """The changes of all groups that both have; see `Comparing.compared`."""
        found = self.comparing.compared(confidence=confidence, together=together)
        return replace(found, notes=(*found.notes, *self.notes))


def posed(text: str, before: Questioning, after: Questioning, recoding: Recoding) -> Posed:
    """The question on cells that both releases count.

    Raises:
        QuestionError: it cannot be read, or is about something that a release does not have.
        NotComparable: a column that it is about is not the same in both.
    """
    question = parse_question(text)
    lookups = _lookups(question, before, after)
    answerings = (before.answering(question), after.answering(question))
    names = [measured(name, lookups) for name in question.columns]
    common = common_columns(names, answerings, recoding)
    columns = {name: cells.column for name, cells in common.items()}
    bound = question.bound_to(columns | as_columns(lookups, columns), lookups)
    for one in bound.statistics:
        cells = common.get(one.column or "")
        if cells is not None and cells.blurred and one.kind in ("sum", "mean", "quantile"):
            raise QuestionError(
                f"{text!r}: {cells.blurred}, so the {one.kind} is not the same function of records "
                f"in both; ask for shares, such as share of {one.column} < a common edge"
            )
    sides = on_common(answerings, common, lookups)
    _refuse_lone_cells(bound, sides[1], common)
    lone = _lone_groups(bound, sides[1], common)
    return Posed(
        Comparing(bound, sides[0], sides[1], [why is None for why in lone.values()]),
        (*_skipped(lone), *_coarser(bound, common, answerings)),
    )


Releases = tuple[Answering, Answering]
"""What answers questions about the earlier release, and about the later one."""


def common_columns(
    names: Iterable[str], releases: Releases, recoding: Recoding
) -> dict[str, CommonCells]:
    """The cells that releases have in common of some columns of both.

    Raises:
        NotComparable: a column is not the same in both.
    """
    before, after = (of.codec for of in releases)
    return {
        name: common_cells(
            name, before.named(name).column, after.named(name).column, recoding.get(name)
        )
        for name in dict.fromkeys(names)
    }


def on_common(
    releases: Releases, common: Mapping[str, CommonCells], lookups: Mapping[str, Lookup]
) -> Releases:
    """The releases' answers to questions about common cells."""
    before = {name: its.before for name, its in common.items() if its.before is not None}
    after = {name: its.after for name, its in common.items() if its.after is not None}
    return (
        _on(releases[0], common, before, lookups),
        _on(releases[1], common, after, lookups),
    )


def _lookups(question: Question, before: Questioning, after: Questioning) -> dict[str, Lookup]:
    """The lookups that the question is about, with the values of both releases' codes.

    Raises:
        QuestionError: a column is not in both releases, or looked up otherwise in one.
    """
    found = {}
    for name in question.columns:
        for of, other, which in ((before, after, "earlier"), (after, before, "later")):
            if name not in of.spec.published:
                told = no_such_column(name, of.spec.published)
                if name in other.spec.published:
                    told = f"{name} is no column of the {which} release; ask about other columns"
                raise QuestionError(f"{question.text!r}: {told}")
        one, two = before.spec.lookups.get(name), after.spec.lookups.get(name)
        if one is None and two is None:
            continue
        if one is None or two is None or one.of != two.of:
            raise QuestionError(
                f"{question.text!r}: {name} is looked up in one release and not so in the other; "
                "ask about other columns"
            )
        shared = one.values.keys() & two.values.keys()
        if any(one.values[code] != two.values[code] for code in shared):
            raise QuestionError(
                f"{question.text!r}: {name} has other values for the same codes of {one.of} in the "
                f"later release; ask about {one.of}"
            )
        found[name] = two.model_copy(update={"values": {**one.values, **two.values}})
    return found


def _on(
    answering: Answering,
    common: Mapping[str, CommonCells],
    tables: Mapping[str, Counts],
    lookups: Mapping[str, Lookup],
) -> Answering:
    """A release's answers to questions about common cells.

    Args:
        tables: by column, the common cell of every cell of this release.
    """
    columns = {one.name: one.column for one in answering.codec.codecs}
    places = list(columns)
    cells = {places.index(name): table for name, table in tables.items()}
    records = answering.records
    if records is not None and cells:
        records = records.copy()
        for column, table in cells.items():
            if (records[:, column] >= 0).all():  # else the column is not released
                records[:, column] = table[records[:, column]]
    codec = TableCodec.of(columns | {name: its.column for name, its in common.items()})
    return replace(answering, codec=codec, cells=cells, records=records, lookups=lookups)


def _refuse_lone_cells(
    question: Question, side: Answering, common: Mapping[str, CommonCells]
) -> None:
    """Refuse a question that depends on a cell that only one release has.

    Raises:
        QuestionError: it does.
    """
    for function in (piece for its in side.pieces(question) for piece in its):
        for axis, column in enumerate(function.columns):
            name = side.codec.names[column]
            for cell, why in common[name].alone.items() if name in common else ():
                if np.any(function.values.take(cell, axis=axis)):
                    label = cell_labels(side.codec.named(name))[cell]
                    raise QuestionError(
                        f"{question.text!r}: counts {name} = {label}, but {why}; ask about codes "
                        f"that both have, or, {_RECODE}"
                    )


def _lone_groups(
    question: Question, side: Answering, common: Mapping[str, CommonCells]
) -> dict[tuple[int, ...], tuple[str, str] | None]:
    """For every group, in the order of their cells, a cell that only one release has, and why."""
    sizes = side.groups(question)
    lone = {}
    for cell in product(*(range(size) for size in sizes)):
        apart = (
            (f"{name} = {cell_labels(side.codec.named(name))[code]}", common[name].alone[code])
            for name, code in zip(question.by, cell, strict=True)
            if code in common[name].alone
        )
        lone[cell] = next(apart, None)
    return lone


def _skipped(lone: Mapping[tuple[int, ...], tuple[str, str] | None]) -> Iterator[str]:
    for what, why in dict.fromkeys(one for one in lone.values() if one is not None):
        yield f"{what} is not compared: {why}; {_RECODE}"


def _coarser(
    question: Question, common: Mapping[str, CommonCells], releases: tuple[Answering, Answering]
) -> Iterator[str]:
    for name, cells in common.items():
        levels = [of.codec.named(name).column.levels for of in releases]
        summed = any(one.column == name for one in question.statistics)
        if cells.column.type == "numeric" and summed and cells.column.levels < max(levels):
            yield (
                f"{name} is in {levels[0]} cells in the earlier release and in {levels[1]} in the "
                f"later one, so it is taken in the {cells.column.levels} cells that both can form"
            )
