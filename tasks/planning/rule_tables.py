"""Translate the edit rules of a spec into tables on the cells of its columns.

A cell may hold many values, so every column is cut into *parts*: pieces of cells small enough that
no rule tells two values of one apart, each with a value that stands for it. Tables are made on
parts by evaluating the rules on these values; a combination of cells is allowed where some
combination of their parts is.

Claim.   A combination of cells is allowed exactly where values in these cells do not break the
         rule, and a record is valid exactly where values in its cells break none at once.
Proof.   Statements compare columns with constants and with each other, so their truth depends on
         the order of all these alone. Columns that are compared with each other share their cuts
         (edges and constants); between two cuts lie as many common points as there are columns,
         so every order of the columns occurs among them. Where there are both whole and real
         numbers, the whole ones are cuts of the real ones; so are those of a coarse grid, such as
         whole euros, of a finer one, such as cents, where the one is a multiple of the other.
         A cell that holds fewer values of a grid than that is cut into all of them.
         `A determines B` is a table where the groups of A state the function, by names that are
         codes of B; else it is left to the records to settle.
Oracle.  tests/tasks/planning/test_rule_tables.py: every value of small columns; random values of
         large ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats, Mask
from hallmark.mechanisms.domain.rules import Determination, Parts, Rules, RuleTable
from hallmark.mechanisms.domain.rules.tables import connected
from hallmark.schemas.columns.columns import Column, DateColumn, NominalColumn, NumericColumn
from hallmark.schemas.columns.interval_columns import EPOCH
from hallmark.schemas.exact import read_date, read_exact
from hallmark.schemas.rules.rule_parts import Atom, atoms, compared
from hallmark.schemas.rules.rule_syntax import Comparison, Determines, Expression, Member, Value
from hallmark.schemas.rules.rules import Rule
from hallmark.tasks.planning.coding import CategoryCodec, Codec, TableCodec, Values, multiples

MOST_CELLS = 2**24  # of one table


class RuleTooWide(ValueError):
    """A rule whose table would not fit; `rule` is its text."""

    def __init__(self, rule: str, columns: Sequence[str], sizes: Sequence[int]) -> None:
        self.rule = rule
        times = " x ".join(f"{size:,} ({name})" for name, size in zip(columns, sizes, strict=True))
        super().__init__(
            f"a table of {times} kinds of values is needed to enforce it, but at most "
            f"{MOST_CELLS:,} combinations are taken; give these columns fewer cells, or say it in "
            "rules on fewer columns"
        )


@dataclass(frozen=True, eq=False)
class RuleCells:
    """Rules on cells, with what they were made of.

    Attributes:
        rules: for mechanisms.
        columns: positions of the columns that a rule touches.
        values: by column name, a value for every part of `rules`; only of these columns.
        useless: rules that no combination of values breaks.
    """

    rules: Rules
    columns: tuple[int, ...]
    values: Mapping[str, Values]
    useless: tuple[str, ...]


def rules_on(rules: Sequence[Rule], codec: TableCodec) -> RuleCells:
    """Rules that are bound to the codec's columns, on the cells of these.

    Raises:
        RuleTooWide: a rule needs too large a table.
    """
    place = {one.name: index for index, one in enumerate(codec.codecs)}
    statements = [rule for rule in rules if not isinstance(rule.body, Determines)]
    touched = sorted({place[name] for rule in statements for name in rule.columns()})
    parts = _parts_of([codec.codecs[index] for index in touched], statements)
    tables, useless = [], []
    for rule in statements:
        made = [table for table in _tables(rule, parts, place) if not table.allowed.all()]
        tables += made
        if not made:
            useless.append(rule.text)
    shape = tuple(one.attribute.cells for one in codec.codecs)
    kinds = [one.attribute.kind for one in codec.codecs]
    whole = {index: parts[codec.codecs[index].name] for index in touched}
    cut = any(len(part.cells) > shape[index] for index, part in whole.items())
    cells = tuple(
        whole[index].cells if index in whole else np.arange(size)
        for index, size in enumerate(shape)
    )
    functions: list[Determination] = []
    for rule in rules:
        if isinstance(rule.body, Determines):
            stated = _stated(rule, rule.body, codec, place)
            if stated is not None:
                on_parts = stated.allowed[np.ix_(*(cells[c] for c in stated.columns))]
                tables.append(RuleTable(rule.text, stated.columns, on_parts))
            else:
                pair = place[rule.body.column], place[rule.body.other]
                functions.append(Determination(rule.text, *pair))
    return RuleCells(
        rules=Rules(
            shape,
            tuple(_on_cells(table, cells) for table in tables) if cut else tuple(tables),
            tuple(functions),
            ordered=tuple(i for i, kind in enumerate(kinds) if kind.ordered),
            nullable=tuple(i for i, one in enumerate(codec.codecs) if one.attribute.has_null),
            parts=Parts(cells, tuple(tables)) if cut else None,
        ),
        columns=tuple(touched),
        values={name: part.values for name, part in parts.items()},
        useless=tuple(useless),
    )


def _stated(
    rule: Rule, body: Determines, codec: TableCodec, place: Mapping[str, int]
) -> RuleTable | None:
    """The function that the groups of a column state: where their names are the other's codes.

    A record with a null on either side neither says nor breaks anything.
    """
    column, other = codec.named(body.column), codec.named(body.other)
    if not isinstance(column.column, NominalColumn) or not isinstance(other, CategoryCodec):
        return None
    for level, of in zip(column.column.groups or (), column.column.groups_of_cells, strict=True):
        if set(level) <= set(other.codes):
            values = np.array([other.codes.index(name) for name in level])[list(of)]
            allowed = np.ones((column.attribute.cells, other.attribute.cells), dtype=np.bool_)
            allowed[: len(values), : len(other.codes)] = values[:, None] == np.arange(
                len(other.codes)
            )
            pair = (place[body.column], place[body.other])
            ascending = pair if pair[0] < pair[1] else pair[::-1]
            return RuleTable(rule.text, ascending, allowed if pair == ascending else allowed.T)
    return None


@dataclass(frozen=True, eq=False)
class _ColumnParts:
    """The parts of a column, in the order of its cells."""

    values: Values  # one of each part; the null part, if any, is the last
    cells: NDArray[np.int64]


def _parts_of(codecs: Sequence[Codec], rules: Sequence[Rule]) -> dict[str, _ColumnParts]:
    bodies = [rule.body for rule in rules if not isinstance(rule.body, Determines)]
    pairs = [pair for body in bodies for pair in compared(body)]
    names = [codec.name for codec in codecs]
    groups = connected([names.index(name) for name in pair] for pair in pairs)
    alone = set(range(len(names))).difference(*groups)
    parts: dict[str, _ColumnParts] = {}
    for group in [*groups, *((i,) for i in sorted(alone))]:
        some = [codecs[i] for i in group]
        known = [atom for body in bodies for atom in atoms(body)]
        for codec, values in zip(some, _points(some, known), strict=True):
            part = _with_cells(codec, values)
            parts[codec.name] = part if len(group) > 1 else _told_apart(codec.name, part, rules)
    return parts


def _points(group: Sequence[Codec], known: Iterable[Atom]) -> list[Values]:
    """Values of columns that are compared with each other: all that can matter of each."""
    columns = [codec.column for codec in group]
    listed = [
        pd.Series(list(column.codes), dtype="object")
        for column in columns
        if not isinstance(column, NumericColumn | DateColumn)
    ]
    if listed:  # categories are compared with categories alone
        return listed
    constants = _constants({codec.name: codec.column for codec in group}, known)
    edges = np.unique(np.concatenate([_edges(column) for column in columns]))
    # The last cell of numbers that are not whole holds its upper edge, a value of its own kind.
    closed = [_edges(column)[-1] for column in columns if not _is_whole(column)]
    cuts = np.unique(np.concatenate([constants, closed]))
    # From coarse grids to fine ones: values of the coarser are values of the finer, and cut it.
    grids: dict[Fraction | None, Floats] = {}
    for grid in sorted({g for g in map(_grid, columns) if g is not None}, reverse=True):
        grids[grid] = _grid_points(edges, cuts, len(group), grid)
        cuts = np.unique(np.concatenate([cuts, grids[grid]]))
    if None in map(_grid, columns):
        grids[None] = _real_points(edges, cuts, len(group))
    return [_as_values(column, grids[_grid(column)]) for column in columns]


def _constants(columns: Mapping[str, Column], known: Iterable[Atom]) -> Floats:
    """What the columns are compared with, as numbers; days since 1970-01-01."""
    found = set()
    for atom in known:
        if atom.column not in columns:
            continue
        values = atom.values if isinstance(atom, Member) else ()
        if isinstance(atom, Comparison) and isinstance(atom.right, Value):
            values = (atom.right,)
        for value in values:
            if isinstance(columns[atom.column], DateColumn):
                found.add(float((read_date(value.text) - EPOCH).days))
            else:
                found.add(float(read_exact(value.text)))
    return np.array(sorted(found), dtype=np.float64)


def _edges(column: Column) -> Floats:
    assert isinstance(column, NumericColumn | DateColumn)
    return np.asarray(column.edges, dtype=np.float64)


def _is_whole(column: Column) -> bool:
    return isinstance(column, DateColumn) or (isinstance(column, NumericColumn) and column.integer)


def _grid(column: Column) -> Fraction | None:
    """What values of the column are multiples of; None for real numbers."""
    return column.grid if isinstance(column, NumericColumn) else Fraction(1)


def _grid_points(edges: Floats, constants: Floats, each: int, grid: Fraction) -> Floats:
    """Multiples of the grid from the first edge to the last: `each` between any two cuts."""
    edges, constants = _in_steps(edges, grid), _in_steps(constants, grid)
    starts = np.concatenate([np.ceil(edges), np.ceil(constants), np.floor(constants) + 1])
    starts = np.unique(starts[(starts >= edges[0]) & (starts <= np.ceil(edges[-1]) + 1)])
    points = []
    for start, stop in pairwise(starts):
        count = min(each, int(stop - start))
        points.append(start + np.floor((stop - start) * (np.arange(count) + 0.5) / count))
    return multiples(np.concatenate(points), grid)


def _in_steps(numbers: Floats, grid: Fraction) -> Floats:
    """How many steps of the grid each is; exactly whole for the floats of multiples."""
    steps = numbers * grid.denominator / grid.numerator
    whole = np.rint(steps)
    return np.where(multiples(whole, grid) == numbers, whole, steps)


def _real_points(edges: Floats, cuts: Floats, each: int) -> Floats:
    """The cuts within the edges, and `each` points between any two neighbours of both."""
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    starts = np.unique(np.concatenate([edges, cuts]))
    gaps = np.diff(starts)
    inside = starts[:-1, None] + gaps[:, None] * (np.arange(each) + 1) / (each + 1)
    # No false precision: a thousandth of the gap is told, where that keeps the points in order.
    digits = np.maximum(0, 3 - np.floor(np.log10(gaps))).astype(int)
    short = np.array([np.round(row, n) for row, n in zip(inside, digits, strict=True)])
    return np.unique(np.concatenate([cuts, short.ravel()]))


def _as_values(column: Column, points: Floats) -> Values:
    if isinstance(column, DateColumn):
        days = points[(points >= _edges(column)[0]) & (points < _edges(column)[-1])]
        return pd.Series(pd.Timestamp(EPOCH) + pd.to_timedelta(days, unit="D"))
    assert isinstance(column, NumericColumn)
    low, high = float(column.minimum), float(column.maximum)
    return pd.Series(points[(points >= low) & (points <= high)])


def _with_cells(codec: Codec, values: Values) -> _ColumnParts:
    if codec.attribute.has_null:
        values = pd.concat([values, values.iloc[:1].mask([True])], ignore_index=True)
    cells = codec.encode(values).astype(np.int64)
    assert np.array_equal(np.unique(cells), np.arange(codec.attribute.cells)), codec.name
    return _ColumnParts(values, cells)


def _told_apart(name: str, part: _ColumnParts, rules: Sequence[Rule]) -> _ColumnParts:
    """Parts of a column that is compared with constants alone, those told apart by none merged."""
    frame = pd.DataFrame({name: part.values})
    answers = [
        Rule(rule.text, atom, rule.orders).violations(frame).to_numpy()
        for rule in rules
        if not isinstance(rule.body, Determines)
        for atom in atoms(rule.body)
        if atom.column == name
    ]
    keys = np.column_stack([part.cells, *answers]).astype(np.int64)
    first = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    return _ColumnParts(part.values.iloc[first].reset_index(drop=True), part.cells[first])


def _tables(
    rule: Rule, parts: Mapping[str, _ColumnParts], place: Mapping[str, int]
) -> list[RuleTable]:
    """The rule on parts, one table for all its clauses on the same columns."""
    tables: dict[tuple[int, ...], Mask] = {}
    for clause in rule.clauses():
        names = sorted(clause.columns(), key=place.__getitem__)
        assert not isinstance(clause.body, Determines)
        kinds = [_kinds(clause, clause.body, name, parts[name]) for name in names]
        sizes = [len(parts[name].cells) for name in names]
        if np.prod(sizes, dtype=np.float64) > MOST_CELLS:
            raise RuleTooWide(rule.text, names, sizes)
        firsts = [np.unique(kind, return_index=True)[1] for kind in kinds]
        grid = np.meshgrid(*firsts, indexing="ij")
        frame = pd.DataFrame(
            {
                name: parts[name].values.take(chosen.ravel()).reset_index(drop=True)
                for name, chosen in zip(names, grid, strict=True)
            }
        )
        obeyed = ~clause.violations(frame).to_numpy().reshape(grid[0].shape)
        columns = tuple(place[name] for name in names)
        allowed = obeyed[np.ix_(*kinds)]
        tables[columns] = allowed & tables[columns] if columns in tables else allowed
    return [RuleTable(rule.text, columns, allowed) for columns, allowed in tables.items()]


def _kinds(clause: Rule, body: Expression, name: str, part: _ColumnParts) -> NDArray[np.int64]:
    """Numbers of a column's parts, equal where no statement of the clause tells them apart."""
    if any(name in pair for pair in compared(body)):
        return np.arange(len(part.cells))
    frame = pd.DataFrame({name: part.values})
    answers = [
        Rule(clause.text, atom, clause.orders).violations(frame).to_numpy()
        for atom in atoms(body)
        if atom.column == name
    ]
    null = part.values.isna().to_numpy()
    keys = np.column_stack([null, *answers]).astype(np.int8)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _on_cells(table: RuleTable, cells: Sequence[NDArray[np.int64]]) -> RuleTable:
    """Allowed where some parts of the cells are."""
    allowed = table.allowed
    for axis, column in enumerate(table.columns):
        starts = np.unique(cells[column], return_index=True)[1]
        allowed = np.logical_or.reduceat(allowed, starts, axis=axis)
    return RuleTable(table.name, table.columns, allowed)
