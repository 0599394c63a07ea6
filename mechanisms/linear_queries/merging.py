"""The smallest grid on which a workload's queries still say the same: merged cells.

Claim.   Of every column, levels share a cell only where no query tells them apart, so a record's
         values are those of its merged cell: `Universe.levels` expands any distribution on merged
         cells to one on levels, spread evenly within cells, with the same answers.
Proof.   Two levels of a column share a cell if for every block that sees the column the map sends
         them to the same cell, or the map is a marginal and every query of the block is the same
         on both, whatever the other columns are. Exchanging levels one column after the other then
         leaves all values alone.
Terms.   Between levels of a cell a query's values are equal, so softmax of any combination of
         queries is even within cells: the optimum over merged cells, weighted by how many levels
         they hold (`Universe.uniform`), is that over levels.
Limits.  Boxes need their cells side by side, so cells on both sides of a range stay two.
Oracle.  tests/mechanisms/linear_queries/test_merging.py expands answers on random distributions.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.linear_queries.levels import on_cells
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import (
    Block,
    Boxes,
    EachCell,
    LinearQueries,
    Matrix,
    Rows,
)


class Merged(NamedTuple):
    """A merged universe, and the positions in the domain of its columns."""

    universe: Universe
    columns: tuple[int, ...]


def merged_universe(
    shape: Sequence[int],
    queries: LinearQueries,
    *,
    rules: Rules | None = None,
    names: Sequence[str] = (),
) -> Merged:
    """The columns that some query sees, levels that none tells apart in one cell.

    The queries keep their order. Nothing of the universe's size is made here. Rules make no cells:
    where one tells levels of a cell apart, the cell is possible if any of them is.

    Args:
        shape: levels of every column of the domain.
        rules, names: of the domain.
    """
    seen = sorted({column for cells in queries.maps for column in cells.columns})
    levels = {column: _levels(column, shape, queries) for column in seen}
    firsts = {column: np.unique(cell, return_index=True)[1] for column, cell in levels.items()}
    place = {column: position for position, column in enumerate(seen)}
    merged = tuple(len(firsts[column]) for column in seen)
    blocks = tuple(_on_cells(block, shape, firsts, place, merged) for block in queries.blocks)
    cells = tuple(levels[column] for column in seen)
    universe = Universe(
        merged,
        LinearQueries(blocks, queries.unit),
        cells,
        rules=on_cells(rules, seen, cells) if rules else Rules(()),
        names=tuple(names[column] for column in seen) if names else (),
    )
    return Merged(universe, tuple(seen))


def _levels(column: int, shape: Sequence[int], queries: LinearQueries) -> NDArray[np.int64]:
    """Merged cell of every level, numbered by their first levels."""
    known = np.zeros(shape[column], dtype=np.int64)
    for block in queries.blocks:
        if known.max() + 1 == len(known):  # all are told apart already
            break
        if column in block.cells.columns:
            known = _numbered(np.stack([known, _told_apart(column, shape, block)]))
    return known


def _told_apart(column: int, shape: Sequence[int], block: Block) -> NDArray[np.int64]:
    """A number for every level, equal where the block's queries are."""
    axis = block.cells.columns.index(column)
    if not _is_marginal(block.cells, shape):
        return block.cells.tables[axis]
    sizes = tuple(shape[c] for c in block.cells.columns)
    match block.rows:
        case EachCell():
            return np.arange(shape[column])
        case Boxes() as boxes:
            some = (boxes.lower < boxes.upper).all(axis=1)
            ends = np.unique(np.concatenate([boxes.lower[some, axis], boxes.upper[some, axis]]))
            return np.searchsorted(ends, np.arange(shape[column]), side="right").astype(np.int64)
        case Matrix(values):
            return _slices(values, sizes, axis)
    raise NotImplementedError(f"merging is not known for {type(block.rows).__name__}")


def _slices(values: sparse.csr_array, sizes: tuple[int, ...], axis: int) -> NDArray[np.int64]:
    """A number for every level of an axis, equal where the matrix's slices are."""
    entries = values.copy()
    entries.sum_duplicates()
    entries.eliminate_zeros()
    entries = entries.tocoo()
    before, after = prod(sizes[:axis]), prod(sizes[axis + 1 :])
    head, level, tail = np.unravel_index(entries.coords[1], (before, sizes[axis], after))
    rest = head.astype(np.int64) * after + tail
    order = np.lexsort((rest, entries.coords[0], level))
    listed = np.stack([entries.coords[0], rest, entries.data], axis=1).astype("<i8")[order]
    starts = np.searchsorted(level[order], np.arange(sizes[axis] + 1))
    known: dict[bytes, int] = {}
    numbers = [
        known.setdefault(hashlib.sha256(listed[start:stop].tobytes()).digest(), len(known))
        for start, stop in pairwise(starts)
    ]
    return np.array(numbers, dtype=np.int64)


def _numbered(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the distinct columns of `keys`, in the order in which they first occur."""
    _, first, inverse = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _on_cells(
    block: Block,
    shape: Sequence[int],
    firsts: Mapping[int, NDArray[np.int64]],
    place: Mapping[int, int],
    merged: tuple[int, ...],
) -> Block:
    """The block's queries on merged cells, each looked at through its first level."""
    columns = tuple(place[column] for column in block.cells.columns)
    known = [firsts[column] for column in block.cells.columns]
    if not _is_marginal(block.cells, shape):
        tables = tuple(table[first] for table, first in zip(block.cells.tables, known, strict=True))
        return Block(CellMap(columns, tables, block.cells.size), block.rows)
    sizes = tuple(shape[column] for column in block.cells.columns)
    return Block(marginal(columns, merged), _rows_on_cells(block.rows, sizes, known))


def _rows_on_cells(rows: Rows, sizes: tuple[int, ...], firsts: Sequence[NDArray[np.int64]]) -> Rows:
    match rows:
        case EachCell():
            return rows
        case Boxes(_, lower, upper, value):
            return Boxes(
                tuple(len(first) for first in firsts),
                _ends(lower, firsts),
                _ends(upper, firsts),
                value,
            )
        case Matrix(values):
            kept = np.ravel_multi_index(np.ix_(*firsts), sizes).ravel()
            if len(kept) == values.shape[1]:
                return rows
            return Matrix(sparse.csr_array(values.tocsc()[:, kept].tocsr()))
    raise NotImplementedError(f"merging is not known for {type(rows).__name__}")


def _ends(ends: Counts, firsts: Sequence[NDArray[np.int64]]) -> Counts:
    """Corners of boxes on merged cells: how many cells begin before each."""
    columns = [np.searchsorted(first, ends[:, axis]) for axis, first in enumerate(firsts)]
    return np.stack(columns, axis=1).astype(np.int64)


def _is_marginal(cells: CellMap, shape: Sequence[int]) -> bool:
    return cells.digest == marginal(cells.columns, shape).digest
