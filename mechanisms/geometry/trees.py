"""Binary trees over the points of a finite space, for hierarchical noise and for L_tree.

`midpoint_tree` and `padded_tree` cut a path, `kd_tree` cuts a box of grid points, `pole_tree` cuts
any finite metric. All but `padded_tree` have two children a node and one leaf a point, whatever
their number.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hallmark.mechanisms.arrays import Floats, Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class BinaryTree:
    """A binary tree whose nodes are intervals of one ordering of the points. Public.

    Attributes:
        order: the point at every leaf, int64 of shape (size,), a permutation.
        levels: for level 0 (the root alone), 1, ...: int64 of shape (nodes, 3), the start, middle
            and stop of every node with more than one leaf, as positions in `order`, ascending. Its
            children are [start, middle) and [middle, stop). Only in a `padded_tree` may the second
            child be empty: all its leaves are padding.
        diameters: for the same nodes, the largest distance between two points of the node, or a
            bound on it.
    """

    order: Integers
    levels: tuple[Integers, ...]
    diameters: tuple[Floats, ...]

    @property
    def size(self) -> int:
        """Number of leaves."""
        return len(self.order)

    @property
    def depth(self) -> int:
        """Levels that hold a node with two children."""
        return len(self.levels)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the order and the nodes."""
        sha = hashlib.sha256()
        for array in (self.order, *self.levels):
            sha.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return sha.hexdigest()


def midpoint_tree(order: Integers, gaps: Floats) -> BinaryTree:
    """Cuts every interval of a path in the middle, the first part the longer one.

    Args:
        order: the points along the path, shape (size,).
        gaps: distances between consecutive ones, shape (size - 1,).
    Returns:
        A tree whose diameters are lengths of path inside the nodes, and at most 1.
    """
    levels = []
    start, stop = np.array([0]), np.array([len(order)])
    while True:
        inner = stop - start > 1
        start, stop = start[inner], stop[inner]
        if not len(start):
            break
        middle = stop - (stop - start) // 2
        levels.append(np.stack([start, middle, stop], axis=-1).astype(np.int64))
        start = np.stack([start, middle], axis=-1).ravel()
        stop = np.stack([middle, stop], axis=-1).ravel()
    return _tree_of_path(order, gaps, levels)


def padded_tree(order: Integers, gaps: Floats) -> BinaryTree:
    """The complete tree over 2^L >= size leaves, of which the first `size` are the path's points.

    Nodes whose leaves are all padding are left out; a node may have an empty second child, whose
    leaves are all padding. Arguments and diameters as for `midpoint_tree`.
    """
    size, levels = len(order), []
    depth = (size - 1).bit_length()
    for level in range(depth):
        width = 1 << (depth - level)
        start = np.arange(0, size, width, dtype=np.int64)
        nodes = [start, np.minimum(start + width // 2, size), np.minimum(start + width, size)]
        levels.append(np.stack(nodes, axis=-1))
    return _tree_of_path(order, gaps, levels)


def kd_tree(
    shape: Sequence[int], extent: Callable[[int, Integers, Integers], Floats]
) -> BinaryTree:
    """Cuts a box of points in the middle of its widest side, the first part the longer one.

    Among sides of one width the one with most points is cut, then the lowest axis.

    Args:
        shape: points along every axis of the box; the points are numbered in C order.
        extent: called with an axis and arrays of first and last indices along it; the distances
            between these points, 0 only where they are the same. It must grow with the interval.
    """
    low = np.zeros((1, len(shape)), dtype=np.int64)
    high = np.array([shape], dtype=np.int64)  # one past the last
    levels, diameters = [], []
    while True:
        counts = np.prod(high - low, axis=1)
        stop = np.cumsum(counts)
        start, inner = stop - counts, counts > 1
        if not inner.any():
            break
        widths = np.stack(
            [extent(axis, low[inner, axis], high[inner, axis] - 1) for axis in range(len(shape))],
            axis=-1,
        )
        widest = widths.max(axis=1)
        sides = high[inner] - low[inner]
        side = np.where(widths == widest[:, None], sides, 0).argmax(axis=1)
        # Each node becomes its two children, in place; a leaf stays one node.
        copies = 1 + inner
        first = (np.cumsum(copies) - copies)[inner]
        low, high = np.repeat(low, copies, axis=0), np.repeat(high, copies, axis=0)
        cut = high[first, side] - (high[first, side] - low[first, side]) // 2
        high[first, side], low[first + 1, side] = cut, cut
        middle = start[inner] + np.prod(high[first] - low[first], axis=1)
        levels.append(np.stack([start[inner], middle, stop[inner]], axis=-1))
        diameters.append(widest)
    order = np.asarray(np.ravel_multi_index(tuple(low.T), tuple(shape)), dtype=np.int64)
    return BinaryTree(order=order, levels=tuple(levels), diameters=tuple(diameters))


def pole_tree(distances: Floats) -> BinaryTree:
    """Cuts every set of points between its two poles, the farthest pair of the set.

    Either each point goes to the pole that it is nearer to, or the half that is nearest to one
    pole, compared with the other, stays with it. The first follows clusters, the second is as
    shallow as can be, so that few levels share the noise. That tree is returned for which noise
    of the best weights has the lesser proven error, (sum over levels of sqrt(D))^2 for the sum D of
    the diameters of a level; so `strategies/haar.py` has it.

    Args:
        distances: a metric, shape (size, size).
    """
    trees = (_cut_at_poles(distances, in_halves=choice) for choice in (True, False))
    return min(trees, key=lambda tree: sum(float(np.sqrt(d.sum())) for d in tree.diameters))


def _cut_at_poles(distances: Floats, *, in_halves: bool) -> BinaryTree:
    sets = [np.arange(len(distances), dtype=np.int64)]
    levels, diameters = [], []
    while any(len(points) > 1 for points in sets):
        nodes, widest, parts, start = [], [], [], 0
        for points in sets:
            stop = start + len(points)
            if len(points) == 1:
                parts.append(points)
            else:
                within = distances[np.ix_(points, points)]
                pole, opposite = np.unravel_index(within.argmax(), within.shape)
                farther = within[pole] - within[opposite]
                ranked = np.argsort(farther, kind="stable")
                first = len(points) - len(points) // 2 if in_halves else int((farther < 0).sum())
                parts += [points[ranked[:first]], points[ranked[first:]]]
                nodes.append([start, start + first, stop])
                widest.append(within.max())
            start = stop
        sets = parts
        levels.append(np.array(nodes, dtype=np.int64))
        diameters.append(np.array(widest, dtype=np.float64))
    return BinaryTree(order=np.concatenate(sets), levels=tuple(levels), diameters=tuple(diameters))


def _tree_of_path(order: Integers, gaps: Floats, levels: Sequence[Integers]) -> BinaryTree:
    """The tree with these nodes, as wide as the path inside each of them."""
    positions = np.append(0.0, np.cumsum(gaps))
    widths = [positions[nodes[:, 2] - 1] - positions[nodes[:, 0]] for nodes in levels]
    return BinaryTree(
        order=np.asarray(order, dtype=np.int64),
        levels=tuple(levels),
        diameters=tuple(np.minimum(width, 1.0) for width in widths),
    )
