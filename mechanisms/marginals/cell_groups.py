"""Groups of neighbouring cells: a table on a coarser grid.

Every attribute is cut into runs of cells whose lengths differ by at most one. A coarse table has
far less noise in the count of a whole group than the sum of the group's own noisy cells.

Oracle.  tests/mechanisms/marginals/test_cell_groups.py takes the matrix that adds up each group.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.domain.cliques import Clique

Floats = TypeVar("Floats", NDArray[np.float64], NDArray[np.float32])
Sizes = tuple[int, ...]
"""Groups of every attribute of a clique, each at most as many as it has cells."""


def sizes_of(clique: Clique, shape: Sequence[int], most: int) -> Sizes:
    """At most so many groups of every attribute."""
    return tuple(min(most, shape[a]) for a in clique)


@lru_cache(maxsize=1024)  # asked for every table of every round, of few different attributes
def group_of(cells: int, groups: int) -> NDArray[np.int64]:
    """The group of every cell, ascending from 0; read-only."""
    of = np.arange(cells, dtype=np.int64) * groups // cells
    of.flags.writeable = False
    return of


@lru_cache(maxsize=1024)
def _starts(cells: int, groups: int) -> NDArray[np.int64]:
    """The first cell of every group."""
    starts = np.searchsorted(group_of(cells, groups), np.arange(groups))
    starts.flags.writeable = False
    return starts


def merge(tables: Floats, sizes: Sizes) -> Floats:
    """Sums of the groups, of tables in the last axes, shape (..., sizes)."""
    lead = tables.ndim - len(sizes)
    for axis, groups in enumerate(sizes, start=lead):
        tables = np.add.reduceat(tables, _starts(tables.shape[axis], groups), axis=axis)
    return tables


def spread(tables: Floats, shape: Sequence[int]) -> Floats:
    """Every cell of `shape` with what its group has, of coarse tables in the last axes."""
    lead = tables.ndim - len(shape)
    for axis, cells in enumerate(shape, start=lead):
        tables = np.take(tables, group_of(cells, tables.shape[axis]), axis=axis)
    return tables


def cells_of(shape: Sequence[int], sizes: Sizes) -> NDArray[np.float64]:
    """How many cells every group has, of shape `sizes`; read-only."""
    return _cells_of(tuple(shape), sizes)


@lru_cache(maxsize=1024)
def _cells_of(shape: tuple[int, ...], sizes: Sizes) -> NDArray[np.float64]:
    cells = merge(np.ones(shape), sizes)
    cells.flags.writeable = False
    return cells


def moved_to(
    tables: NDArray[np.float64], sums: NDArray[np.float64], sizes: Sizes
) -> NDArray[np.float64]:
    """Tables in the last axes with these sums of groups; what is missing, the cells share."""
    shape = tables.shape[-len(sizes) :]
    missing = (sums - merge(tables, sizes)) / cells_of(shape, sizes)
    return tables + spread(missing, shape)


def joined(
    tables: NDArray[np.float64],
    variance: float,
    sums: NDArray[np.float64],
    sums_variance: float,
    sizes: Sizes,
) -> NDArray[np.float64]:
    """Least squares from cells in the last axes and sums of groups, both with white noise.

    A group's two sums are averaged by inverse variance; what that changes, its cells share.
    """
    own = variance * cells_of(tables.shape[-len(sizes) :], sizes)
    share = own / (own + sums_variance)
    return moved_to(tables, (1 - share) * merge(tables, sizes) + share * sums, sizes)
