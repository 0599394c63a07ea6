"""The chosen strategy is the cheapest by tables of measured costs, and the same each time."""

from fractions import Fraction

import pytest

from hallmark.mechanisms.blocks.strategies.choose import best_strategy, expected_noise
from hallmark.mechanisms.blocks.strategies.haar import haar
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.geometry import transport
from tests.mechanisms.blocks.strategies.measured import RELATIONS, REMOVE, REPLACE, charged
from tests.mechanisms.geometry.small_spaces import SPACES, grid

ONE = Fraction(1)


# Measured independently, in records times distance; a tenth allows for both simulations.
@pytest.mark.parametrize(
    ("k", "dimension", "draws", "cells", "tree", "levels"),
    [
        (64, 1, 1000, 6.8, 10.0, 6.9),
        (8, 2, 100, 13.2, 26, None),
        (16, 2, 60, 27.7, 65, None),
        pytest.param(1024, 1, 1000, 27.7, 21.2, 14.3, marks=pytest.mark.slow),
        pytest.param(32, 2, 60, 59.9, 147, None, marks=pytest.mark.slow),
        pytest.param(64, 2, 30, 131, 315, None, marks=pytest.mark.slow),
        pytest.param(8, 3, 60, 67, 201, None, marks=pytest.mark.slow),
    ],
)
def test_noise_costs_what_was_measured(k, dimension, draws, cells, tree, levels) -> None:
    space = grid(k, dimension)
    expected = {
        identity(space.size, epsilon=ONE, adjacency=REPLACE): cells,
        haar(space.tree, epsilon=ONE, adjacency=REPLACE): tree,
    }
    if levels is not None:
        expected[two_level(space, epsilon=ONE, adjacency=REPLACE)] = levels
    for strategy, cost in expected.items():
        found = expected_noise(space, strategy, adjacency=REPLACE, draws=draws)
        assert found == pytest.approx(cost, rel=0.1), strategy.name


@pytest.mark.parametrize(
    ("k", "dimension", "name"),
    [(16, 1, "identity"), (128, 1, "two-level"), (512, 1, "two-level"), (12, 2, "identity")],
)
def test_the_cheapest_is_chosen(k, dimension, name) -> None:
    assert best_strategy(grid(k, dimension), epsilon=ONE, adjacency=REPLACE).name == name


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_the_choice_costs_epsilon_at_most_and_is_made_again(space, adjacency) -> None:
    strategy = best_strategy(space, epsilon=Fraction(7, 5), adjacency=adjacency)
    assert strategy.size == space.size
    again = best_strategy(space, epsilon=Fraction(7, 5), adjacency=adjacency)
    assert again.digest == strategy.digest
    cost = charged(strategy, adjacency)
    assert cost == Fraction(7, 5) or (space.size == 1 and cost == 0)


def test_a_wrong_number_of_records_costs_half_the_diameter_each() -> None:
    """All noise on one point is a wrong number of records, of mean 0.851 at scale 1."""
    point = identity(1, epsilon=ONE, adjacency=REMOVE)
    cost = expected_noise(grid(1, 1), point, adjacency=REMOVE, draws=4000)
    assert cost == pytest.approx(0.851 / 2, rel=0.08)


def test_large_spaces_are_bounded_along_their_tree(monkeypatch) -> None:
    space = grid(8, 2)
    strategy = identity(space.size, epsilon=ONE, adjacency=REPLACE)
    exact = expected_noise(space, strategy, adjacency=REPLACE)
    monkeypatch.setattr(transport, "MOST_FLOW_POINTS", 63)
    bound = expected_noise(space, strategy, adjacency=REPLACE)
    assert exact < bound < 3 * exact
