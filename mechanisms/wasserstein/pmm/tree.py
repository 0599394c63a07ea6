"""Arithmetic on a binary tree of counts, kept as one array per level, nodes in order.

Node i of level j has the children 2i and 2i + 1 of level j + 1. `empty[j]` marks the nodes that no
record can lie in, a public fact of the partition. Leading axes of the arrays, where allowed, are a
batch. Proofs are in pmm.md, beside this file.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts, Floats

Masks = Sequence[NDArray[np.bool_]]
Consistency = Literal["uniform", "proportional"]


def consistent_leaves(
    root: int, noisy: Sequence[Counts], empty: Masks, consistency: Consistency
) -> Counts:
    """Nonnegative integer leaf counts that sum to `root`, close to the noisy counts.

    Going down, a node's records are shared between its children after their noisy counts a, b >= 0:
    "uniform" gives each half of what a + b misses or exceeds, "proportional" scales both. Either
    way no child gets more than its count while the other gets less, or the other way round.

    Args:
        root: number of records, >= 0.
        noisy: counts of levels 1, 2, ..., depth; negative ones are taken for 0.
        empty: for the same levels, which nodes must get nothing.
    Returns:
        Shape (leaves,), int64.
    Source: He, Vershynin, Zhu (2023), arXiv:2302.05552, Algorithm 4.
    """
    counts = np.array([root], dtype=np.int64)
    for level, void in zip(noisy, empty, strict=True):
        first, second = np.maximum(level, 0).reshape(-1, 2).T
        if consistency == "uniform":
            share = np.clip((counts + first - second) // 2, 0, counts)
        else:
            both = first + second
            scaled = np.rint(counts * first / np.maximum(both, 1)).astype(np.int64)
            share = np.where(both > 0, scaled, counts // 2)
        share = np.where(void[1::2], counts, share)  # second children alone may be empty
        counts = np.stack([share, counts - share], axis=-1).reshape(-1)
    return counts


def leaves_from_differences(
    levels: Sequence[NDArray[np.number]], *, empty: Masks, within_parent: bool
) -> Floats:
    """Leaf masses from the number of records and the differences between siblings.

    Going down, siblings get half of their parent's mass plus or minus half of their difference.
    Dividing by two is exact in floating point: with depth at most 22, masses are free of rounding
    while they and the noise stay below 2**30.

    Args:
        levels: the number of records, shape (..., 1), then for levels 1, ..., depth the first
            sibling's count less the second's, shapes (..., 2**(level - 1)).
        empty: of levels 0, ..., depth: which nodes hold nothing, whatever the difference says.
        within_parent: whether a sibling gets at least 0 and at most all of a nonnegative mass; else
            the masses are linear in `levels`, and unbiased.
    Returns:
        Shape (..., leaves).
    """
    masses = np.asarray(levels[0], dtype=np.float64)
    for differences, void in zip(levels[1:], empty[1:], strict=True):
        children, first, second = _children(np.broadcast(masses, differences).shape)
        np.add(masses, differences, out=first)
        first /= 2
        if within_parent:
            np.clip(first, 0, masses, out=first)
        np.copyto(first, masses, where=void[1::2])  # second siblings alone may be empty
        np.subtract(masses, first, out=second)
        masses = children
    return masses


class LeastSquares:
    """The best linear unbiased estimate of the leaf counts from noisy counts of all levels.

    Linear in the counts, so applied to pure noise it gives its own error. Two passes: going up, a
    node's own count and the sum of its children's estimates are averaged by inverse variance; going
    down, what a node's estimate differs from its children's sum is shared among them by variance.

    Source: Honaker (2015), Efficient use of differentially private binary trees; Hay, Rastogi,
        Miklau, Suciu (2010), arXiv:0904.0942, Theorem 3, for equal variances.
    """

    def __init__(self, variances: Sequence[float], empty: Masks) -> None:
        """`variances` of one count at levels 0, ..., depth; 0 for a root that is exact."""
        depth = len(variances) - 1
        self._void = empty[depth]
        below = np.where(self._void, 0.0, variances[depth])
        self._shares: list[Floats] = [np.zeros(0)] * depth  # of the first child, going down
        self._own: list[Floats] = [np.zeros(0)] * depth  # weight of the node's count, going up
        for level in reversed(range(depth)):
            first, second = below.reshape(-1, 2).T
            children = first + second
            both = children + variances[level]
            self._shares[level] = _ratio(first, children)
            self._own[level] = _ratio(children, both)
            below = children * (1.0 - self._own[level])

    def __call__(self, levels: Sequence[NDArray[np.number]]) -> Floats:
        """Leaf estimates, shape (..., leaves), from counts of levels 0, ..., depth."""
        depth = len(levels) - 1
        upward: list[Floats] = [np.zeros(0)] * depth
        estimate: Floats = np.where(self._void, 0.0, levels[depth])
        for level in reversed(range(depth)):
            upward[level] = estimate
            children = estimate[..., ::2] + estimate[..., 1::2]
            estimate = np.subtract(levels[level], children, dtype=np.float64)
            estimate *= self._own[level]
            estimate += children
        for level in range(depth):
            first, second = upward[level][..., ::2], upward[level][..., 1::2]
            residual = estimate - first
            residual -= second
            residual *= self._shares[level]
            first += residual
            np.subtract(estimate, first, out=second)
            estimate = upward[level]
        return estimate


def transport_cost(difference: Floats, costs: Sequence[Floats]) -> Floats:
    """Cost of evening out a signed leaf vector by moves as low in the tree as possible.

    At every node whose children have opposite signs, the smaller of the two is moved at the node's
    cost. For a difference of two leaf histograms of equal mass this bounds W1 between any measures
    with these histograms, up to the diameters of the leaves. A norm on vectors of mass zero.

    Args:
        difference: shape (..., leaves); what is left over at the root stays there at no cost.
        costs: of levels 0, ..., depth - 1, shapes (2**level,): `Partition.flow_costs`.
    Returns:
        Shape (...), in units of mass times distance.
    """
    total, sizes = np.zeros(()), np.abs(difference)
    for cost in reversed(costs):
        moved = sizes[..., ::2] + sizes[..., 1::2]
        difference = difference[..., ::2] + difference[..., 1::2]
        sizes = np.abs(difference)
        moved -= sizes  # twice the smaller of two siblings of opposite signs, else 0
        total = total + moved @ cost / 2
    return np.asarray(total, dtype=np.float64)


def _children(shape: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Room for the children of nodes of shape (..., nodes): all in order, first, second ones."""
    children: Floats = np.empty((*shape[:-1], 2 * shape[-1]))
    return children, children[..., ::2], children[..., 1::2]


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 1 where both vanish: an exact count outweighs everything."""
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)
