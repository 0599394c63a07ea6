"""Strategies whose estimates are brought to a better known number of records."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.wasserstein.single_histogram.grid import grid
from hallmark.mechanisms.wasserstein.single_histogram.settled_strategy import SettledStrategy
from tests.builders.columns import line
from tests.mechanisms.wasserstein.single_histogram.neighbours import loss, neighbours

LINE = Domain((line("x", 4),))
CELLS = grid(LINE, 4).cells
REMOVE = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2)
PLAIN = identity(4, epsilon=Fraction(1), adjacency=REMOVE)
WITH_TOTAL = SettledStrategy(strategy=PLAIN, total_scale=Fraction(4))


def test_what_a_noisy_total_costs_is_added() -> None:
    lost = max(loss(WITH_TOTAL.queries(CELLS), *pair) for pair in neighbours((4,), REMOVE))
    assert lost == 1 + Fraction(2, 4)


def test_the_estimate_sums_to_the_total_that_was_asked_for() -> None:
    counts = np.array([5, 0, 2, 1])
    estimate = WITH_TOTAL.estimate([np.array([12]), counts], None)
    assert estimate == pytest.approx(counts + 1)
    batch = WITH_TOTAL.estimate([np.array([[12], [8]]), np.stack([counts, counts])], None)
    assert batch == pytest.approx(np.stack([counts + 1, counts]))


def test_without_one_it_sums_to_a_public_total_or_stays() -> None:
    counts, settled = np.array([5, 0, 2, 1]), SettledStrategy(strategy=PLAIN)
    assert settled.estimate([counts], 4) == pytest.approx(counts - 1)
    assert settled.estimate([counts], None) == pytest.approx(counts)
    assert settled.queries(CELLS) == PLAIN.queries(CELLS)


def test_exact_answers_give_the_histogram_back() -> None:
    (counts,) = count_codes(np.array([[0], [3], [3]]), [CELLS])
    answers = [query.transform(counts) for query in WITH_TOTAL.queries(CELLS)]
    assert WITH_TOTAL.estimate(answers, None) == pytest.approx(counts)


def test_simulated_errors_sum_to_the_error_of_the_total() -> None:
    errors = WITH_TOTAL.simulate(20_000, np.random.default_rng(0), total_is_public=False)
    assert errors.shape == (20_000, 4)
    # Discrete Laplace noise of scale 4 has standard deviation 5.64.
    assert errors.sum(axis=1).std() == pytest.approx(5.64, rel=0.05)


def test_the_digest_tells_scales_and_strategies_apart() -> None:
    others = [
        SettledStrategy(strategy=PLAIN),
        SettledStrategy(strategy=PLAIN, total_scale=Fraction(5)),
        SettledStrategy(
            strategy=identity(4, epsilon=Fraction(2), adjacency=REMOVE), total_scale=Fraction(4)
        ),
    ]
    assert WITH_TOTAL.digest not in {other.digest for other in others}
    assert len({other.digest for other in others}) == 3
