"""Columns together: matrices, tables of two columns and groups, from records as cell codes.

The same functions serve the public report, on the released records, and the internal review, on
these and on the private ones. Whose records they are given decides who may see the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.domain.domain import Kind
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.documents.audit_pairs import Matrix, Pairs, PairTable, Subgroup, Subgroups
from hallmark.tasks.planning.coding import Codec, cell_labels, group_labels

MOST_GROUPS = 12  # that a column's cells are merged to
_TABLES = 6  # of pairs that go together most
_GROUPINGS = 3  # columns whose groups are shown
_MEANS = 6  # columns whose means are shown
_BLOCK = 1 << 17  # rows at a time, of which numbers are held
_ROUNDING = 1e-12  # below which a variance is none


@dataclass(frozen=True, eq=False)
class Merged:
    """A column with so few cells that tables of it can be read.

    Attributes:
        of: group of every cell, shape (cells,).
        labels: of the groups.
    """

    name: str
    of: NDArray[np.int64]
    labels: tuple[str, ...]


def is_ordered(codec: Codec) -> bool:
    """Whether neighbouring cells of the column hold similar values."""
    return codec.attribute.kind.ordered


def merged(codec: Codec, counts: NDArray[np.int64]) -> Merged:
    """The column's cells in at most `MOST_GROUPS` groups, and the null cell by itself.

    Neighbours of an ordered column are merged evenly; of other columns, all but the cells with
    most records of `counts`, which must be public.
    """
    labels, levels = cell_labels(codec), codec.attribute.levels
    if is_ordered(codec):
        size = -(-levels // MOST_GROUPS)
        of = np.arange(levels) // size
        named = list(group_labels(codec, of))
    elif levels > MOST_GROUPS:
        kept = np.sort(np.argsort(-counts[:levels], kind="stable")[: MOST_GROUPS - 1])
        of = np.full(levels, MOST_GROUPS - 1)
        of[kept] = np.arange(MOST_GROUPS - 1)
        named = [*(labels[cell] for cell in kept), f"{levels - len(kept)} others"]
    else:
        of, named = np.arange(levels), list(labels[:levels])
    if codec.attribute.has_null:
        of, named = np.append(of, len(named)), [*named, labels[-1]]
    return Merged(codec.name, of.astype(np.int64), tuple(named))


JointShares: TypeAlias = Mapping[tuple[int, int], Floats]
"""Of every two columns, by their places in a list of them: the share of the rows in every two
groups, shape (groups of one, groups of the other)."""


def joint_maps(columns: Sequence[int], groups: Sequence[Merged]) -> tuple[CellMap, ...]:
    """What is to be counted for `joint_shares`."""
    return tuple(
        CellMap(
            (columns[i], columns[j]),
            (groups[i].of * len(groups[j].labels), groups[j].of),
            len(groups[i].labels) * len(groups[j].labels),
        )
        for i, j in combinations(range(len(columns)), 2)
    )


def joint_shares(counts: Sequence[Counts], groups: Sequence[Merged]) -> JointShares:
    """From the counts of `joint_maps`."""
    pairs = combinations(range(len(groups)), 2)
    return {
        (i, j): table.reshape(len(groups[i].labels), -1) / max(int(table.sum()), 1)
        for (i, j), table in zip(pairs, counts, strict=True)
    }


def cramers_v(shares: Floats) -> float | None:
    """How far two columns are from independent, 0 to 1; None where one of them does not vary.

    Source: Cramér (1946), Mathematical Methods of Statistics, chapter 21.9.
    """
    down, across = shares.sum(axis=1), shares.sum(axis=0)
    sides = min(int((down > 0).sum()), int((across > 0).sum()))
    if sides < 2:
        return None
    expected = np.outer(down, across)
    squares = np.divide(
        (shares - expected) ** 2, expected, out=np.zeros_like(shares), where=expected > 0
    )
    return min(1.0, float(np.sqrt(squares.sum() / (sides - 1))))


def association(shares: JointShares, groups: Sequence[Merged]) -> Matrix:
    """Cramér's V of every two columns, on their groups."""
    values = np.full((len(groups), len(groups)), np.nan)
    for (i, j), table in shares.items():
        found = cramers_v(table)
        values[i, j] = values[j, i] = np.nan if found is None else found
    np.fill_diagonal(values, 1.0)
    return _matrix([group.name for group in groups], values)


def correlation(codes: AnyCodes, columns: Sequence[int], codecs: Sequence[Codec]) -> Matrix | None:
    """Pearson's correlation of the ordered columns' places, over the rows that have both values.

    None where fewer than two columns are ordered.
    """
    ordered = [i for i in columns if is_ordered(codecs[i])]
    if len(ordered) < 2:
        return None
    # Sums over the rows where both are known, of all pairs at once, block by block.
    rows, sums, squares, products = np.zeros((4, len(ordered), len(ordered)))
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        places = np.column_stack([_places(block[:, i], codecs[i]) for i in ordered]) - 0.5
        known = (~np.isnan(places)).astype(np.float64)
        places = np.nan_to_num(places)
        rows += known.T @ known
        sums += places.T @ known  # of the row's column, where the other is known
        squares += (places * places).T @ known
        products += places.T @ places
    rows = np.maximum(rows, 1)
    variances = np.maximum(squares / rows - (sums / rows) ** 2, 0)
    variances[variances < _ROUNDING] = np.nan  # of a column that does not vary there
    covariances = products / rows - (sums / rows) * (sums.T / rows)
    values = covariances / np.sqrt(variances * variances.T)
    np.fill_diagonal(values, 1.0)
    return _matrix([codecs[i].name for i in ordered], values)


def subgroups(
    codes: AnyCodes, columns: Sequence[int], codecs: Sequence[Codec]
) -> tuple[Subgroups, ...]:
    """The groups of the first few columns of few categories, with means of numeric columns.

    A value counts as the middle of its cell.
    """
    numeric = [i for i in columns if isinstance(codecs[i].column, NumericColumn)][:_MEANS]
    by = [
        i
        for i in columns
        if codecs[i].attribute.kind not in (Kind.NUMERIC, Kind.DATE)
        and 1 < codecs[i].attribute.levels <= MOST_GROUPS
    ][:_GROUPINGS]
    if not numeric:
        return ()
    shape = [codec.attribute.cells for codec in codecs]
    tables = iter(count_codes(codes, [marginal((i, j), shape) for i in by for j in numeric]))
    places = [_places(np.arange(shape[j]), codecs[j], in_unit=True) for j in numeric]
    told = []
    for i in by:
        counts = [next(tables).reshape(shape[i], -1) for _ in numeric]
        told.append(
            Subgroups(
                by=codecs[i].name,
                columns=tuple(_with_unit(codecs[j]) for j in numeric),
                groups=tuple(
                    _subgroup(label, [table[cell] for table in counts], places)
                    for cell, label in enumerate(cell_labels(codecs[i]))
                ),
            )
        )
    return tuple(told)


def pairs(codes: AnyCodes, codecs: Sequence[Codec], released: Sequence[str]) -> Pairs | None:
    """What the records say of the released columns together; None where there is one column."""
    columns = [i for i, codec in enumerate(codecs) if codec.name in released]
    if len(columns) < 2 or not len(codes):
        return None
    groups = merged_columns(codes, columns, codecs)
    shares = joint_shares(count_codes(codes, joint_maps(columns, groups)), groups)
    matrix = association(shares, groups)
    strongest = sorted(
        combinations(range(len(columns)), 2),
        key=lambda pair: (-(matrix.values[pair[0]][pair[1]] or 0.0), pair),
    )
    return Pairs(
        association=matrix,
        correlation=correlation(codes, columns, codecs),
        tables=tuple(
            pair_table(groups[i], groups[j], shares[i, j]) for i, j in strongest[:_TABLES]
        ),
        subgroups=subgroups(codes, columns, codecs),
    )


def merged_columns(
    codes: AnyCodes, columns: Sequence[int], codecs: Sequence[Codec]
) -> tuple[Merged, ...]:
    """The columns with their cells merged, by counts of these records, which must be public."""
    shape = [codec.attribute.cells for codec in codecs]
    counts = count_codes(codes, [marginal((i,), shape) for i in columns])
    return tuple(merged(codecs[i], of) for i, of in zip(columns, counts, strict=True))


def pair_table(one: Merged, two: Merged, shares: Floats) -> PairTable:
    """The joint distribution as a section."""
    return PairTable(
        columns=(one.name, two.name),
        down=one.labels,
        across=two.labels,
        shares=tuple(tuple(round(float(share), 6) for share in row) for row in shares),
    )


def _subgroup(label: str, counts: Sequence[Counts], places: Sequence[Floats]) -> Subgroup:
    """A group, from its records by cell of every numeric column, and where these cells lie."""
    return Subgroup(
        group=label,
        rows=int(counts[0].sum()),
        means=tuple(_mean(rows, at) for rows, at in zip(counts, places, strict=True)),
    )


def _mean(rows: Counts, places: Floats) -> float | None:
    """The mean place of the rows, but for those of the null cell; None where there is none."""
    known = ~np.isnan(places)
    many = int(rows[known].sum())
    return float(rows[known] @ places[known]) / many if many else None


def _places(cells: NDArray[np.integer], codec: Codec, *, in_unit: bool = False) -> Floats:
    """The middle of every row's cell, in [0, 1] or in the column's unit; NaN for a null."""
    attribute, column = codec.attribute, codec.column
    places = np.append(attribute.positions, np.nan)[cells]  # a null is the cell after the last
    if in_unit:
        assert isinstance(column, NumericColumn), "no other column has means"
        places = float(column.minimum) + places * attribute.scale
    return np.asarray(places, dtype=np.float64)


def _with_unit(codec: Codec) -> str:
    unit = codec.attribute.unit
    return f"{codec.name} ({unit})" if unit else codec.name


def _matrix(names: Sequence[str], values: Floats) -> Matrix:
    return Matrix(
        columns=tuple(names),
        values=tuple(
            tuple(None if np.isnan(value) else round(float(value), 4) for value in row)
            for row in np.clip(values, -1, 1)
        ),
    )
