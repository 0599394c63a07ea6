"""Integer maps of a histogram, each with its sensitivity under every adjacency.

Notation. A privacy unit owns at most m = `adjacency.records` records. Between neighbours the
          histogram h changes by d with |d|_1 <= `adjacency.l1`: m under add/remove, 2m under
          replace-one, of which at most m are taken away and at most m added.
Oracle.   tests/mechanisms/privacy/test_transforms.py enumerates all neighbours of tiny tables.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.adjacency import Adjacency


@dataclass(frozen=True, eq=False)
class Sums:
    """A linear transform written out: every entry is a weighted sum of cells of its own.

    Attributes:
        entry: the entry that every cell counts in, int64 of shape (cells,); -1 where in none.
        weight: how much it counts there, int64 of shape (cells,).
        entries: number of entries.
    """

    entry: Counts
    weight: Counts
    entries: int


class Transform(Protocol):
    """A map from a histogram to integers, whose sensitivity is proved with its definition.

    Its `repr` must say everything that it does, since the digest of a query includes it.
    """

    def __call__(self, counts: Counts) -> Counts: ...

    def sums(self, cells: int) -> Sums | None:
        """The transform of so many cells written out; None if it is not linear."""
        ...

    def l1(self, adjacency: Adjacency) -> int: ...

    def l2_squared(self, adjacency: Adjacency) -> int: ...

    def unit_moves(self, adjacency: Adjacency) -> int | None: ...


class _HistogramOfRecords:
    """Sensitivities of results that are again counts of records by a map to cells (`adjacency`)."""

    def l1(self, adjacency: Adjacency) -> int:
        return adjacency.l1

    def l2_squared(self, adjacency: Adjacency) -> int:
        return adjacency.l2_squared

    def unit_moves(self, adjacency: Adjacency) -> int | None:
        return adjacency.unit_moves


class _Differences:
    """Sensitivities of differences between disjoint groups of cells.

    Every cell lies in at most one group of one difference, where it counts with +1 or -1, so
    |A d|_1 <= |d|_1, which bounds the L2 norm as well. Both are attained: a record that goes from
    the first group of a difference to the second changes it by 2, and 2 = |d|_1 > |d|_2.
    """

    def l1(self, adjacency: Adjacency) -> int:
        return adjacency.l1

    def l2_squared(self, adjacency: Adjacency) -> int:
        return adjacency.l1**2

    def unit_moves(self, adjacency: Adjacency) -> int | None:
        return None  # one difference may change by 2


class _OneNumber:
    """Sensitivities of a single number, for which every norm is the absolute value."""

    def l1(self, adjacency: Adjacency) -> int:
        raise NotImplementedError

    def l2_squared(self, adjacency: Adjacency) -> int:
        return self.l1(adjacency) ** 2

    def unit_moves(self, adjacency: Adjacency) -> int | None:
        return None


@dataclass(frozen=True)
class LevelSums(_HistogramOfRecords):
    """Sums of `2**height` consecutive cells: one level of a binary tree over the histogram.

    Height 0 is the histogram itself. Sums of cells are again counts of a map from records to
    cells, so the sensitivity is that of a histogram; for a single sum, `Total` has a smaller one.
    """

    height: int = 0

    def __call__(self, counts: Counts) -> Counts:
        return counts.reshape(-1, 2**self.height).sum(axis=1)

    def sums(self, cells: int) -> Sums:
        return Sums(np.arange(cells) >> self.height, _ones(cells), cells >> self.height)


HISTOGRAM = LevelSums(0)


@dataclass(frozen=True)
class Total(_OneNumber):
    """The number of records.

    Sensitivity: at most m records are taken away and at most m are added, so the number changes by
    -m to m under either relation, while a histogram of two cells may change by m in each. (If the
    unit is a record, replacing one leaves the number unchanged; then it is public and not asked.)
    """

    def __call__(self, counts: Counts) -> Counts:
        return counts.sum(keepdims=True)

    def sums(self, cells: int) -> Sums:
        return Sums(np.zeros(cells, dtype=np.int64), _ones(cells), 1)

    def l1(self, adjacency: Adjacency) -> int:
        return adjacency.records

    def unit_moves(self, adjacency: Adjacency) -> int | None:
        return 1 if adjacency.records == 1 else None  # one number, by one at most


@dataclass(frozen=True, eq=False, repr=False)
class BlockSums:
    """Sums over the blocks of a public partition of the cells: again a histogram, or the number of
    records if there is one block.

    Attributes:
        labels: block of every cell, int64 of shape (cells,), in 0..blocks-1.
        blocks: number of blocks.
    """

    labels: Counts
    blocks: int

    def __call__(self, counts: Counts) -> Counts:
        sums = np.zeros(self.blocks, dtype=np.int64)
        np.add.at(sums, self.labels, counts)
        return sums

    def sums(self, cells: int) -> Sums:
        return Sums(self.labels, _ones(cells), self.blocks)

    def l1(self, adjacency: Adjacency) -> int:
        return self._like.l1(adjacency)

    def l2_squared(self, adjacency: Adjacency) -> int:
        return self._like.l2_squared(adjacency)

    def unit_moves(self, adjacency: Adjacency) -> int | None:
        return self._like.unit_moves(adjacency)

    @property
    def _like(self) -> Transform:
        """A transform with the same sensitivities."""
        return Total() if self.blocks == 1 else HISTOGRAM

    def __repr__(self) -> str:
        return f"BlockSums(blocks={self.blocks}, labels={_sha256(self.labels)})"


@dataclass(frozen=True)
class LevelDifferences(_Differences):
    """Differences of sums of `2**height` consecutive cells: the first sum minus the second, the
    third minus the fourth, and so on; one level of a complete binary tree over the histogram."""

    height: int = 0

    def __call__(self, counts: Counts) -> Counts:
        first, second = LevelSums(self.height)(counts).reshape(-1, 2).T
        return first - second

    def sums(self, cells: int) -> Sums:
        sides = np.arange(cells) >> self.height
        return Sums(sides >> 1, 1 - 2 * (sides & 1), cells >> (self.height + 1))


@dataclass(frozen=True, eq=False, repr=False)
class TreeDifferences(_Differences):
    """Records in the first child minus records in the second, for nodes of one binary tree level.

    Attributes:
        order: the cell at every leaf, int64 of shape (cells,), a permutation.
        nodes: start, middle and stop of every node, int64 of shape (nodes, 3), as positions in
            `order`; ascending and disjoint.
    """

    order: Counts
    nodes: Counts

    def __post_init__(self) -> None:
        # The sensitivity depends on both.
        if not np.array_equal(np.sort(self.order), np.arange(len(self.order))):
            raise ValueError("a tree's order must name every cell once")
        ends = np.concatenate([[0], self.nodes.ravel(), [len(self.order)]])
        if (np.diff(ends) < 0).any():
            raise ValueError("nodes of one level must ascend, be disjoint and end with the order")

    def __call__(self, counts: Counts) -> Counts:
        before = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts[self.order], out=before[1:])
        start, middle, stop = self.nodes.T
        return 2 * before[middle] - before[start] - before[stop]

    def sums(self, cells: int) -> Sums:
        entry, weight = np.full(cells, -1, dtype=np.int64), np.zeros(cells, dtype=np.int64)
        for node, (start, middle, stop) in enumerate(self.nodes):
            entry[self.order[start:stop]] = node
            weight[self.order[start:middle]] = 1
            weight[self.order[middle:stop]] = -1
        return Sums(entry, weight, len(self.nodes))

    def __repr__(self) -> str:
        return f"TreeDifferences(order={_sha256(self.order)}, nodes={_sha256(self.nodes)})"


@dataclass(frozen=True, eq=False, repr=False)
class WeightedSum(_OneNumber):
    """One number, the sum of public integer weights of all records (`Adjacency.weighted_sum`).

    Attributes:
        weights: weight of every cell, int64 of shape (cells,).
        span: least and greatest weight for which the sensitivity is stated; if answers decide which
            of several sums is asked, a common span makes the event of each the same.
    """

    weights: Counts
    span: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if len(self.weights) == 0:
            raise ValueError("a weighted sum needs weights")
        if self.span and not self.span[0] <= self._range[0] <= self._range[1] <= self.span[1]:
            raise ValueError(f"weights {self._range} lie outside the span {self.span}")

    def __call__(self, counts: Counts) -> Counts:
        return np.array([int(self.weights @ counts)], dtype=np.int64)

    def sums(self, cells: int) -> Sums:
        return Sums(np.zeros(cells, dtype=np.int64), self.weights, 1)

    def l1(self, adjacency: Adjacency) -> int:
        return adjacency.weighted_sum(*(self.span or self._range))

    @property
    def _range(self) -> tuple[int, int]:
        return int(self.weights.min()), int(self.weights.max())

    def __repr__(self) -> str:
        span = f", span={self.span}" if self.span else ""
        return f"WeightedSum(weights={_sha256(self.weights)}{span})"


@dataclass(frozen=True)
class Occupied(_OneNumber):
    """One number: how many cells contain a record. Not linear.

    Sensitivity: taking away at most m records empties at most m cells and adding at most m fills
    at most m, so the number changes by -m to m under either relation.
    Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), proof
             of Theorem 3, for m = 1.
    """

    def __call__(self, counts: Counts) -> Counts:
        return np.array([np.count_nonzero(counts)], dtype=np.int64)

    def sums(self, cells: int) -> None:
        return None

    def l1(self, adjacency: Adjacency) -> int:
        return adjacency.records


def _ones(cells: int) -> Counts:
    return np.ones(cells, dtype=np.int64)


def _sha256(array: NDArray[np.int64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array, dtype="<i8").tobytes()).hexdigest()
