"""Strategies on small spaces, what they lose between neighbours, and their linear maps."""

from fractions import Fraction
from math import exp

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.blocks.strategies.haar import haar, paper_haar, superregular
from hallmark.mechanisms.blocks.strategies.identity import Identity, identity
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.geometry.trees import kd_tree
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from tests.mechanisms.geometry.small_spaces import grid
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

EPSILON = Fraction(7, 5)
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
REMOVE = Adjacency(neighbours=Neighbours.ADD_REMOVE)
RELATIONS = [
    *(Adjacency(neighbours=relation, records=m) for relation in Neighbours for m in (1, 2, 3)),
    Adjacency(neighbours=Neighbours.REPLACE_ONE, person="household"),
]
# All that spend exactly what they are given; from cells of a line, epsilon and adjacency.
EXACT = {
    "identity": lambda m, a: identity(m, epsilon=EPSILON, adjacency=a),
    "haar-uniform": lambda m, a: haar(
        grid(m, 1).tree, epsilon=EPSILON, adjacency=a, weighting="uniform"
    ),
    "haar-diameter": lambda m, a: haar(grid(m, 1).tree, epsilon=EPSILON, adjacency=a),
    "superregular": lambda m, a: superregular(grid(m, 1), epsilon=EPSILON, adjacency=a),
    "two-level": lambda m, a: two_level(grid(m, 1), epsilon=EPSILON, adjacency=a),
}
PAPER = {
    "superregular-paper": lambda m, a: superregular(
        grid(m, 1), epsilon=EPSILON, adjacency=a, mode="paper"
    ),
    "paper": lambda m, a: paper_haar(grid(m, 1), epsilon=EPSILON, adjacency=a),
}
GAUSSIAN = {"gaussian": lambda m, a: Identity(size=m, cell_noise=GaussianNoise(Fraction(9, 2)))}
ALL = EXACT | PAPER | GAUSSIAN


def box(shape: tuple[int, ...], weighting: str, adjacency: Adjacency) -> Strategy:
    """Noise on the kd-tree of a box in a grid."""
    tree = kd_tree(shape, lambda axis, low, high: (high - low) / max(shape))
    return haar(tree, epsilon=EPSILON, adjacency=adjacency, weighting=weighting)


def cells(size: int) -> CellMap:
    return marginal((0,), (size,))


def charged(strategy: Strategy, adjacency: Adjacency) -> Fraction:
    """What the events of all queries cost together."""
    events = [query.event(adjacency) for query in strategy.queries(cells(strategy.size))]
    return sum((Fraction(event.l1 * event.times) / event.scale for event in events), Fraction(0))


def largest_loss(strategy: Strategy, adjacency: Adjacency) -> Fraction:
    """The privacy loss of all queries together, between the worst of all neighbours."""
    queries, known = strategy.queries(cells(strategy.size)), dict[bytes, list[Counts]]()

    def answers(codes: np.ndarray) -> list[Counts]:
        if codes.tobytes() not in known:
            (counts,) = count_codes(codes, [cells(strategy.size)])
            known[codes.tobytes()] = [query.transform(counts) for query in queries]
        return known[codes.tobytes()]

    moves = {
        tuple(int(np.abs(a - b).sum()) for a, b in zip(answers(one), answers(other), strict=True))
        for one, other in neighbours((strategy.size,), adjacency)
    }
    scales = [query.noise.scale for query in queries]
    return max(
        sum((move / scale for move, scale in zip(own, scales, strict=True)), Fraction(0))
        for own in moves
    )


def response(strategy: Strategy, *, total_is_public: bool) -> Floats:
    """The matrix that takes all noise to the error of the estimate, shape (size, entries)."""
    entries = [entries for _, entries in strategy.noise]
    columns = np.split(np.eye(sum(entries)), np.cumsum(entries)[:-1], axis=1)
    return strategy.estimate(columns, 0 if total_is_public else None).T


def covariance(strategy: Strategy, *, total_is_public: bool) -> Floats:
    """Of the error, from the variances of the noise."""
    matrix = response(strategy, total_is_public=total_is_public)
    variances = [np.full(entries, variance(noise)) for noise, entries in strategy.noise]
    return matrix * np.concatenate(variances) @ matrix.T


def variance(noise: LaplaceNoise | GaussianNoise) -> float:
    match noise:
        case LaplaceNoise(scale):
            ratio = exp(-1 / float(scale))
            return 2 * ratio / (1 - ratio) ** 2
        case GaussianNoise(sigma2):
            support = np.arange(-100, 101)
            weights = np.exp(-(support**2) / (2 * float(sigma2)))
            return float(support**2 @ weights / weights.sum())
