"""Noise on trees: reconstruction against a slow recursion, budgets on uneven trees, and weights."""

from fractions import Fraction
from math import ceil, log2

import numpy as np
import pytest

from hallmark.mechanisms.blocks.strategies.haar import Haar, haar, paper_haar, superregular
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.geometry.transport import transport
from hallmark.mechanisms.geometry.trees import midpoint_tree
from hallmark.mechanisms.privacy.queries import LaplaceNoise
from tests.mechanisms.blocks.strategies.measured import (
    ALL,
    EPSILON,
    RELATIONS,
    REMOVE,
    REPLACE,
    box,
    charged,
    covariance,
    largest_loss,
    variance,
)
from tests.mechanisms.geometry.small_spaces import grid, places

ONE = Fraction(1)


def slow_estimate(strategy: Haar, answers: list, total: int) -> list[Fraction]:
    """Top down, node by node, in exact arithmetic."""
    if strategy.root_scale is not None:
        total, answers = int(answers[0][0]), answers[1:]
    leaves = [Fraction(total)] * strategy.size
    for nodes, differences in zip(strategy.tree.levels, answers, strict=True):
        for (start, middle, stop), difference in zip(nodes, differences, strict=True):
            parent = leaves[start]
            leaves[start:middle] = [(parent + int(difference)) / 2] * (middle - start)
            leaves[middle:stop] = [(parent - int(difference)) / 2] * (stop - middle)
    estimate = [Fraction(0)] * strategy.size
    for leaf, point in enumerate(strategy.tree.order):
        estimate[point] = leaves[leaf]
    return estimate


@pytest.mark.parametrize(
    "strategy",
    [
        box((5, 5), "diameter", REPLACE),
        box((3, 4, 2), "uniform", REMOVE),
        box((1, 1), "uniform", REMOVE),
        haar(places(13).tree, epsilon=ONE, adjacency=REPLACE),
        superregular(places(13), epsilon=ONE, adjacency=REPLACE),
        paper_haar(grid(5, 2), epsilon=ONE, adjacency=REPLACE),
        superregular(places(11), epsilon=ONE, adjacency=REMOVE, mode="paper"),
    ],
    ids=lambda strategy: f"{strategy.name}-{strategy.size}",
)
def test_the_estimate_is_the_recursion_to_the_last_bit(strategy) -> None:
    rng = np.random.default_rng(0)
    answers = [rng.integers(-1000, 1000, entries) for _, entries in strategy.noise]
    estimate = strategy.estimate(answers, 195_665)
    assert [Fraction(x) for x in estimate] == slow_estimate(strategy, answers, 195_665)


@pytest.mark.parametrize(
    ("shape", "share"),
    [
        ((4, 4), ONE),
        ((2, 2, 2, 2), ONE),
        ((7, 1), ONE),
        ((5, 5), Fraction(11, 12)),
        ((3, 3, 3), Fraction(11, 12)),
    ],
    ids=str,
)
def test_on_uneven_trees_the_worst_neighbours_lose_a_little_less(shape, share) -> None:
    strategy = box(shape, "uniform", REPLACE)
    assert charged(strategy, REPLACE) == EPSILON
    assert largest_loss(strategy, REPLACE) == EPSILON * share


def test_a_public_total_is_not_asked_for() -> None:
    tree = grid(4, 2).tree
    assert haar(tree, epsilon=ONE, adjacency=REPLACE).root_scale is None
    for adjacency in RELATIONS:
        if not adjacency.total_is_public:
            assert haar(tree, epsilon=ONE, adjacency=adjacency).root_scale is not None


def test_scales_are_inverse_to_the_roots_of_the_levels_diameters() -> None:
    tree = grid(8, 2).tree
    scales = [float(b) for b in haar(tree, epsilon=ONE, adjacency=REPLACE).scales]
    weights = np.sqrt([diameters.sum() for diameters in tree.diameters])
    assert scales == pytest.approx(2 * weights.sum() / weights, rel=0.01)
    uniform = haar(tree, epsilon=ONE, adjacency=REPLACE, weighting="uniform").scales
    assert uniform == (2 * tree.depth,) * tree.depth


def test_no_other_scales_of_the_same_cost_have_a_lower_bound_on_the_error() -> None:
    tree = grid(8, 2).tree
    spreads = np.array([diameters.sum() for diameters in tree.diameters])
    best = np.array([float(b) for b in haar(tree, epsilon=ONE, adjacency=REPLACE).scales])
    rng = np.random.default_rng(0)
    for _ in range(200):
        costs = (2 / best) * rng.uniform(0.5, 2, len(best))
        other = 2 * costs.sum() / costs  # costs 1 in all, as the best do
        assert other @ spreads >= best @ spreads * (1 - 1e-4)


def test_the_cost_of_the_noise_is_below_the_proven_bound() -> None:
    space = grid(8, 2)
    strategy = haar(space.tree, epsilon=ONE, adjacency=REPLACE)
    errors = strategy.simulate(50, np.random.default_rng(0), total_is_public=True)
    spreads = [float(diameters.sum()) for diameters in space.tree.diameters]
    bound = sum(float(b) * D for b, D in zip(strategy.scales, spreads, strict=True)) / 2
    assert bound == pytest.approx(np.sqrt(spreads).sum() ** 2, rel=1e-3)
    assert transport(space, errors).mean() < bound


@pytest.mark.parametrize("size", [8, 13])
def test_the_three_scales_of_the_walk_are_as_published_and_as_needed(size) -> None:
    """On hats: 4L + 2, L + 1 and L times 1 / epsilon where a record is replaced."""
    space, depth = grid(size, 1), ceil(log2(size))
    ours, walk, sparse = (
        make(space, epsilon=EPSILON, adjacency=REPLACE)
        for make in (
            superregular,
            lambda *args, **given: superregular(*args, **given, mode="paper"),
            paper_haar,
        )
    )
    hats = [{b * EPSILON / 2 for b in strategy.scales} for strategy in (ours, walk, sparse)]
    assert hats == [{depth}, {4 * depth + 2}, {depth + 1}]
    assert ours.root_scale is None
    assert walk.root_scale == (4 * depth + 2) / EPSILON  # a hat of height 1, not a difference
    assert sparse.root_scale == 2 * (depth + 1) / EPSILON


def test_partial_sums_grow_as_the_square_of_the_hats() -> None:
    """Var(Z_1 + ... + Z_j) = sum_i var_i hat_i(j)^2, for noise of var_i on hats of height 1."""
    strategy = superregular(grid(16, 1), epsilon=ONE, adjacency=REPLACE)
    along = np.arange(17) / 16
    hats = [1 - np.abs(2 * (along * 2**level % 1) - 1) for level in range(4)]
    each = [variance(LaplaceNoise(b)) / 4 for b in strategy.scales]
    expected = sum(v * hat**2 for v, hat in zip(each, hats, strict=True))
    sums = np.tri(16) @ covariance(strategy, total_is_public=True) @ np.tri(16).T
    assert np.diag(sums) == pytest.approx(expected[1:], abs=1e-9)


def test_mass_leaks_to_the_padding_only_as_the_paper_has_it() -> None:
    answers_rng = np.random.default_rng(0)
    for make, leaks in (("paper", True), ("superregular-paper", True), ("superregular", False)):
        strategy = ALL[make](5, REPLACE)
        answers = [answers_rng.integers(-50, 50, entries) for _, entries in strategy.noise]
        assert (abs(strategy.estimate(answers, 30).sum() - 30) > 1e-9) == leaks


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
def test_a_tree_of_one_point_asks_for_the_total_at_most(adjacency) -> None:
    strategy = haar(
        midpoint_tree(np.array([0]), np.array([])), epsilon=EPSILON, adjacency=adjacency
    )
    assert len(strategy.noise) == (0 if adjacency is REPLACE else 1)
    assert charged(strategy, adjacency) == (0 if adjacency is REPLACE else EPSILON)


def paper_cost(k: int, dimension: int, draws: int) -> float:
    """Of the published noise, its surplus settled at the end of the path."""
    space = grid(k, dimension)
    strategy = paper_haar(space, epsilon=ONE, adjacency=REPLACE)
    errors = strategy.simulate(draws, np.random.default_rng(0), total_is_public=True)
    errors[:, space.order[-1]] -= errors.sum(axis=-1)
    return float(transport(space, errors).mean())


def snake_cost(k: int, dimension: int, draws: int) -> float:
    """Of the same noise without a root and without padding."""
    space = grid(k, dimension)
    strategy = superregular(space, epsilon=ONE, adjacency=REPLACE)
    errors = strategy.simulate(draws, np.random.default_rng(0), total_is_public=True)
    return float(transport(space, errors).mean())


# Measured independently, in records times distance; a tenth allows for both simulations.
@pytest.mark.parametrize(
    ("k", "dimension", "draws", "paper", "snake"),
    [
        (64, 1, 1000, 14.0, 9.5),
        (8, 2, 100, 44, 35),
        (16, 2, 60, 108, 94),
        pytest.param(1024, 1, 1000, 27.0, 20.5, marks=pytest.mark.slow),
        pytest.param(32, 2, 60, 266, 237, marks=pytest.mark.slow),
        pytest.param(64, 2, 30, 594, 555, marks=pytest.mark.slow),
        pytest.param(8, 3, 60, 396, 350, marks=pytest.mark.slow),
    ],
)
def test_noise_along_the_snake_costs_what_was_measured(k, dimension, draws, paper, snake) -> None:
    assert paper_cost(k, dimension, draws) == pytest.approx(paper, rel=0.1)
    assert snake_cost(k, dimension, draws) == pytest.approx(snake, rel=0.1)


def test_along_a_line_the_walk_costs_less_than_its_closed_form() -> None:
    for size in (16, 256):
        space = grid(size, 1)
        strategy = superregular(space, epsilon=ONE, adjacency=REPLACE)
        errors = strategy.simulate(2000, np.random.default_rng(0), total_is_public=True)
        bound = np.sqrt(2 / 3) * log2(size) ** 1.5
        assert 0.5 * bound < path_loss(space, errors).mean() < bound
