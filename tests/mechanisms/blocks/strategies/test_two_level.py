"""Two levels of noise: least squares as an oracle, the blocks, and the cost on a line."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.blocks.strategies.two_level import TwoLevel, two_level
from tests.mechanisms.blocks.strategies.measured import REMOVE, REPLACE, charged, largest_loss
from tests.mechanisms.geometry.small_spaces import grid, places

LABELS = np.array([0, 2, 2, 1, 2, 0])
UNEVEN = TwoLevel(labels=LABELS, block_scale=Fraction(9), cell_scale=Fraction(5, 2))


def least_squares(strategy: TwoLevel, answers: list, total: int | None) -> np.ndarray:
    """Minimises squared residuals over squared scales, the total held to where it is known."""
    membership = np.eye(strategy.blocks)[strategy.labels].T
    scales = [float(noise.scale) for noise, _ in strategy.noise]
    design = np.vstack([membership / scales[0], np.eye(strategy.size) / scales[1]])
    target = np.concatenate([answers[0] / scales[0], answers[1] / scales[1]])
    normal, right = design.T @ design, design.T @ target
    if total is None:
        return np.linalg.solve(normal, right)
    ones = np.ones((strategy.size, 1))
    bordered = np.block([[normal, ones], [ones.T, np.zeros((1, 1))]])
    return np.linalg.solve(bordered, [*right, total])[:-1]


@pytest.mark.parametrize("total", [None, 20])
@pytest.mark.parametrize(
    "strategy", [UNEVEN, two_level(grid(10, 1), epsilon=Fraction(1), adjacency=REPLACE)]
)
def test_the_estimate_is_that_of_least_squares(strategy, total) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        answers = [rng.integers(-30, 30, entries) for _, entries in strategy.noise]
        expected = least_squares(strategy, answers, total)
        assert strategy.estimate(answers, total) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
def test_any_blocks_and_scales_cost_what_their_levels_cost_together(adjacency) -> None:
    expected = adjacency.l1 * (1 / UNEVEN.block_scale + 1 / UNEVEN.cell_scale)
    assert charged(UNEVEN, adjacency) == expected
    assert largest_loss(UNEVEN, adjacency) == expected


@pytest.mark.parametrize("size", [1, 2, 3, 4, 10, 16, 30])
def test_blocks_are_stretches_of_the_path_as_many_as_each_has_points(size) -> None:
    space = places(size) if size > 1 else grid(1, 1)
    strategy = two_level(space, epsilon=Fraction(1), adjacency=REPLACE)
    along = strategy.labels[space.order]
    assert (np.diff(along) >= 0).all()
    lengths = np.bincount(along)
    assert strategy.blocks == len(lengths) == int(np.sqrt(size))
    assert lengths.max() - lengths.min() <= 1
    assert lengths.min() >= 1


def test_far_transport_of_the_noise_is_that_of_the_blocks() -> None:
    """The first half of 256 cells is known about as well as its 8 blocks, not as 128 cells."""
    space = grid(256, 1)
    strategy = two_level(space, epsilon=Fraction(1), adjacency=REMOVE)
    errors = strategy.simulate(4000, np.random.default_rng(0), total_is_public=False)
    half = errors[:, :128].sum(axis=1).var()
    # Sixteen cells weigh as much as a block does by its own answer with 1 / 17.
    assert half == pytest.approx(8 * 2 * 4 * 16 / 17, rel=0.15)
