"""Short paths through all points of a finite metric space, for noise along a line.

Folding a space onto a path is 1-Lipschitz: transport along the path costs at least as much as
transport in the space. So the shorter the path, the smaller the noise.

Claim.   `short_path` is at most twice as long as a minimum spanning tree, hence as any path through
         all points. `hilbert` takes steps of one cell, and so does `snake`.
Source.  Rosenkrantz, Stearns, Lewis (1977), SIAM J. Comput. 6, for the preorder of the tree;
         Skilling (2004), AIP Conf. Proc. 707, for Hilbert's curve in any dimension.
Proof.   A closed walk along the tree passes every edge twice, and cutting short to the preorder is
         no detour by the triangle inequality; taking the better of two paths keeps the bound.
Oracle.  tests/mechanisms/geometry/test_paths.py: all paths through few points, all steps on grids.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.compiled import compiled

Order = NDArray[np.int64]


def short_path(distances: Floats) -> Order:
    """A short path through all points, shape (size,), of a metric of shape (size, size).

    The better of two closed tours, one from nearest to nearest, one the preorder of a minimum
    spanning tree; of each the longest edge is dropped and then pieces of the path are turned round
    while that shortens it.
    """
    matrix = np.ascontiguousarray(distances, dtype=np.float64)
    tours = (_nearest_neighbours(matrix), _preorder(matrix))
    paths = (_turn_pieces(matrix, _opened(matrix, tour)) for tour in tours)
    return min(paths, key=lambda path: path_length(matrix, path))


def path_length(distances: Floats, order: Order) -> float:
    """Sum of the distances between consecutive points of a path."""
    return float(distances[order[:-1], order[1:]].sum())


def snake(shape: Sequence[int]) -> Order:
    """Boustrophedon through a box: C-order indices whose steps change one axis by one."""
    order = np.zeros(1, dtype=np.int64)
    for side in reversed(shape):
        rows = np.tile(order, (side, 1))
        rows[1::2] = rows[1::2, ::-1]
        order = (rows + len(order) * np.arange(side)[:, None]).ravel()
    return order


def hilbert(k: int, dimension: int) -> Order:
    """Hilbert's curve through the k^dimension grid: C-order indices along it.

    Raises:
        ValueError: k is not a power of two.
    """
    if k < 1 or k & (k - 1):
        raise ValueError(f"Hilbert's curve needs a power of two of cells a side, not k = {k}")
    bits = k.bit_length() - 1
    steps = np.arange(k**dimension, dtype=np.int64)
    # Deal the step's bits out to the axes, the highest to the first axis.
    axes = np.zeros((dimension, len(steps)), dtype=np.int64)
    for bit in range(bits * dimension):
        axes[dimension - 1 - bit % dimension] |= ((steps >> bit) & 1) << (bit // dimension)
    # Gray code: neighbouring steps differ in one bit.
    carried = axes[-1] >> 1
    axes[1:] ^= axes[:-1].copy()
    axes[0] ^= carried
    # Undo the reflections and swaps of the sub-cubes, the smallest first.
    for bit in range(1, bits):
        low = (1 << bit) - 1
        for axis in reversed(range(dimension)):
            reflected = (axes[axis] >> bit) & 1 == 1
            swapped = np.where(reflected, 0, (axes[0] ^ axes[axis]) & low)
            axes[0] ^= np.where(reflected, low, swapped)
            axes[axis] ^= swapped
    return np.asarray(np.ravel_multi_index(tuple(axes), (k,) * dimension), dtype=np.int64)


def _opened(distances: Floats, tour: Order) -> Order:
    """The closed tour without its longest edge."""
    longest = int(distances[tour, np.roll(tour, -1)].argmax())
    return np.roll(tour, -longest - 1)


def _preorder(distances: Floats) -> Order:
    """Preorder of a minimum spanning tree."""
    # One more on every edge leaves the tree the same, and no edge is taken for a missing one.
    tree = minimum_spanning_tree(distances + 1.0)
    order = depth_first_order(tree, 0, directed=False, return_predecessors=False)
    return np.asarray(order, dtype=np.int64)


@compiled()
def _nearest_neighbours(distances: Floats) -> Order:
    """The tour that goes on to the nearest point not yet seen, from point 0."""
    size = len(distances)
    tour = np.zeros(size, dtype=np.int64)
    seen = np.zeros(size, dtype=np.bool_)
    seen[0] = True
    for step in range(1, size):
        here, nearest = tour[step - 1], -1
        for point in range(size):
            if not seen[point] and (
                nearest < 0 or distances[here, point] < distances[here, nearest]
            ):
                nearest = point
        tour[step] = nearest
        seen[nearest] = True
    return tour


@compiled()
def _turn_pieces(distances: Floats, path: Order) -> Order:
    """The path with pieces turned round (2-opt) until no turn makes it shorter."""
    size = len(path)
    path = path.copy()
    smallest_gain = 1e-12 * distances.max()  # less is rounding, on which it could turn for ever
    improved = True
    while improved:
        improved = False
        for i in range(size):
            for j in range(i + 1, size):
                gain = 0.0
                if i > 0:
                    gain += distances[path[i - 1], path[i]] - distances[path[i - 1], path[j]]
                if j + 1 < size:
                    gain += distances[path[j], path[j + 1]] - distances[path[i], path[j + 1]]
                if gain > smallest_gain:
                    path[i : j + 1] = path[i : j + 1][::-1].copy()
                    improved = True
    return path
