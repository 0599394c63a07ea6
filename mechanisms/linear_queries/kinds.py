"""Kinds of linear queries: marginal cells, boxes, conditions, halfspaces, means, any matrix.

All take the codes of a public domain and have values in [-1, 1]. Where a value is rounded, to a
multiple of 2^-16, the query is *defined* by the rounded one: its sensitivity and its answers are
those of exact integers.

Oracle.  tests/mechanisms/linear_queries/test_kinds.py writes every kind out, record by record.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import Boxes, EachCell, Matrix, Rows

ROUNDED = 2**16
"""Values that are no ratios of small integers are rounded to multiples of 1/ROUNDED."""

MOST_QUERIES = 2**22  # in all, and of any entry
MOST_AXES = 5  # of a box: it is answered from its 2^axes corners
MOST_CELLS = 2**22  # that the queries of a part see, of which tables are counted
MOST_VALUES = 2**26  # that a matrix stores

_POSITIONS = 2**8  # steps along a column that halfspaces tell apart
_WEIGHTS = 2**3  # largest weight of a column in a random halfspace


@dataclass(frozen=True, eq=False)
class Part:
    """Queries that see the same cell of a record. Public.

    Attributes:
        cells: from records to what the queries see.
        rows: their values, in units of 1/unit.
        title: what they are called, for people; None where marginal cells and boxes tell it.
    """

    cells: CellMap
    rows: Rows
    unit: int = 1
    title: str | None = None


def marginal_cells(domain: Domain, cliques: Sequence[Clique]) -> tuple[Part, ...]:
    """The share of every cell of these marginals."""
    parts = []
    for clique in cliques:
        columns = _ascending(clique)
        cells = _marginal(domain, columns)
        parts.append(Part(cells, EachCell(cells.size)))
    return tuple(parts)


def prefixes(domain: Domain, columns: Sequence[int]) -> Part:
    """All prefixes of the columns' values, or products of them; without the one of all records.

    A null is in no prefix.
    """
    columns = _axes(columns)
    levels = [domain.attributes[column].levels for column in columns]
    _refuse_many(prod(levels), f"prefixes over {_named(domain, columns)}")
    upper = np.indices(levels).reshape(len(columns), -1).T.astype(np.int64) + 1
    return _boxes(domain, columns, np.zeros_like(upper), upper)


def ranges(domain: Domain, columns: Sequence[int]) -> Part:
    """All ranges of the columns' values, or products of them; without the one of all records."""
    columns = _axes(columns)
    levels = [domain.attributes[column].levels for column in columns]
    counts = [k * (k + 1) // 2 for k in levels]
    _refuse_many(prod(counts), f"all ranges over {_named(domain, columns)}")
    which = np.indices(counts).reshape(len(columns), -1)
    ends = [np.triu_indices(k) for k in levels]
    lower = np.stack([low[i] for (low, _), i in zip(ends, which, strict=True)], axis=1)
    upper = np.stack([high[i] + 1 for (_, high), i in zip(ends, which, strict=True)], axis=1)
    return _boxes(domain, columns, lower, upper)


def random_ranges(
    domain: Domain, columns: Sequence[int], count: int, rng: np.random.Generator
) -> Part:
    """Random draws from `ranges`, each time with equal probabilities."""
    columns = _axes(columns)
    _refuse_many(count, "random ranges")
    attributes = [domain.attributes[column] for column in columns]
    if all(one.levels == 1 and not one.has_null for one in attributes):
        raise ValueError("the columns have one cell each, so every range holds all records")
    lower, upper = _random_boxes([one.levels for one in attributes], count, rng)
    while (full := _is_full(domain, columns, lower, upper)).any():
        again = _random_boxes([one.levels for one in attributes], int(full.sum()), rng)
        lower[full], upper[full] = again
    return _boxes(domain, columns, lower, upper)


def conjunction(domain: Domain, sets: Mapping[int, Collection[int]], title: str) -> Part:
    """The share of records whose code lies, in each of the columns, in its set of codes."""
    columns = tuple(sorted(sets))
    codes = [np.unique(np.array(list(sets[column]), dtype=np.int64)) for column in columns]
    sizes = tuple(domain.shape[column] for column in columns)
    if any(len(some) == 0 for some in codes):
        raise ValueError("no record fulfils it")
    if any(some[0] < 0 or some[-1] >= size for some, size in zip(codes, sizes, strict=True)):
        raise ValueError("a code lies outside its column")
    if prod(sizes) > MOST_CELLS:  # then counted are only the columns in which a record is inside
        tables = tuple(
            np.isin(np.arange(size), some).astype(np.int64)
            for some, size in zip(codes, sizes, strict=True)
        )
        d = len(columns)
        everywhere = Boxes((d + 1,), np.array([[d]]), np.array([[d + 1]]))
        return Part(CellMap(columns, tables, d + 1), everywhere, title=title)
    cells = marginal(columns, domain.shape)
    if len(columns) <= MOST_AXES and all(some[-1] - some[0] < len(some) for some in codes):
        lower = np.array([[some[0] for some in codes]])
        upper = np.array([[some[-1] + 1 for some in codes]])
        return Part(cells, Boxes(sizes, lower, upper), title=title)
    inside = np.ravel_multi_index(np.ix_(*codes), sizes).ravel()
    return _indicator(cells, inside, title)


def condition(kinds: Mapping[int, Counts], holds: NDArray[np.bool_], title: str) -> Part:
    """The share of records for which a condition holds.

    Args:
        kinds: by column, the kind of every code, of which the condition alone depends.
        holds: for every combination of kinds, columns ascending.
    """
    columns = tuple(sorted(kinds))
    if holds.size > MOST_CELLS:
        raise ValueError(
            f"tells {holds.size:,} combinations of values apart, but at most {MOST_CELLS:,} are "
            "counted; ask it of fewer columns"
        )
    onto = marginal(range(len(columns)), holds.shape)
    tables = tuple(table[kinds[column]] for table, column in zip(onto.tables, columns, strict=True))
    return _indicator(CellMap(columns, tables, onto.size), np.flatnonzero(holds), title)


def halfspace(domain: Domain, weights: Mapping[int, Counts], threshold: int, title: str) -> Part:
    """The share of records whose codes weigh `threshold` or more together.

    A record with a null in one of the columns is not among them, whatever the null's weight.

    Args:
        weights: by column, of every code; any integers.
    """
    columns = tuple(sorted(weights))
    known = [
        np.asarray(weights[column][: domain.attributes[column].levels], dtype=np.int64)
        for column in columns
    ]
    least = sum(int(some.min()) for some in known)
    span = sum(int(some.max()) for some in known) - least
    if not least < threshold <= least + span:
        raise ValueError("a halfspace holds for every record or for none; move its threshold")
    # Values of a column count from its least one. Where there are nulls, each value counts more
    # than all weights together, so that with one null the sum stays below all without.
    nullable = any(domain.attributes[column].has_null for column in columns)
    head = span + 1 if nullable else 0
    tables = [
        np.pad(some - some.min() + head, (0, int(domain.attributes[column].has_null)))
        for column, some in zip(columns, known, strict=True)
    ]
    top = head * len(columns)
    size = top + span + 1
    box = Boxes((size,), np.array([[top + threshold - least]]), np.array([[size]]))
    return Part(CellMap(columns, tuple(tables), size), box, title=title)


def random_halfspaces(
    domain: Domain, columns: Sequence[int], count: int, rng: np.random.Generator
) -> tuple[Part, ...]:
    """Random halfspaces of the columns' positions, each bounded by a random combination of cells.

    Positions in [0, 1] are rounded to multiples of 2^-8; weights are -8 to 8, but never 0.
    """
    columns = _ascending(columns)
    _refuse_many(count, "random halfspaces")
    attributes = [domain.attributes[column] for column in columns]
    if all(one.levels == 1 for one in attributes):
        raise ValueError("the columns have one value each, so a halfspace tells nothing apart")
    positions = [np.rint(one.positions * _POSITIONS).astype(np.int64) for one in attributes]
    parts: list[Part] = []
    while len(parts) < count:
        signs = rng.choice([-1, 1], size=len(columns))
        factors = signs * rng.integers(1, _WEIGHTS + 1, size=len(columns))
        tables = [int(w) * some for w, some in zip(factors, positions, strict=True)]
        threshold = sum(int(rng.choice(table)) for table in tables)
        if threshold > sum(int(table.min()) for table in tables):
            title = _weighed(domain, columns, factors, threshold)
            weights = dict(zip(columns, tables, strict=True))
            parts.append(halfspace(domain, weights, threshold, title))
    return tuple(parts)


def means(domain: Domain, columns: Sequence[int]) -> tuple[Part, ...]:
    """The mean position of all records in [0, 1] for every column, with nulls as 0.

    Positions are rounded to multiples of 1/`ROUNDED`, and the query is that of the rounded ones.
    """
    parts = []
    for column in _ascending(columns):
        attribute = domain.attributes[column]
        values = np.pad(attribute.positions, (0, int(attribute.has_null)))
        parts.append(matrix(domain, (column,), values[None, :], f"mean of {attribute.name}"))
    return tuple(parts)


def matrix(
    domain: Domain,
    columns: Sequence[int],
    values: NDArray[np.float64] | Counts,
    title: str,
    *,
    unit: int | None = None,
) -> Part:
    """Queries with any values in [-1, 1] on the cells of some columns.

    Args:
        columns: in any order.
        values: shape (queries, cells), cells in C order of the columns as they are listed.
        unit: the values are whole multiples of 1/unit, given as integers; where None, they are
            rounded to multiples of 1/`ROUNDED`.
    Raises:
        ValueError: a shape or a value is wrong; says where.
    """
    sizes = [domain.shape[column] for column in columns]
    _ascending(columns)
    if values.ndim != 2 or len(values) == 0:
        raise ValueError("holds no query; give one a row")
    if values.shape[1] != prod(sizes):
        raise ValueError(
            f"has {values.shape[1]:,} numbers a row, but {_named(domain, columns)} have "
            f"{' x '.join(map(str, sizes))} = {prod(sizes):,} cells (nulls have a cell too); give "
            "one number a cell, the last column's cells running fastest"
        )
    _refuse_many(len(values), "rows of a matrix")
    if np.count_nonzero(values) > MOST_VALUES:
        raise ValueError(
            f"has {np.count_nonzero(values):,} values other than 0, but at most {MOST_VALUES:,} "
            "are stored; give fewer rows"
        )
    scale = ROUNDED if unit is None else unit
    exact = _integers(np.asarray(values, dtype=np.float64), unit)
    order = np.argsort(columns)
    turned = exact.reshape(len(exact), *sizes).transpose(0, *(order + 1)).reshape(exact.shape)
    common = gcd(scale, int(np.gcd.reduce(np.abs(turned), axis=None)))
    rows = Matrix(sparse.csr_array(turned // common))
    cells = _marginal(domain, tuple(sorted(columns)))
    return Part(cells, rows, unit=scale // common, title=title)


def _integers(values: Floats, unit: int | None) -> Counts:
    finite = np.isfinite(values)
    if not finite.all():
        row, cell = np.argwhere(~finite)[0]
        raise ValueError(f"row {row + 1}, number {cell + 1} is {values[row, cell]}; give a number")
    bound = 1 if unit is None else unit
    outside = np.abs(values) > bound
    if outside.any():
        row, cell = np.argwhere(outside)[0]
        raise ValueError(
            f"row {row + 1}, number {cell + 1} is {values[row, cell]:g}, outside [-{bound}, "
            f"{bound}]; divide the query by its largest value"
        )
    if unit is None:
        return np.rint(values * ROUNDED).astype(np.int64)
    broken = values != np.rint(values)
    if broken.any():
        row, cell = np.argwhere(broken)[0]
        raise ValueError(
            f"row {row + 1}, number {cell + 1} is {values[row, cell]:g}, no whole number; with a "
            "unit, write every value times the unit"
        )
    return values.astype(np.int64)


def _indicator(cells: CellMap, inside: NDArray[np.integer], title: str) -> Part:
    row = sparse.csr_array(
        (np.ones(len(inside), dtype=np.int64), inside, np.array([0, len(inside)])),
        shape=(1, cells.size),
    )
    return Part(cells, Matrix(row), title=title)


def _boxes(domain: Domain, columns: Clique, lower: Counts, upper: Counts) -> Part:
    """The boxes but those of all records."""
    kept = ~_is_full(domain, columns, lower, upper)
    if not kept.any():
        raise ValueError("the columns have one cell each, so there is only the one of all records")
    sizes = tuple(domain.shape[column] for column in columns)
    rows = Boxes(sizes, lower[kept].astype(np.int64), upper[kept].astype(np.int64))
    return Part(_marginal(domain, columns), rows)


def _random_boxes(
    levels: Sequence[int], count: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Corners, shape (count, axes): of every axis each range equally likely."""
    ends = []
    for k in levels:  # two different edges
        one, other = rng.integers(0, k + 1, size=count), rng.integers(0, k, size=count)
        ends.append(np.sort(np.stack([one, other + (other >= one)]), axis=0))
    return np.stack([low for low, _ in ends], axis=1), np.stack([high for _, high in ends], axis=1)


def _is_full(domain: Domain, columns: Clique, lower: Counts, upper: Counts) -> NDArray[np.bool_]:
    sizes = np.array([domain.shape[column] for column in columns])
    full: NDArray[np.bool_] = (upper - lower == sizes).all(axis=1)
    return full


def _axes(columns: Sequence[int]) -> Clique:
    if len(columns) > MOST_AXES:
        raise ValueError(
            f"is over {len(columns)} columns at once, but a product has at most {MOST_AXES}; "
            "write an entry for each group of columns"
        )
    return _ascending(columns)


def _ascending(columns: Sequence[int]) -> Clique:
    if not columns or len(set(columns)) < len(columns):
        raise ValueError("columns must be named, each once")
    return tuple(sorted(columns))


def _named(domain: Domain, columns: Sequence[int]) -> str:
    return " x ".join(domain.names[column] for column in columns)


def _weighed(domain: Domain, columns: Clique, factors: Counts, threshold: int) -> str:
    terms = [
        f"{'+-'[int(w) < 0]} {abs(int(w))} {domain.names[column]}"
        for w, column in zip(factors, columns, strict=True)
    ]
    return f"{' '.join(terms).removeprefix('+ ')} >= {threshold / _POSITIONS:g} (positions 0 to 1)"


def _refuse_many(count: int, what: str) -> None:
    if count > MOST_QUERIES:
        raise ValueError(
            f"{what} are {count:,} queries, but at most {MOST_QUERIES:,} are taken; ask for fewer "
            "columns or coarser cells, or for a number of random ones"
        )


def _marginal(domain: Domain, columns: Clique) -> CellMap:
    sizes = [domain.shape[column] for column in columns]
    if prod(sizes) > MOST_CELLS:
        raise ValueError(
            f"sees {' x '.join(map(str, sizes))} = {prod(sizes):,} cells of "
            f"{_named(domain, columns)}, but at most {MOST_CELLS:,} are counted; ask it of fewer "
            "columns, or give them coarser cells"
        )
    return marginal(columns, domain.shape)
