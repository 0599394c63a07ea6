"""What all strategies promise: their cost, unbiased linear estimates, and the law of the error."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.blocks.strategies.haar import haar, superregular
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.blocks.strategies.strategy import shares
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.privacy.cells import count_codes
from tests.mechanisms.blocks.strategies.measured import (
    ALL,
    EPSILON,
    EXACT,
    PAPER,
    RELATIONS,
    REMOVE,
    REPLACE,
    cells,
    charged,
    covariance,
    largest_loss,
)
from tests.mechanisms.geometry.small_spaces import SPACES

DRAWS = 40_000
# Error of an entry of the empirical covariance, in standard deviations of its two errors, that one
# of 256 entries exceeds with probability 1e-6: 6 sigma. Fourth moments are at most 6 sigma^4, that
# of Laplace noise.
COVARIANCE_ERROR = 6 * np.sqrt(6 / DRAWS)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("name", EXACT)
def test_the_events_cost_exactly_what_was_given_and_no_neighbours_lose_more(
    name, size, adjacency
) -> None:
    strategy = EXACT[name](size, adjacency)
    assert charged(strategy, adjacency) == EPSILON
    assert largest_loss(strategy, adjacency) <= EPSILON


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_on_any_space_the_events_cost_exactly_what_was_given(space, adjacency) -> None:
    given = {"epsilon": EPSILON, "adjacency": adjacency}
    for strategy in (
        identity(space.size, **given),
        haar(space.tree, **given),
        superregular(space, **given),
        two_level(space, **given),
    ):
        assert strategy.size == space.size
        asked_nothing = space.size == 1 and not strategy.noise
        assert charged(strategy, adjacency) == (0 if asked_nothing else EPSILON)


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_the_worst_neighbours_of_full_trees_lose_all_of_it(name, adjacency, size) -> None:
    assert largest_loss(EXACT[name](size, adjacency), adjacency) == EPSILON


@pytest.mark.parametrize("size", [2, 4, 5, 8])
@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE, RELATIONS[-1]], ids=str)
@pytest.mark.parametrize("name", PAPER)
def test_the_papers_noise_costs_no_more_than_what_was_given(name, adjacency, size) -> None:
    strategy = PAPER[name](size, adjacency)
    assert largest_loss(strategy, adjacency) <= charged(strategy, adjacency) <= EPSILON


@pytest.mark.parametrize("name", EXACT)
def test_noise_for_adding_a_record_loses_twice_as_much_where_one_is_replaced(name) -> None:
    """The enumeration tells them apart: PSMM and PMM as published make this mistake."""
    mistaken = EXACT[name](4, REMOVE)
    at_root = Fraction(0) if len(mistaken.noise) < 3 else 1 / mistaken.noise[0][0].scale
    assert largest_loss(mistaken, REPLACE) == 2 * (EPSILON - at_root)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ALL)
def test_exact_answers_give_the_histogram_back(name, size, adjacency) -> None:
    strategy = ALL[name](size, adjacency)
    codes = np.random.default_rng(size).integers(0, size, (30, 1))
    (counts,) = count_codes(codes, [cells(size)])
    queries = strategy.queries(cells(size))
    answers = [query.transform(counts) for query in queries]
    assert [len(answer) for answer in answers] == [entries for _, entries in strategy.noise]
    assert [query.noise for query in queries] == [noise for noise, _ in strategy.noise]
    total = 30 if adjacency.total_is_public else None
    assert strategy.estimate(answers, total) == pytest.approx(counts, abs=1e-12)


@pytest.mark.parametrize("name", sorted(set(ALL) - set(PAPER)))
def test_estimates_sum_to_a_public_total(name) -> None:
    strategy, rng = ALL[name](6, REPLACE), np.random.default_rng(0)
    answers = [rng.integers(-9, 9, (4, entries)) for _, entries in strategy.noise]
    assert strategy.estimate(answers, 30).sum(axis=1) == pytest.approx(np.full(4, 30))


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("name", ALL)
def test_simulated_errors_have_the_covariance_of_the_noise_put_through_the_estimate(
    name, adjacency
) -> None:
    strategy, public = ALL[name](16, adjacency), adjacency.total_is_public
    errors = strategy.simulate(DRAWS, np.random.default_rng(1), total_is_public=public)
    assert errors.shape == (DRAWS, 16)
    expected = covariance(strategy, total_is_public=public)
    deviations = np.sqrt(np.diag(expected))
    found = errors.T @ errors / DRAWS

    def mistake(of: np.ndarray) -> float:
        return float((np.abs(of - expected) / np.outer(deviations, deviations)).max())

    assert mistake(found) < COVARIANCE_ERROR
    assert mistake(found * 0.9**2) > COVARIANCE_ERROR  # noise that is a tenth too small is caught


@pytest.mark.parametrize("name", ALL)
def test_simulations_follow_the_generator(name) -> None:
    strategy = ALL[name](5, REPLACE)
    one, two, other = (
        strategy.simulate(3, np.random.default_rng(seed), total_is_public=True)
        for seed in (1, 1, 2)
    )
    assert (one == two).all()
    assert (one != other).any()


@pytest.mark.parametrize("name", ALL)
def test_a_single_point_has_no_error_where_the_total_is_public(name) -> None:
    strategy = ALL[name](1, REPLACE)
    errors = strategy.simulate(3, np.random.default_rng(0), total_is_public=True)
    assert errors.shape == (3, 1)
    if name not in PAPER:
        assert not errors.any()


def test_digests_tell_strategies_sizes_and_scales_apart_and_survive_pickling() -> None:
    strategies = [
        ALL[name](size, adjacency)
        for name in ALL
        for size in (5, 6)
        for adjacency in (REPLACE, REMOVE)
        if name != "gaussian" or adjacency is REPLACE
    ]
    digests = [strategy.digest for strategy in strategies]
    # On a line of equal steps both trees are the same, and so are evenly shared budgets on them.
    assert len(set(digests)) == len(digests) - 4
    assert [strategy.digest for strategy in pickle.loads(pickle.dumps(strategies))] == digests


def test_strategies_are_named_as_a_spec_has_them() -> None:
    assert {name: make(4, REPLACE).name for name, make in ALL.items()} == {n: n for n in ALL}


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0, 1.0, 1.0], [1e-9, 1.0], [0.3, 0.1, 0.25, 7.0], [1.0] * 999]
)
def test_shares_are_positive_nearly_proportional_and_sum_to_the_whole_exactly(weights) -> None:
    parts = shares(weights, EPSILON)
    assert sum(parts) == EPSILON
    assert min(parts) > 0
    allowed = float(EPSILON) * (len(weights) + 1) / 10_000  # parts are whole ten-thousandths
    expected = float(EPSILON) * np.array(weights) / sum(weights)
    assert np.array(parts, dtype=float) == pytest.approx(expected, abs=allowed)


def test_equal_weights_share_evenly() -> None:
    assert shares([0.3] * 7, EPSILON) == (EPSILON / 7,) * 7
