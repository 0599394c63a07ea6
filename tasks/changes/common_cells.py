"""The cells in which two releases can count the same records: of each column, what both tell apart.

Both releases' columns are public. Categories are joined: every code of either release is a cell,
and one that only one release has is told apart, so that a question about it can be refused.
Intervals are cut at the edges that both have. Where one release has caught other codes in a
category, or has moved values to a bound, the category or bound is not what it is in the other.

Claim.   A function of the common cells that is 0 on the cells of `alone` is, through `before` and
         `after`, the same function of a record in both releases, if codes of the same name (or of
         a pair in the public map) mean the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    NominalColumn,
    NumericColumn,
    OrdinalColumn,
    PlacesColumn,
)
from hallmark.schemas.columns.recoding import CodeMap
from hallmark.tasks.installation.errors import SafeError

Coded = NominalColumn | OrdinalColumn | PlacesColumn
"""Columns with a list of codes of their own."""


class NotComparable(SafeError):
    """Two releases do not count the same; the message says why and gives a fix."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CommonCells:
    """A column on cells that both releases can count.

    Attributes:
        column: on these cells.
        before, after: the common cell of every cell of a release, its null cell last; None where
            its own cells are the common ones.
        alone: by common cell that only one release has: which one, in words.
        blurred: why values of the column are not summed alike in both releases; empty if they are.
    """

    column: Column
    before: Counts | None = None
    after: Counts | None = None
    alone: Mapping[int, str] = field(default_factory=dict)
    blurred: str = ""


def common_cells(
    name: str, before: Column, after: Column, recode: CodeMap | None = None
) -> CommonCells:
    """The cells that two releases have in common of a column.

    Args:
        recode: the code of the later release for codes of the earlier one, as is public.
    Raises:
        NotComparable: the columns are of different kinds, or the map does not fit their codes.
    """
    match before, after:
        case BooleanColumn(), BooleanColumn():
            _refuse_map(name, recode, "it is true or false in both releases")
            return _unchanged(before, after)
        case NumericColumn(), NumericColumn():
            _refuse_map(name, recode, "it has numbers, not codes")
            return _numbers(name, before, after)
        case DateColumn(), DateColumn():
            _refuse_map(name, recode, "it has days, not codes")
            if _same_cells(before, after):
                return _unchanged(before, after)
            raise NotComparable(
                f"days of {name} are counted in other cells in the later release; ask about other "
                "columns"
            )
        case (
            (NominalColumn() | OrdinalColumn() | PlacesColumn()),
            (NominalColumn() | OrdinalColumn() | PlacesColumn()),
        ):
            return _codes(name, before, after, recode)
    raise NotComparable(
        f"{name} is {before.type} in the earlier release and {after.type} in the later one, so no "
        "question about it is the same in both; ask about other columns"
    )


def _refuse_map(name: str, recode: CodeMap | None, why: str) -> None:
    if recode:
        raise NotComparable(f"the map has codes of {name}, but {why}; leave {name} out of it")


def _codes(name: str, before: Coded, after: Coded, recode: CodeMap | None) -> CommonCells:
    """All codes of either, in an order that is that of both."""
    renamed = list(before.codes)
    if recode is not None:
        _check_map(name, before, after, recode)
        renamed = [recode.renamed(code) for code in before.codes]
    if tuple(renamed) == after.codes:
        return _unchanged(before, after)
    codes = _merged(list(dict.fromkeys(renamed)), list(after.codes))
    place = {code: i for i, code in enumerate(codes)}
    only_before, only_after = set(renamed) - set(after.codes), set(after.codes) - set(renamed)
    alone = {place[code]: "the earlier release alone has it" for code in only_before}
    alone |= {place[code]: "the later release alone has it" for code in only_after}
    catching = ((before, "earlier", only_after), (after, "later", only_before))
    for of, which, lacking in catching:
        if of.other is not None and lacking and not (recode and of.other in recode.by_old):
            alone[place[of.other]] = f"the {which} release counts every code there that it lacks"
    labels = dict(zip(renamed, before.labels, strict=True)) | after.categories
    kept_order = isinstance(before, OrdinalColumn) and isinstance(after, OrdinalColumn)
    ordered = kept_order and _keeps(codes, renamed) and _keeps(codes, after.codes)
    column = (OrdinalColumn if ordered else NominalColumn).model_validate(
        {
            "type": "ordinal" if ordered else "nominal",
            "categories": {code: labels[code] for code in codes},
            "outside": "refuse",
            "bound_source": after.bound_source,
        }
    )
    cells = [np.array([place[code] for code in of]) for of in (renamed, after.codes)]
    return _with_nulls(column, (before, after), cells, alone)


def _check_map(name: str, before: Coded, after: Coded, recode: CodeMap) -> None:
    for old in recode.unknown_old(before.codes):
        raise NotComparable(
            f"the map takes {old!r} of {name}, which is none of the earlier release's codes; "
            "give its codes on the left, and those of the later release on the right"
        )
    for new in recode.unknown(after.codes):
        raise NotComparable(
            f"the map makes codes of {name} {new!r}, which is none of the later release's "
            "codes; give the earlier release's codes on the left, and those of the later "
            "release on the right"
        )


def _merged(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """The second, with what only the first has after what comes before it there."""
    merged = list(second)
    for i, code in enumerate(first):
        if code not in merged:
            merged.insert(merged.index(first[i - 1]) + 1 if i else 0, code)
    return merged


def _keeps(codes: Sequence[str], order: Sequence[str]) -> bool:
    """Whether codes come in this order (and those made one lie side by side in it)."""
    places = [codes.index(code) for code in order]
    return places == sorted(places)


def _numbers(name: str, before: NumericColumn, after: NumericColumn) -> CommonCells:
    if before.unit != after.unit:
        raise NotComparable(
            f"{name} is in {before.unit or 'no unit'} in the earlier release and in "
            f"{after.unit or 'no unit'} in the later one; ask about other columns"
        )
    if _same_cells(before, after):
        return _unchanged(before, after)
    blurred = ""
    if before.ends != after.ends:
        blurred = (
            f"{name} goes from {' to '.join(before.ends)} in the earlier release and from "
            f"{' to '.join(after.ends)} in the later one"
        )
    elif before.grid != after.grid:
        blurred = f"values of {name} are multiples of different steps in the two releases"
    edges = _common_edges(before, after)
    is_whole = before.integer and after.integer
    given: dict[str, Any] = {
        "type": "numeric",
        "unit": after.unit,
        "integer": is_whole,
        "step": None if blurred else after.step,
        "minimum": edges[0],
        "maximum": edges[-1] - is_whole,
        "edges": edges,
        "outside": "clamp",
        "bound_source": after.bound_source,
    }
    cut = [float(edge) for edge in edges]
    places = [
        np.clip(np.searchsorted(cut, of.edges[:-1], side="right") - 1, 0, len(edges) - 2)
        for of in (before, after)
    ]
    return _with_nulls(NumericColumn.model_validate(given), (before, after), places, {}, blurred)


def _common_edges(before: NumericColumn, after: NumericColumn) -> list[Fraction]:
    """Edges strictly within both intervals, and the ends of both together."""
    one, other = before.exact_edges, after.exact_edges
    inside = set(one[1:-1]) & set(other[1:-1])
    return [min(one[0], other[0]), *sorted(inside), max(one[-1], other[-1])]


def _same_cells(before: NumericColumn | DateColumn, after: NumericColumn | DateColumn) -> bool:
    return before.exact_edges == after.exact_edges and before.grid == after.grid


def _unchanged(before: Column, after: Column) -> CommonCells:
    """A column with the same cells in both, except perhaps for missing values."""
    same = np.arange(after.levels)
    return _with_nulls(after, (before, after), (same, same))


def _with_nulls(
    column: Column,
    releases: tuple[Column, Column],
    places: Sequence[Counts],
    alone: Mapping[int, str] | None = None,
    blurred: str = "",
) -> CommonCells:
    """The cells with one for missing values, if either release has it.

    Args:
        column: without regard to missing values.
        places: for each release, the common cell of its cells that hold values.
    """
    nulls = [of.nulls for of in releases]
    alone = dict(alone or {})
    if nulls[0] != nulls[1]:
        which = "earlier" if nulls[0] else "later"
        alone[column.levels] = f"values may be missing in the {which} release alone"
    whole = column.model_copy(update={"nulls": any(nulls)})
    maps = [
        np.append(place, column.levels) if has_null else place
        for place, has_null in zip(places, nulls, strict=True)
    ]
    own = [np.array_equal(cells, np.arange(whole.levels + any(nulls))) for cells in maps]
    return CommonCells(
        column=whole,
        before=None if own[0] else maps[0],
        after=None if own[1] else maps[1],
        alone=alone,
        blurred=blurred,
    )
