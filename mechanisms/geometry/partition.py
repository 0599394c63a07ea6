"""Hierarchical binary partition of a product domain: the tree that PMM measures.

Level j of the tree has 2^j nodes, each a box of cells. Going down one level splits one attribute,
the same for all nodes, so which child a record falls into depends on its code of that attribute
alone, and its leaf is a sum of one table entry per attribute: a `CellMap`. Consecutive leaves share
their ancestors, so a level of the tree is `LevelSums` of the leaf histogram.

Each attribute has its own binary refinement. An interval of cells is cut in the middle, the first
part the longer one. Where nulls are allowed and values are not all at distance 1 anyway, the first
cut takes the null cell off instead: it is far from most values, and in their company would keep
every box that it is in as wide as the domain. An interval of one cell is "cut" into itself and an
empty interval, so the second child of such a node is empty for every table: a public fact, used
wherever nodes are looked at.

All that this module computes depends on the public domain only. Distances are in the metric of
`Attribute`, boxes in the largest of them over the attributes (l_inf), and the extent of a cell
counts: a box reaches from the outer edge of its first cell to the outer edge of its last.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.finite_metrics import cell_distances
from hallmark.mechanisms.geometry.wasserstein import HUB, RADIUS
from hallmark.mechanisms.privacy.cells import CellMap

Intervals = NDArray[np.int64]  # shape (slots, 2): first cell, and one past the last


def cut(attribute: Attribute, intervals: Intervals) -> Intervals:
    """Both parts of every interval, in order; shape (2 * slots, 2)."""
    start, stop = intervals.T
    middle = stop - (stop - start) // 2
    if attribute.has_null and attribute.kind is not Kind.NOMINAL:
        middle = np.where((start < attribute.levels) & (stop > attribute.levels), stop - 1, middle)
    return np.stack([start, middle, middle, stop], axis=-1).reshape(-1, 2)


def refine(attribute: Attribute, times: int) -> Intervals:
    """The attribute's cells after `times` cuts of every interval, shape (2**times, 2)."""
    intervals = np.array([[0, attribute.cells]], dtype=np.int64)
    for _ in range(times):
        intervals = cut(attribute, intervals)
    return intervals


def interval_diameters(attribute: Attribute, intervals: Intervals) -> NDArray[np.float64]:
    """Largest distance between two records of each interval, shape (slots,); 0 where empty."""
    start, stop = intervals.T
    if attribute.kind is Kind.NOMINAL:
        return np.asarray(stop - start > 1, dtype=np.float64)
    if attribute.kind is Kind.METRIC:
        apart = cell_distances(attribute)
        return np.array([apart[i:j, i:j].max(initial=0.0) for i, j in intervals])
    last = np.minimum(stop, attribute.levels) - 1  # last cell that holds values
    valued, half = start <= last, attribute.widths / 2
    first = np.minimum(start, attribute.levels - 1)
    low = attribute.positions[first] - half[first]
    high = attribute.positions[last] + half[last]
    with_null = valued & (stop > attribute.levels)
    to_null = RADIUS + np.maximum(np.abs(low - HUB), np.abs(high - HUB))
    extent = np.where(valued, high - low, 0.0)
    return np.where(with_null, np.maximum(extent, to_null), extent)


def split_order(domain: Domain, limit: int) -> tuple[int, ...]:
    """Attribute to split at each level, until every box is one cell or `limit` levels are reached.

    The attribute whose intervals are widest is next, the lowest position among equals. A coarser
    partition's order is a prefix of a finer one's.
    """
    intervals = [refine(attribute, 0) for attribute in domain.attributes]
    order: list[int] = []
    while len(order) < limit:
        widths = [
            float(interval_diameters(attribute, parts).max())
            if (parts[:, 1] - parts[:, 0]).max() > 1
            else -1.0
            for attribute, parts in zip(domain.attributes, intervals, strict=True)
        ]
        widest = int(np.argmax(widths))
        if widths[widest] < 0:
            break
        order.append(widest)
        intervals[widest] = cut(domain.attributes[widest], intervals[widest])
    return tuple(order)


@dataclass(frozen=True, eq=False)
class Partition:
    """A binary tree of boxes of cells. Public.

    Attributes:
        domain: what is partitioned.
        splits: attribute split between level j and level j + 1, for j = 0 .. depth - 1.
    """

    domain: Domain
    splits: tuple[int, ...]

    @property
    def depth(self) -> int:
        """Level of the leaves."""
        return len(self.splits)

    @property
    def leaves(self) -> int:
        """Number of leaves, the empty ones included."""
        return 1 << self.depth

    @cached_property
    def leaf_map(self) -> CellMap:
        """Sends a record to its leaf."""
        columns = tuple(sorted(set(self.splits)))
        tables = []
        for column in columns:
            levels = [j for j, split in enumerate(self.splits) if split == column]
            intervals = refine(self.domain.attributes[column], len(levels))
            slots = np.repeat(np.arange(len(intervals)), intervals[:, 1] - intervals[:, 0])
            bits = (slots[:, None] >> np.arange(len(levels))[::-1]) & 1
            tables.append((bits << (self.depth - 1 - np.array(levels))).sum(axis=1))
        return CellMap(columns, tuple(tables), self.leaves)

    def slots(self, attribute: int, level: int) -> NDArray[np.int64]:
        """Which interval of the attribute each node of a level lies in, shape (2**level,)."""
        slots = np.zeros(1, dtype=np.int64)
        for split in self.splits[:level]:
            halves = (2 * slots, 2 * slots + 1) if split == attribute else (slots, slots)
            slots = np.stack(halves, axis=-1).reshape(-1)
        return slots

    def intervals(self, attribute: int, level: int) -> Intervals:
        """Cells of each interval of the attribute that a level tells apart, in order."""
        return refine(self.domain.attributes[attribute], self.splits[:level].count(attribute))

    def boxes(self, attribute: int, level: int) -> Intervals:
        """Cells of the attribute that each node of a level holds, shape (2**level, 2)."""
        return np.asarray(self.intervals(attribute, level)[self.slots(attribute, level)])

    def empty(self, level: int) -> NDArray[np.bool_]:
        """Whether no record can lie in each node of a level, shape (2**level,)."""
        mask = np.zeros(1 << level, dtype=np.bool_)
        for attribute in set(self.splits[:level]):
            start, stop = self.intervals(attribute, level).T
            if (start == stop).any():
                mask |= (start == stop)[self.slots(attribute, level)]
        return mask

    @property
    def empties(self) -> list[NDArray[np.bool_]]:
        """`empty` of levels 0, ..., depth."""
        return [self.empty(level) for level in range(self.depth + 1)]

    def occupied_beside(self, attribute: int, level: int) -> int:
        """How many nodes of a level that can hold records share one interval of the attribute."""
        nodes = 1
        for other in set(self.splits[:level]) - {attribute}:
            start, stop = self.intervals(other, level).T
            nodes *= int((start < stop).sum())
        return nodes

    def alone(self, attribute: int) -> "Partition":
        """The partition of one attribute that the intervals of this one make."""
        splits = (0,) * self.splits.count(attribute)
        return Partition(Domain((self.domain.attributes[attribute],)), splits)

    def diameters(self, level: int) -> NDArray[np.float64]:
        """Largest distance between two records of each node of a level; 0 where it is empty."""
        widest = np.zeros(1 << level)
        for position, attribute in enumerate(self.domain.attributes):
            widths = interval_diameters(attribute, self.intervals(position, level))
            np.maximum(widest, widths[self.slots(position, level)], out=widest)
        widest[self.empty(level)] = 0.0
        return widest

    def flow_costs(self, level: int) -> NDArray[np.float64]:
        """The largest cost of moving one record between the two children of each node.

        Shape (2**level,): the node's diameter, and 0 where a child is empty, as then nothing is
        ever moved.
        """
        empty = self.empty(level + 1)
        costs = self.diameters(level)
        costs[empty[::2] | empty[1::2]] = 0.0
        return costs

    def draw(self, leaves: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
        """Codes drawn uniformly from the box of each given leaf, shape (len(leaves), attributes).

        No given leaf may be empty.
        """
        codes = np.empty((len(leaves), len(self.domain)), dtype=np.int32)
        for attribute in range(len(self.domain)):
            intervals = self.intervals(attribute, self.depth)
            start, stop = intervals[self.slots(attribute, self.depth)[leaves]].T
            codes[:, attribute] = rng.integers(start, stop)
        return codes

    def one_way(self, attribute: int, counts: NDArray[np.number]) -> NDArray[np.float64]:
        """Histograms of one attribute from leaf histograms, shapes (..., leaves) to (..., cells).

        The mass of an interval of cells is spread evenly over them; empty leaves must hold 0.
        """
        slots = 1  # intervals of the attribute told apart below the level reached
        for split in reversed(self.splits):
            if split == attribute:
                slots *= 2
            else:
                pairs = counts.reshape(*counts.shape[:-1], -1, 2, slots)
                counts = (pairs[..., 0, :] + pairs[..., 1, :]).reshape(*counts.shape[:-1], -1)
        intervals = self.intervals(attribute, self.depth)
        lengths = intervals[:, 1] - intervals[:, 0]
        return np.repeat(counts / np.maximum(lengths, 1), lengths, axis=-1)

    def coarsening(self, attribute: int) -> float:
        """How far spreading a record evenly over its interval moves it on average, at worst.

        An upper bound on W1 between any histogram of the attribute and its spread version, divided
        by the number of records; 0 where every interval is one cell.
        """
        column = self.domain.attributes[attribute]
        worst = 0.0
        for start, stop in self.intervals(attribute, self.depth):
            if stop - start < 2:
                continue
            if column.kind is Kind.NOMINAL:
                moved = 1.0 - 1.0 / (stop - start)
            elif column.kind is Kind.METRIC:
                within = cell_distances(column)[start:stop, start:stop]
                moved = float(within.sum(axis=1).max()) / (stop - start)
            else:  # the farthest from the others is the null cell, or else an end of the interval
                positions = column.positions[start:stop]
                total = np.abs(positions - positions[[0, -1], None]).sum(axis=1).max()
                if stop > column.levels:
                    total = (RADIUS + np.abs(positions - HUB)).sum()
                moved = float(total) / (stop - start)
            worst = max(worst, float(moved))
        return worst
