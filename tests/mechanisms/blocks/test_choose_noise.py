"""The noise of a family: the cheapest that the budget allows, at the same cost for each block."""

from fractions import Fraction
from typing import get_args

import pytest

from hallmark.mechanisms.blocks.choose_noise import NoiseChoice, chosen_strategies, expected_noise
from hallmark.mechanisms.blocks.marginals import marginals, over
from hallmark.mechanisms.blocks.strategies.haar import haar
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry import transport
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import merged
from tests.builders.columns import line, nominal
from tests.mechanisms.blocks.strategies.measured import REMOVE
from tests.mechanisms.geometry.small_spaces import grid

RECORDS = Adjacency(neighbours=Neighbours.REPLACE_ONE)
PRIVATE_TOTAL = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3, person="id")
ONE = Fraction(1)
PURE = Budget(epsilon=Fraction(2, 3))
WITH_DELTA = Budget(epsilon=Fraction(2, 3), delta=Fraction(1, 10**6))
LINES = Domain((line("x", 256), line("y", 256)))
MIXED = Domain((line("x", 64), nominal("c", 5, has_null=True), line("y", 64)))


def events(family, strategies, adjacency):
    pairs = zip(family.blocks, strategies, strict=True)
    queries = [query for block, own in pairs for query in own.queries(block.cells)]
    return merged(query.event(adjacency) for query in queries)


@pytest.mark.parametrize("adjacency", [RECORDS, PRIVATE_TOTAL], ids=str)
@pytest.mark.parametrize(
    "noise", [n for n in get_args(NoiseChoice) if n not in ("gaussian", "paper")]
)
def test_laplace_noise_spends_the_budget_exactly(noise, adjacency) -> None:
    family = marginals(LINES if noise == "two-level" else MIXED, 1, 16)
    strategies, cost = chosen_strategies(noise, family, PURE, adjacency)
    assert pure_epsilon(events(family, strategies, adjacency)) == PURE.epsilon
    assert cost > 0


def test_the_papers_noise_pays_for_a_root_that_is_public() -> None:
    family = marginals(MIXED, 1, 16)
    strategies, _ = chosen_strategies("paper", family, PURE, RECORDS)
    spent = pure_epsilon(events(family, strategies, RECORDS))
    assert spent is not None
    assert 0 < spent <= PURE.epsilon


def test_gaussian_noise_fits_into_a_budget_with_delta_and_no_other() -> None:
    family = marginals(MIXED, 2, 8)
    strategies, _ = chosen_strategies("gaussian", family, WITH_DELTA, RECORDS)
    assert fits(events(family, strategies, RECORDS), WITH_DELTA)
    assert pure_epsilon(events(family, strategies, RECORDS)) is None
    with pytest.raises(ValueError, match=r"mechanism\.noise: gaussian, which needs privacy\.delta"):
        chosen_strategies("gaussian", family, PURE, RECORDS)


def test_two_levels_of_what_is_no_line_are_refused() -> None:
    with pytest.raises(ValueError, match=r"mechanism\.noise: two-level, but x x y is no line"):
        chosen_strategies("two-level", marginals(MIXED, 2, 8), PURE, RECORDS)


@pytest.mark.parametrize(
    ("family", "budget", "names"),
    [
        (marginals(LINES, 1, 256), PURE, ["two-level"] * 2),
        (marginals(LINES, 1, 8), PURE, ["identity"] * 2),
        (marginals(LINES, 2, 12), PURE, ["identity"]),
        (marginals(Domain((line("x", 9),) * 6), 2, 8), WITH_DELTA, ["gaussian"] * 15),
        (over(MIXED, [(0,), (1,), (2,)], 256), PURE, ["identity", "identity", "identity"]),
    ],
    ids=["fine lines", "coarse lines", "a plane", "many planes with delta", "lines and categories"],
)
def test_auto_takes_the_cheapest_noise_for_lines_and_for_what_is_none(
    family, budget, names
) -> None:
    strategies, cost = chosen_strategies("auto", family, budget, RECORDS)
    assert [strategy.name for strategy in strategies] == names
    largest = max(
        expected_noise(block.space, own, adjacency=RECORDS)
        for block, own in zip(family.blocks, strategies, strict=True)
    )
    assert cost == pytest.approx(largest)
    others = ["identity", "haar"] + ["gaussian"] * (not budget.is_pure)
    for noise in others:
        assert cost <= chosen_strategies(noise, family, budget, RECORDS)[1] + 1e-9


def test_the_choice_is_the_same_each_time() -> None:
    family = marginals(MIXED, 2, 8)
    one, other = (chosen_strategies("auto", family, PURE, RECORDS) for _ in range(2))
    assert [own.digest for own in one[0]] == [own.digest for own in other[0]]
    assert one[1] == other[1]


@pytest.mark.parametrize("adjacency", [RECORDS, PRIVATE_TOTAL], ids=str)
def test_gaussian_noise_leaves_room_for_what_else_the_budget_pays_for(adjacency) -> None:
    family, columns = marginals(MIXED, 2, 8), marginals(MIXED, 1, 8)
    part = Budget(epsilon=WITH_DELTA.epsilon / 3, delta=WITH_DELTA.delta)
    own, _ = chosen_strategies("gaussian", columns, part, adjacency)
    beside = events(columns, own, adjacency)
    alone, cheap = chosen_strategies("gaussian", family, WITH_DELTA, adjacency)
    together, dear = chosen_strategies("gaussian", family, WITH_DELTA, adjacency, beside=beside)
    assert fits([*events(family, together, adjacency), *beside], WITH_DELTA)
    assert not fits([*events(family, alone, adjacency), *beside], WITH_DELTA)
    assert cheap < dear < 1.2 * cheap


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
        identity(space.size, epsilon=ONE, adjacency=RECORDS): cells,
        haar(space.tree, epsilon=ONE, adjacency=RECORDS): tree,
    }
    if levels is not None:
        expected[two_level(space, epsilon=ONE, adjacency=RECORDS)] = levels
    for strategy, cost in expected.items():
        found = expected_noise(space, strategy, adjacency=RECORDS, draws=draws)
        assert found == pytest.approx(cost, rel=0.1), strategy.name


def test_a_wrong_number_of_records_costs_half_the_diameter_each() -> None:
    """All noise on one point is a wrong number of records, of mean 0.851 at scale 1."""
    point = identity(1, epsilon=ONE, adjacency=REMOVE)
    cost = expected_noise(grid(1, 1), point, adjacency=REMOVE, draws=4000)
    assert cost == pytest.approx(0.851 / 2, rel=0.08)


def test_large_spaces_are_bounded_along_their_tree(monkeypatch) -> None:
    space = grid(8, 2)
    strategy = identity(space.size, epsilon=ONE, adjacency=RECORDS)
    exact = expected_noise(space, strategy, adjacency=RECORDS)
    monkeypatch.setattr(transport, "MOST_FLOW_POINTS", 63)
    bound = expected_noise(space, strategy, adjacency=RECORDS)
    assert exact < bound < 3 * exact
