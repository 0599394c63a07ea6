"""The simulated curator: the law of its choices, and what it charges."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hallmark.mechanisms.privacy.accountant import BudgetExceeded
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import DiscreteGaussian, ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries
from hallmark.mechanisms.privacy.queries import SCORE_STEPS, GaussianNoise, HistogramQuery, L1Score
from hallmark.mechanisms.replicates.simulated import SimulatedCurator

FALSE_POSITIVE_RATE = 1e-6
SHAPE = (2, 3, 2)
CODES = np.array([[0, 0, 1], [0, 1, 1], [1, 2, 0], [1, 2, 0], [0, 0, 0]])
ADJACENCY = Adjacency(neighbours=Neighbours.REPLACE_ONE)


def curator(seed: int = 1) -> Any:
    return SimulatedCurator(codes=CODES, adjacency=ADJACENCY, rng=np.random.default_rng(seed))


def candidates() -> list[L1Score]:
    """Misfits of three columns to empty tables, with weights 1, 3 and 2: scores 5, 15, 10."""
    return [
        L1Score(
            cells=marginal([column], SHAPE),
            reference=np.zeros(SHAPE[column], dtype=np.int64),
            weight=weight,
        )
        for column, weight in zip(range(3), (1, 3, 2), strict=True)
    ]


def law(scores: Sequence[int], epsilon: float, sensitivity: int) -> np.ndarray:
    """The exponential mechanism, in the textbook's form."""
    weights = np.exp(epsilon * np.array(scores) / (2 * sensitivity))
    return weights / weights.sum()


def test_choices_have_the_law_of_the_exponential_mechanism() -> None:
    asked = curator()
    event, draws = ExponentialMechanism(epsilon=Fraction(2)), 6_000
    counts = np.bincount(
        [asked.choose(f"{n}", candidates(), event) for n in range(draws)], minlength=3
    )
    # The largest weight is 3, and replacing a record moves a misfit by 2: sensitivity 6.
    right = law((5, 15, 10), 2.0, 6)
    assert stats.chisquare(counts, draws * right).pvalue > FALSE_POSITIVE_RATE
    for wrong in (law((5, 15, 10), 2.0, 3), law((5, 15, 10), 1.6, 6)):
        assert stats.chisquare(counts, draws * wrong).pvalue < FALSE_POSITIVE_RATE


def test_scores_beyond_floating_point_are_told_apart() -> None:
    huge = [
        L1Score(
            cells=marginal([0], SHAPE),
            reference=np.zeros(2, dtype=np.int64),
            penalty=10**20 + offset,
        )
        for offset in (60, 0)
    ]
    event = ExponentialMechanism(epsilon=Fraction(4))
    # A difference of 60 at sensitivity 2: the worse one has probability exp(-60).
    assert all(curator(seed).choose("c", huge, event) == 1 for seed in range(50))


def test_every_query_and_choice_is_charged() -> None:
    asked = curator()
    query = HistogramQuery(marginal([0, 1], SHAPE), GaussianNoise(Fraction(3)))
    event = ExponentialMechanism(epsilon=Fraction(1, 10))
    (answer,) = asked.histograms("first", [query])
    asked.choose("second", candidates(), event)
    assert answer.shape == (6,)
    assert asked.events == [
        DiscreteGaussian(l2_squared=2, sigma2=Fraction(3), unit_moves=2),
        event,
    ]


class Moving:
    """A question whose reference goes beyond the answers of what was chosen."""

    digest = "moving"

    def __init__(self, *, moves: bool) -> None:
        self._moves = moves

    def __call__(self, chosen: Sequence[int]) -> np.ndarray:
        reference = SCORE_STEPS * np.array([2, 2, 0])
        if self._moves:
            told = [position % 3 for position in chosen]
            reference[told] = SCORE_STEPS * ANSWERS[told]
        return reference


# Shares of the second column's three values: 2, 1 and 2 of five records.
QUERIES = LinearQueries((Block(marginal([1], SHAPE), EachCell(3)),))
ANSWERS = np.array([2, 1, 2])


def test_choices_among_queries_and_negations_have_the_law_of_the_exponential_mechanism() -> None:
    event = ExponentialMechanism(epsilon=Fraction(3), times=6_000)
    asked = curator()
    counts = np.bincount(asked.choices("c", QUERIES, Moving(moves=False), [event]), minlength=6)
    # Answers less 2, 2 and 0, then the negations; replacing a record moves an answer by 1.
    scores = (0, -1, 2, 0, 1, -2)
    assert stats.chisquare(counts, 6_000 * law(scores, 3.0, 1)).pvalue > FALSE_POSITIVE_RATE
    for wrong in (law(scores, 3.0, 2), law(scores, 2.4, 1), law(scores[::-1], 3.0, 1)):
        assert stats.chisquare(counts, 6_000 * wrong).pvalue < FALSE_POSITIVE_RATE
    assert asked.events == [event]


def test_later_questions_know_earlier_choices_and_only_admissible_queries_are_chosen() -> None:
    class Some:
        digest = "some"

        def __call__(self, chosen: Sequence[int]) -> np.ndarray:
            return np.array([position not in {c % 3 for c in chosen} for position in range(3)])

    event = ExponentialMechanism(epsilon=Fraction(1000), times=5)
    worst_first = curator().choices("c", QUERIES, Moving(moves=True), [event])
    assert worst_first[:2] == [2, 3 + 1]  # 2 above, then 1 below; after that all fit
    # All that is admissible in turn, and no more choices than that.
    among = curator().choices("c", QUERIES, Moving(moves=False), [event], Some())
    assert sorted(position % 3 for position in among) == [0, 1, 2]


def test_a_budget_that_was_overspent_is_noticed() -> None:
    asked = curator()
    asked.histograms("a", [HistogramQuery(marginal([0], SHAPE), GaussianNoise(Fraction(100)))])
    asked.check(Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5)))
    asked.histograms("b", [HistogramQuery(marginal([0], SHAPE), GaussianNoise(Fraction(1, 2)))])
    with pytest.raises(BudgetExceeded, match="costs more than epsilon 1"):
        asked.check(Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5)))
