"""Conditions that cells decide: whether all values of a cell agree on a statement.

Claim.   If `cell_problems` finds nothing, every comparison, membership and test for null in the
         statement has the same truth for all values of a cell, so any value may represent it.
Oracle.  tests/schemas/test_query_workload.py compares all values of small columns.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor

from hallmark.schemas.columns.columns import Column
from hallmark.schemas.columns.interval_columns import IntervalColumn
from hallmark.schemas.rules.rule_parts import Atom, atoms
from hallmark.schemas.rules.rule_syntax import (
    ColumnName,
    Comparison,
    IsNull,
    Member,
    Operator,
    Value,
)
from hallmark.schemas.rules.rules import Condition


def cell_problems(
    condition: Condition, columns: Mapping[str, Column], looked_up: Collection[str] = ()
) -> Iterator[str]:
    """What does not suit the columns, or else every part that cells do not decide; with fixes.

    Args:
        looked_up: columns of which every code of another has one value.
    """
    unsuited = condition.problems(columns)
    # A column that is looked up has no cells of its own, and none that holds several values.
    in_cells = {name: column for name, column in columns.items() if name not in looked_up}
    yield from unsuited or _undecided(condition, in_cells)


def _undecided(condition: Condition, columns: Mapping[str, Column]) -> Iterator[str]:
    for atom in dict.fromkeys(atoms(condition.body)):
        names = [atom.column]
        if isinstance(atom, Comparison) and isinstance(atom.right, ColumnName):
            names.append(atom.right.name)
        for name in names:
            if isinstance(column := columns.get(name), IntervalColumn):
                yield from _problems(atom, column, columns)
                break


def _problems(atom: Atom, column: IntervalColumn, columns: Mapping[str, Column]) -> Iterator[str]:
    match atom:
        case IsNull():
            return
        case Comparison(name, _, ColumnName(other)):
            for one in (name, other):
                if one in columns and not _holds_single_values(columns[one]):
                    yield (
                        f"compares {name} with {other}, but cells of {one} hold several values, so "
                        "they do not decide which is larger; compare each column with a value, or "
                        "give it cells of one value"
                    )
        case Comparison(name, operator, Value(text)):
            yield from _cut_problems(name, column, operator, text)
        case Member(name, values):
            for value in values:
                yield from _cut_problems(name, column, "=", value.text)


def _cut_problems(
    name: str, column: IntervalColumn, operator: Operator, text: str
) -> Iterator[str]:
    value = column.number(text)
    edges = column.exact_edges
    low, high = edges[0], edges[-1]
    if column.is_whole:
        below, above = Fraction(ceil(value)), Fraction(floor(value) + 1)
        cuts = {"<": (below,), ">=": (below,), "<=": (above,), ">": (above,)}
        for cut in cuts.get(operator, (below, above)):
            if low < cut < high and cut not in edges:
                yield _message(name, column, operator, text, cut)
                return
        return
    # A cell of real numbers includes its lower edge, and the last cell also its upper edge.
    if operator in ("<", ">="):
        decided = value in edges[:-1] or not low < value <= high
    elif operator in ("<=", ">"):
        decided = not low <= value < high
    else:
        decided = not low <= value <= high
    if not decided:
        yield _message(name, column, operator, text, value)


def _message(
    name: str, column: IntervalColumn, operator: Operator, text: str, cut: Fraction
) -> str:
    edges = column.exact_edges
    right = min(max(bisect_left(edges, cut), 1), len(edges) - 1)
    near = [edges[right - 1], edges[right]]
    if cut == near[1] and right + 1 < len(edges):
        near = [near[1], edges[right + 1]]
    told = " and ".join(map(column.written, near))
    if column.is_whole or operator in ("<", ">="):
        return (
            f"{name} {operator} {text} cuts a cell of {name} in two, but a query sees only whole "
            f"cells; write {name} < or >= one of the nearest edges, {told}, or give the column an "
            "edge there"
        )
    return (
        f"{name} {operator} {text} distinguishes single numbers, but a cell of {name} holds its "
        f"lower edge and numbers above it; write {name} < or >= one of the nearest edges, {told}"
    )


def _holds_single_values(column: Column) -> bool:
    if not isinstance(column, IntervalColumn):
        return True
    edges = column.exact_edges
    return column.is_whole and len(edges) - 1 == edges[-1] - edges[0]
