"""Noise on the differences between siblings of a binary tree (generalised Haar coefficients).

One number a node: records in its first child less those in its second. Going down from the number
of records, child = (parent ± difference) / 2 gives all sums back, and the leaves the histogram.

Claim.   `haar`, and `superregular` in "tight" mode, cost exactly `epsilon`; the papers' modes cost
         no more than that.
Proof.   A level's differences move by at most c = `adjacency.l1` in L1 norm
         (`transforms.TreeDifferences`), and the number of records by at most c_0 =
         `adjacency.records` (`transforms.Total`), so scale b costs c / b or c_0 / b, and the
         levels' costs sum to the budget as rationals. The number is not asked where it is public.
Scales.  Noise y on a node moves |y| / 2 of mass over at most the node's diameter, so W1 is at most
         sum_l b_l D_l / 2 on average, D_l the sum of a level's diameters; a noisy total of scale
         b_0 adds b_0 / 2. Least under sum_l c / b_l = epsilon for costs proportional to
         sqrt(c D_l), and sqrt(c_0) for the number of records.
Source.  Boedihardjo, Strohmer, Vershynin (2024), Private measures, random walks, and synthetic
         data, Theorem 3.1; "Certified private data release for sparse Lipschitz functions"
         (AISTATS 2024), Section 3. Both spread over 2^L leaves, as `padded_tree` does; a tree on
         just the points loses no mass to the padding.
Oracle.  tests/mechanisms/blocks/strategies/test_haar.py enumerates all neighbours of tiny tables.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.strategies.strategy import shares, simulate_errors
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.trees import BinaryTree, midpoint_tree, padded_tree
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.transforms import Total, TreeDifferences

Weighting = Literal["uniform", "diameter"]
Mode = Literal["tight", "paper"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Haar:
    """Sibling differences of every level of a tree, each level with its own noise.

    Attributes:
        name: as a spec may give it.
        tree: over the points.
        scales: Laplace scale of every level's differences, records.
        root_scale: of the number of records; None where it is public and not asked.
    """

    name: str
    tree: BinaryTree
    scales: tuple[Fraction, ...]
    root_scale: Fraction | None

    @property
    def size(self) -> int:
        """Number of points."""
        return self.tree.size

    @property
    def noise(self) -> tuple[tuple[Noise, int], ...]:
        root = () if self.root_scale is None else ((LaplaceNoise(self.root_scale), 1),)
        levels = zip(self.scales, self.tree.levels, strict=True)
        return (*root, *((LaplaceNoise(scale), len(nodes)) for scale, nodes in levels))

    def queries(self, cells: CellMap) -> tuple[HistogramQuery, ...]:
        root = () if self.root_scale is None else (Total(),)
        levels = (TreeDifferences(self.tree.order, nodes) for nodes in self.tree.levels)
        return tuple(
            HistogramQuery(cells, noise, transform)
            for (noise, _), transform in zip(self.noise, (*root, *levels), strict=True)
        )

    def estimate(self, answers: Sequence[NDArray[np.number]], total: int | None) -> Floats:
        """See `Strategy.estimate`; an answer for the root is used even if n is public."""
        if self.root_scale is None:
            assert total is not None, "the number of records is either public or asked for"
            root = np.full((*answers[0].shape[:-1], 1) if answers else (1,), float(total))
        else:
            root, answers = np.asarray(answers[0], dtype=np.float64), answers[1:]
        # For every leaf, the estimate of the node above it that was reached last.
        values = np.repeat(root, self.size, axis=-1)
        for nodes, differences in zip(self.tree.levels, answers, strict=True):
            start, middle, stop = nodes.T
            lengths = np.stack([middle - start, stop - middle], axis=-1).ravel()
            signed = np.stack([differences, -differences], axis=-1)
            signed = np.repeat(signed.reshape(*differences.shape[:-1], -1), lengths, axis=-1)
            inside = _inside(start, stop, self.size)
            if inside.all():
                values = (values + signed) / 2
            else:
                values[..., inside] = (values[..., inside] + signed) / 2
        leaves = np.empty_like(values)
        leaves[..., self.tree.order] = values
        return leaves

    def simulate(self, draws: int, rng: np.random.Generator, *, total_is_public: bool) -> Floats:
        return simulate_errors(self, draws, rng, total_is_public=total_is_public)

    @property
    def digest(self) -> str:
        scales = [str(scale) for scale in (self.root_scale, *self.scales)]
        return hashlib.sha256(f"haar {scales} {self.tree.digest}".encode()).hexdigest()


def haar(
    tree: BinaryTree,
    *,
    epsilon: Fraction,
    adjacency: Adjacency,
    weighting: Weighting = "diameter",
) -> Haar:
    """Costs exactly `epsilon`, shared evenly among the levels or by what their noise does."""
    root = [] if adjacency.total_is_public else [Total().l1(adjacency) / adjacency.l1]
    spreads = [float(diameters.sum()) for diameters in tree.diameters]
    weights = np.sqrt([*root, *spreads]) if weighting == "diameter" else [1.0] * _levels(root, tree)
    return _haar(f"haar-{weighting}", tree, list(weights), epsilon, adjacency)


def superregular(
    space: FiniteSpace, *, epsilon: Fraction, adjacency: Adjacency, mode: Mode = "tight"
) -> Haar:
    """Noise along the space's path whose partial sums grow as slowly as any noise's can.

    "tight" shares `epsilon` evenly among the levels of a tree on just the points. "paper" has the
    constants of the source: hat coefficients, halves of sibling differences, and the number of
    records get scale c (2L + 1) / epsilon, on 2^L leaves, although L / epsilon would do.
    """
    if mode == "tight":
        tree = midpoint_tree(space.order, space.gaps)
        root = [] if adjacency.total_is_public else [1.0]
        return _haar("superregular", tree, [1.0] * _levels(root, tree), epsilon, adjacency)
    tree = padded_tree(space.order, space.gaps)
    hat = adjacency.l1 * (2 * tree.depth + 1) / epsilon
    return Haar(
        name="superregular-paper", tree=tree, scales=(2 * hat,) * tree.depth, root_scale=hat
    )


def paper_haar(space: FiniteSpace, *, epsilon: Fraction, adjacency: Adjacency) -> Haar:
    """The noise of the sparse-Lipschitz paper as printed: padded, and with a noisy root.

    The estimate does not sum to the number of records, as mass leaks to the padding.
    """
    tree = padded_tree(space.order, space.gaps)
    scale = adjacency.l1 * (tree.depth + 1) / epsilon
    return Haar(name="paper", tree=tree, scales=(scale,) * tree.depth, root_scale=scale)


def _haar(
    name: str, tree: BinaryTree, weights: list[float], epsilon: Fraction, adjacency: Adjacency
) -> Haar:
    if not weights:  # a single point, which a public total says everything about
        return Haar(name=name, tree=tree, scales=(), root_scale=None)
    costs = shares(weights, epsilon)
    root = None
    if not adjacency.total_is_public:
        root, costs = Total().l1(adjacency) / costs[0], costs[1:]
    scales = tuple(adjacency.l1 / cost for cost in costs)
    return Haar(name=name, tree=tree, scales=scales, root_scale=root)


def _levels(root: list[float], tree: BinaryTree) -> int:
    return len(root) + tree.depth


def _inside(start: NDArray[np.int64], stop: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which leaves lie in one of the nodes, shape (size,)."""
    steps = np.zeros(size + 1, dtype=np.int64)
    steps[start] += 1
    np.subtract.at(steps, stop, 1)
    return np.cumsum(steps[:-1]) > 0
