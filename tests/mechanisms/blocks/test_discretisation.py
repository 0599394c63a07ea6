"""Measured discretisation: exact cost, sums never understated, and bounds that hold."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.blocks import discretisation as module
from hallmark.mechanisms.blocks.discretisation import (
    STEPS,
    MeasuredDiscretisation,
    can_be_measured,
    weights,
)
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import marginals, over
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.accountant import pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.simulation import simulate_discrete_laplace
from tests.builders.codes import random_codes
from tests.builders.columns import line, nominal
from tests.mechanisms.wasserstein.single_histogram.neighbours import loss, neighbours

FALSE_POSITIVE_RATE = 1e-6
RELEASES = 1000
CONFIDENCE = 0.9
RELATIONS = [
    Adjacency(neighbours=Neighbours.REPLACE_ONE),
    Adjacency(neighbours=Neighbours.ADD_REMOVE),
    Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2, person="name"),
]
MIXED = Domain((line("x", 9, has_null=True), nominal("c", 3), line("y", 4, width=0.0)))
PAIRS = marginals(MIXED, 2, 2)
EPSILON = Fraction(1, 50)


def plan(adjacency: Adjacency, family: Family = PAIRS) -> MeasuredDiscretisation:
    return MeasuredDiscretisation(family=family, adjacency=adjacency, epsilon=EPSILON)


def sums(discretisation: MeasuredDiscretisation, codes: np.ndarray) -> list[np.ndarray]:
    """Exact answers to the queries."""
    return [
        query.transform(count_codes(codes, [query.cells])[0]) for query in discretisation.queries
    ]


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_the_queries_cost_exactly_what_they_are_granted(adjacency) -> None:
    assert pure_epsilon(query.event(adjacency) for query in plan(adjacency).queries) == EPSILON


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_no_neighbours_of_tiny_tables_lose_more(adjacency) -> None:
    domain = Domain((line("x", 3), line("y", 2, width=0.0)))
    family = over(domain, [(0,), (0, 1)], 2)
    queries = plan(adjacency, family).queries
    losses = [loss(queries, one, other) for one, other in neighbours(domain.shape, adjacency)]
    if adjacency.neighbours is Neighbours.ADD_REMOVE:
        assert max(losses) == EPSILON  # of records as far from their points as can be
    else:
        assert 0 < max(losses) < EPSILON  # no record here lies on its point


def test_weights_are_distances_from_the_points_rounded_up() -> None:
    for block in PAIRS.blocks:
        shape = [MIXED.shape[column] for column in block.columns]
        codes = np.zeros((np.prod(shape), len(MIXED)), dtype=int)
        codes[:, block.columns] = np.indices(shape).reshape(len(shape), -1).T
        expected = block.distances_to_points(codes)
        found = weights(block) * block.radius / STEPS
        assert (found >= expected - 1e-15).all()
        assert found == pytest.approx(expected, abs=block.radius / STEPS)
        assert weights(block).max() == STEPS


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_without_noise_the_sums_are_never_understated_and_hardly_overstated(adjacency) -> None:
    codes = random_codes(MIXED.shape, 200, 91)
    own = plan(adjacency)
    slack = own.slack(0.1 / len(PAIRS))
    found = own.upper([s - slack for s in sums(own, codes)], confidence=0.9)
    for block, bound in zip(PAIRS.blocks, found, strict=True):
        total = block.distances_to_points(codes).sum()
        assert total - 1e-12 <= bound <= total + 200 * block.radius / STEPS


def test_blocks_whose_records_lie_on_their_points_cost_nothing() -> None:
    family = over(MIXED, [(1,), (0, 2), (0,)], 2)
    own = plan(RELATIONS[0], family)
    assert own.measured == (1, 2)
    assert pure_epsilon(query.event(RELATIONS[0]) for query in own.queries) == EPSILON
    exact, *others = own.upper(sums(own, random_codes(MIXED.shape, 50, 95)), confidence=0.9)
    assert exact == 0 < min(others)


@pytest.mark.parametrize("failure", [0.3, 0.1, 1e-3, 1e-9])
def test_the_slack_is_the_exact_tail_of_the_noise(failure) -> None:
    own = plan(RELATIONS[0])
    scale, slack = float(own.scale), own.slack(failure)
    tails = [exp(-t / scale) / (1 + exp(-1 / scale)) for t in (slack + 1, slack)]
    assert tails[0] <= failure < tails[1]


def test_a_failure_that_is_likely_anyway_needs_no_slack() -> None:
    assert plan(RELATIONS[0]).slack(0.9) == 0


def misses(adjacency: Adjacency, understated: int = 1) -> int:
    """Releases in which some block's summed distance exceeds its bound."""
    rng = np.random.default_rng(92)
    codes = random_codes(MIXED.shape, 50, 93)
    own = plan(adjacency)
    exact = sums(own, codes)
    claimed = MeasuredDiscretisation(
        family=PAIRS, adjacency=adjacency, epsilon=understated * EPSILON
    )
    truth = np.array([block.distances_to_points(codes).sum() for block in PAIRS.blocks])
    missed = 0
    for _ in range(RELEASES):
        noisy = [s + simulate_discrete_laplace(rng, own.scale, 1) for s in exact]
        missed += bool((truth > claimed.upper(noisy, confidence=CONFIDENCE) + 1e-9).any())
    return missed


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_misses_are_as_rare_as_stated(adjacency) -> None:
    missed = misses(adjacency)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_is_found_out() -> None:
    missed = misses(RELATIONS[0], understated=3)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE


def test_a_bound_is_never_negative() -> None:
    answers = [np.array([-(10**12)])] * len(PAIRS)
    assert (plan(RELATIONS[0]).upper(answers, confidence=0.9) == 0).all()


def test_only_tables_of_reasonable_size_with_something_to_gain_are_measured(monkeypatch) -> None:
    assert can_be_measured(PAIRS)
    assert not can_be_measured(over(MIXED, [(1,)], 2))  # categories are their points
    monkeypatch.setattr(module, "MOST_CELLS", 10 * 4 - 1)
    assert not can_be_measured(PAIRS)
