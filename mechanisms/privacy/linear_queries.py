"""Linear queries with integer values: exact answers, and how much one privacy unit changes them.

A query gives every record a public integer; its answer is the sum over all records. Queries come in
blocks: all queries of a block depend on the same cell of a record. Values are in units of 1/unit,
so that a query with values in [-1, 1] has integers in [-unit, unit].

Claim.   Between neighbours no answer changes by more than `LinearQueries.sensitivity`.
Proof.   `Adjacency.weighted_sum`, with the least and the greatest value of every query.
Source.  Micali, Lezane, Betken (2025), Differentially private algorithms for linear queries via
         stochastic convex optimization, AISTATS, whose sensitivity (the diameter of the class) is
         larger, for a query by the number of cells in it.
Oracle.  tests/mechanisms/privacy/test_linear_queries.py: matrices written out, and all neighbours
         of tiny tables.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import CellMap

Table = TypeVar("Table", NDArray[np.int64], NDArray[np.float64])


class Rows(Protocol):
    """The values of a block's queries on its cells: an integer matrix that need not be stored.

    Answers to an int64 table are exact int64; those to a float64 table are float64.
    """

    @property
    def size(self) -> int:
        """Number of queries."""
        ...

    @property
    def cells(self) -> int:
        """Number of cells."""
        ...

    @property
    def least(self) -> Counts:
        """Least value of every query over all cells, int64 of shape (size,)."""
        ...

    @property
    def greatest(self) -> Counts:
        """Greatest value of every query over all cells, int64 of shape (size,)."""
        ...

    def answers(self, table: Table) -> Table:
        """Matrix times table: shapes (cells,) to (size,)."""
        ...

    def adjoint(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transposed matrix times weights: shapes (size,) to (cells,)."""
        ...

    def row(self, query: int) -> Counts:
        """Values of one query, int64 of shape (cells,)."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 over all values."""
        ...


@dataclass(frozen=True)
class EachCell:
    """One query per cell, which counts the cell's records, each with weight `value`."""

    cells: int
    value: int = 1

    @property
    def size(self) -> int:
        return self.cells

    @property
    def least(self) -> Counts:
        return np.full(self.cells, min(self.value, 0 if self.cells > 1 else self.value))

    @property
    def greatest(self) -> Counts:
        return np.full(self.cells, max(self.value, 0 if self.cells > 1 else self.value))

    def answers(self, table: Table) -> Table:
        return self.value * table

    def adjoint(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.value * weights

    def row(self, query: int) -> Counts:
        values = np.zeros(self.cells, dtype=np.int64)
        values[query] = self.value
        return values

    @property
    def digest(self) -> str:
        return _sha256(f"each cell {self.cells} {self.value}")


@dataclass(frozen=True, eq=False)
class Boxes:
    """Queries that count records in boxes of a grid, with weight `value`: ranges and products.

    Answers are computed from cumulative sums, with 2^d corners per box.

    Attributes:
        shape: cells of the grid along each of d axes; its cells are in C order.
        lower, upper: the boxes' corners, int64 of shape (size, d); a box contains the cells with
            lower <= index < upper along every axis, and may be empty.
    """

    shape: tuple[int, ...]
    lower: Counts
    upper: Counts
    value: int = 1

    def __post_init__(self) -> None:
        axes = (len(self.lower), len(self.shape))
        if self.lower.shape != axes or self.upper.shape != axes:
            raise ValueError(f"corners of boxes on {len(self.shape)} axes have that many numbers")
        inside = (self.lower >= 0) & (self.lower <= self.upper) & (self.upper <= self.shape)
        if not inside.all():
            raise ValueError(f"a box reaches beyond the grid of {self.shape} cells, or ends early")

    @property
    def size(self) -> int:
        return len(self.lower)

    @property
    def cells(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @cached_property
    def _volumes(self) -> Counts:
        volumes: Counts = (self.upper - self.lower).prod(axis=1)
        return volumes

    @property
    def least(self) -> Counts:
        # A box with all cells has no cell of value 0, an empty one none of another.
        full = np.where(self._volumes == self.cells, self.value, 0)
        return np.where(self._volumes > 0, np.minimum(self.value, full), 0).astype(np.int64)

    @property
    def greatest(self) -> Counts:
        full = np.where(self._volumes == self.cells, self.value, 0)
        return np.where(self._volumes > 0, np.maximum(self.value, full), 0).astype(np.int64)

    def answers(self, table: Table) -> Table:
        below = np.zeros([k + 1 for k in self.shape], dtype=table.dtype)
        below[tuple(slice(1, None) for _ in self.shape)] = table.reshape(self.shape)
        for axis in range(len(self.shape)):
            np.cumsum(below, axis=axis, out=below)
        sums: Table = np.zeros(self.size, dtype=table.dtype)
        for sign, corner in self._corners():
            sums += sign * below[corner]
        return self.value * sums

    def adjoint(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.zeros([k + 1 for k in self.shape])
        for sign, corner in self._corners():
            np.add.at(steps, corner, sign * weights)
        # A weight counts in all cells below its corner: cumulative sums from the far end.
        for axis in range(len(self.shape)):
            steps = np.flip(np.cumsum(np.flip(steps, axis), axis=axis), axis)
        return self.value * steps[tuple(slice(1, None) for _ in self.shape)].ravel()

    def row(self, query: int) -> Counts:
        values = np.zeros(self.shape, dtype=np.int64)
        corners = zip(self.lower[query], self.upper[query], strict=True)
        values[tuple(slice(start, stop) for start, stop in corners)] = self.value
        return values.ravel()

    def _corners(self) -> list[tuple[int, tuple[Counts, ...]]]:
        """Indices of every corner of all boxes, with the corner's sign."""
        ends = (self.lower.T, self.upper.T)
        return [
            ((-1) ** (len(self.shape) - sum(which)), tuple(ends[w][a] for a, w in enumerate(which)))
            for which in product((0, 1), repeat=len(self.shape))
        ]

    @cached_property
    def digest(self) -> str:
        return _sha256(f"boxes {self.shape} {self.value}", self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Queries with any values.

    Attributes:
        values: int64 of shape (size, cells), sparse.
    """

    values: sparse.csr_array

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64:
            raise TypeError(f"values of queries are int64, not {self.values.dtype}")

    @property
    def size(self) -> int:
        return int(self.values.shape[0])

    @property
    def cells(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def least(self) -> Counts:
        return np.asarray(self.values.min(axis=1).toarray(), dtype=np.int64).ravel()

    @cached_property
    def greatest(self) -> Counts:
        return np.asarray(self.values.max(axis=1).toarray(), dtype=np.int64).ravel()

    def answers(self, table: Table) -> Table:
        product: Table = self.values @ table
        return product

    def adjoint(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.values.T @ weights, dtype=np.float64)

    def row(self, query: int) -> Counts:
        return np.asarray(self.values[[query]].toarray(), dtype=np.int64).ravel()

    @cached_property
    def digest(self) -> str:
        canonical = self.values.copy()
        canonical.sum_duplicates()
        parts = (canonical.indptr, canonical.indices, canonical.data)
        return _sha256(f"matrix {self.values.shape}", *(part.astype(np.int64) for part in parts))


@dataclass(frozen=True, eq=False)
class Block:
    """Queries that depend on the same cell of a record. Public."""

    cells: CellMap
    rows: Rows

    def __post_init__(self) -> None:
        if self.rows.cells != self.cells.size:
            raise ValueError(f"queries on {self.rows.cells} cells, but {self.cells.size} cells")


@dataclass(frozen=True, eq=False)
class LinearQueries:
    """Blocks of queries, numbered consecutively. Public.

    Attributes:
        blocks: at least one, each with at least one query.
        unit: all values are in units of 1/unit.
    """

    blocks: tuple[Block, ...]
    unit: int = 1

    def __post_init__(self) -> None:
        if not self.blocks or min(block.rows.size for block in self.blocks) < 1:
            raise ValueError("linear queries need at least one block, and a block one query")

    @cached_property
    def starts(self) -> Counts:
        """Number of the first query of every block, then the number of all; shape (blocks + 1,)."""
        return np.cumsum([0, *(block.rows.size for block in self.blocks)])

    @property
    def size(self) -> int:
        """Number of all queries."""
        return int(self.starts[-1])

    @property
    def maps(self) -> tuple[CellMap, ...]:
        """Maps of all blocks, from records to the cells that the block's queries depend on."""
        return tuple(block.cells for block in self.blocks)

    @cached_property
    def least(self) -> Counts:
        """Least value of every query, shape (size,), in units of 1/unit."""
        return np.concatenate([block.rows.least for block in self.blocks])

    @cached_property
    def greatest(self) -> Counts:
        """Greatest value of every query, shape (size,), in units of 1/unit."""
        return np.concatenate([block.rows.greatest for block in self.blocks])

    @property
    def width(self) -> float:
        """Range of the widest query, on the queries' own scale; no error exceeds it."""
        return int((self.greatest - self.least).max()) / self.unit

    def located(self, query: int) -> tuple[int, int]:
        """Block and row of a query."""
        block = int(np.searchsorted(self.starts, query, side="right")) - 1
        return block, query - int(self.starts[block])

    def answers(self, tables: "list[Counts]") -> Counts:
        """Exact answers, int64 of shape (size,), from one table of counts per block."""
        pairs = zip(self.blocks, tables, strict=True)
        return np.concatenate([block.rows.answers(table) for block, table in pairs])

    def sensitivity(self, adjacency: Adjacency) -> int:
        """Largest change of any answer between neighbours, in units of 1/unit."""
        spans = np.unique(np.stack([self.least, self.greatest], axis=1), axis=0)
        return max(adjacency.weighted_sum(int(low), int(high)) for low, high in spans)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all queries."""
        parts = [f"{block.cells.digest} {block.rows.digest}" for block in self.blocks]
        return _sha256("\n".join([f"unit {self.unit}", *parts]))


def _sha256(text: str, *arrays: Counts) -> str:
    sha = hashlib.sha256(text.encode())
    for array in arrays:
        sha.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return sha.hexdigest()
