"""Column certificates from a histogram of many points: laws of sums, and misses."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_laplace,
    simulate_laplace_sums,
)
from hallmark.mechanisms.wasserstein.adaptive_support.plan import Answers
from hallmark.mechanisms.wasserstein.adaptive_support.single_columns import (
    certify_columns,
    settled,
)
from tests.builders.columns import line, nominal
from tests.mechanisms.wasserstein.adaptive_support.test_plan import make

FALSE_POSITIVE_RATE = 1e-6


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of two empirical distribution functions of as many draws."""
    values = np.union1d(a, b)
    cumulative = [np.searchsorted(np.sort(x), values, side="right") / len(x) for x in (a, b)]
    return float(np.abs(cumulative[0] - cumulative[1]).max())


def test_sums_of_laplace_noise_have_the_law_of_sums() -> None:
    rng, draws = np.random.default_rng(0), 20_000
    threshold = np.sqrt(log(2 / FALSE_POSITIVE_RATE) / draws)
    for terms, scale in ((1, Fraction(2)), (5, Fraction(1, 2)), (30, Fraction(3))):
        fast = simulate_laplace_sums(rng, scale, terms, (draws,))
        slow = simulate_discrete_laplace(rng, scale, (draws, terms)).sum(axis=1)
        assert gap(fast, slow) < threshold
        assert gap(fast, simulate_laplace_sums(rng, scale * Fraction(6, 5), terms, (draws,))) > (
            threshold
        )


def test_settled_counts_sum_to_the_total_and_move_all_alike() -> None:
    counts = np.array([[1, 2, 6], [0, 0, 0]])
    assert settled(counts, np.array([12, 3])).tolist() == [[2, 3, 7], [1, 1, 1]]


def misses(adjacency: Adjacency, understated: int = 1, releases: int = 300) -> int:
    """Releases in which the worst synthetic table exceeds a bound: all records at one end."""
    domain, rng = Domain((line("flag", 2, width=0.0), nominal("c", 3))), np.random.default_rng(1)
    plan = make(domain, adjacency, records=200, epsilon=Fraction(1, 2))
    codes = np.stack([np.repeat([0, 1], [90, 110]), rng.integers(0, 3, 200)], axis=1)
    candidate = int(np.argmax([grid.size for grid in plan.candidates]))
    assert plan.candidates[candidate].size == 6
    certifier = make(domain, adjacency, records=200, epsilon=Fraction(1, 2) * understated)
    missed = 0
    for _ in range(releases):
        tables = []
        for query in plan.queries(candidate):
            exact = query.transform(count_codes(codes, [query.cells])[0])
            tables.append(exact + simulate_discrete_laplace(rng, query.noise.scale, len(exact)))
        histogram, *everyone = tables
        answers = Answers(
            candidate=candidate,
            occupied=6,
            histogram=histogram,
            total=int(everyone[0][0]) if everyone else 200,
        )
        # The side that the noise makes look fuller than it is.
        error = plan.candidates[candidate].margin(0, histogram) - [90, 110]
        end = int(error[1] > error[0])
        made = np.stack([np.full(50, end), np.arange(50) % 3], axis=1)
        columns = certify_columns(certifier, answers, made, confidence=0.8, rng=rng)
        for a, bound in enumerate(columns.bounds):
            own, released = (
                np.bincount(table[:, a], minlength=domain.shape[a]) / len(table)
                for table in (codes, made)
            )
            if w1(domain.attributes[a], own - released) > bound.value + 1e-12:
                missed += 1
                break
    return missed


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_misses_are_as_rare_as_stated(neighbours) -> None:
    missed = misses(Adjacency(neighbours=neighbours))
    assert binom.sf(missed - 1, 300, 0.2) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_is_found_out() -> None:
    missed = misses(Adjacency(neighbours=Neighbours.REPLACE_ONE), understated=4)
    assert binom.sf(missed - 1, 300, 0.2) < FALSE_POSITIVE_RATE
