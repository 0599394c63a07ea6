"""Scores of candidates: their sensitivity by brute force, their weights, and their odds."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from hallmark.mechanisms.marginals.selection.misfit import (
    LARGEST_WEIGHT,
    UNIT,
    integer_weights,
    misfit,
    noise_misfit,
)
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.noise import choose
from hallmark.mechanisms.privacy.queries import L1Score
from tests.mechanisms.marginals.selection.runs import PERSONS, RELATIONS, law
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

FALSE_POSITIVE_RATE = 1e-6
SHAPE = (2, 2, 2)
REST = [[0, 0, 0], [1, 1, 0], [1, 1, 1]]


def candidates(*weights: int, seed: int = 3) -> list[L1Score]:
    """All pairs, with a model that has far too few records in some cells and too many in others."""
    rng = np.random.default_rng(seed)
    off = np.array([-1.3, -1.3, 6.7, 6.7])
    return [
        misfit(pair, rng.permutation(off).reshape(2, 2), SHAPE, weight=weight, penalty=1.3 * weight)
        for weight, pair in zip(weights, combinations(range(3), 2), strict=True)
    ]


def scores(own: list[L1Score], codes: np.ndarray) -> list[int]:
    tables = count_codes(codes, [score.cells for score in own])
    return [score(counts) for score, counts in zip(own, tables, strict=True)]


@pytest.mark.parametrize("adjacency", [*RELATIONS, PERSONS])
def test_no_neighbour_moves_a_score_further_than_stated_and_some_move_it_so(
    adjacency: Adjacency,
) -> None:
    own = candidates(1, 2, 3)
    worst = np.zeros(len(own))
    for one, other in neighbours(SHAPE, adjacency, REST):
        moved = np.abs(np.subtract(scores(own, one), scores(own, other)))
        worst = np.maximum(worst, moved)
    stated = [score.sensitivity(adjacency) for score in own]
    assert stated == [UNIT * w * adjacency.l1 for w in (1, 2, 3)]
    assert (worst <= stated).all()
    assert worst.tolist() == stated


@pytest.mark.parametrize("adjacency", [*RELATIONS, PERSONS])
def test_odds_of_a_choice_move_by_at_most_epsilon_and_by_more_than_a_monotone_score_would(
    adjacency: Adjacency,
) -> None:
    """The log of P(r) moves by at most epsilon, and over all r by a range of at most epsilon, from
    which epsilon^2 / 8 follows. Charged as a monotone score, the range would have to stay within
    half of that; misfits do not, under either relation."""
    epsilon, own = Fraction(3, 2), candidates(1, 1, 1)
    sensitivity = max(score.sensitivity(adjacency) for score in own)
    largest, widest = 0.0, 0.0
    for one, other in neighbours(SHAPE, adjacency, REST):
        before, after = (law(scores(own, codes), sensitivity, epsilon) for codes in (one, other))
        moved = np.log(before) - np.log(after)
        largest = max(largest, np.abs(moved).max())
        widest = max(widest, moved.max() - moved.min())
    assert largest <= epsilon
    assert widest <= float(epsilon) * (1 + 1e-12)
    assert widest > 0.99 * epsilon


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_draws_follow_the_law_that_is_enumerated(adjacency: Adjacency) -> None:
    """The law from a plain transcription on the table; a monotone twin is rejected."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (40, 3))
    codes[:, 1] = codes[:, 0]
    expected = 40 * np.full((2, 2), 0.25)
    own = [misfit(pair, expected, SHAPE, weight=1) for pair in combinations(range(3), 2)]
    misfits = [
        sum(
            abs(((codes[:, a] == i) & (codes[:, b] == j)).sum() - expected[i, j])
            for i in range(2)
            for j in range(2)
        )
        for a, b in combinations(range(3), 2)
    ]
    epsilon = Fraction(1, 8)
    weights = np.exp([float(epsilon) * u / (2 * adjacency.l1) for u in misfits])
    sensitivity = max(score.sensitivity(adjacency) for score in own)
    known = scores(own, codes)
    drawn = np.bincount(
        [choose(known, sensitivity=sensitivity, epsilon=epsilon) for _ in range(1200)], minlength=3
    )
    right, twin = weights / weights.sum(), weights**2 / (weights**2).sum()
    assert chisquare(drawn, right * drawn.sum()).pvalue > FALSE_POSITIVE_RATE
    assert chisquare(drawn, twin * drawn.sum()).pvalue < FALSE_POSITIVE_RATE


def test_a_score_is_the_misfit_less_its_penalty_in_fixed_point() -> None:
    expected = np.array([[1.25, 0.0], [-0.5, 2.0]])
    counts = np.array([3, 1, 0, 2])
    score = misfit((0, 2), expected, SHAPE, weight=5, penalty=0.75)
    assert score(counts) == 5 * UNIT * (1.75 + 1 + 0.5 + 0 - 0.75)


def test_models_that_are_not_finite_are_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        misfit((0, 1), np.full((2, 2), np.nan), SHAPE)


def test_the_misfit_of_noise_is_its_mean() -> None:
    rng = np.random.default_rng(0)
    drawn = np.abs(rng.normal(scale=7, size=(4000, 12))).sum(axis=1).mean()
    assert noise_misfit(Fraction(49), 12) == pytest.approx(drawn, rel=0.01)


@given(st.lists(st.fractions(Fraction(1, 50), 1000, max_denominator=50), min_size=1, max_size=9))
def test_whole_weights_have_the_ratios_of_the_given_ones(given: list[Fraction]) -> None:
    whole = integer_weights(given)
    assert min(whole) >= 1
    if max(whole) < LARGEST_WEIGHT:
        assert len({w / Fraction(g) for w, g in zip(whole, given, strict=True)}) == 1
    else:
        assert max(whole) == LARGEST_WEIGHT
        for w, g in zip(whole, given, strict=True):
            assert abs(w - LARGEST_WEIGHT * g / max(given)) <= 1


def test_weights_are_small_where_they_can_be_and_rounded_where_they_must() -> None:
    assert integer_weights([Fraction(1, 2), Fraction(1, 3)]) == (3, 2)
    assert integer_weights([Fraction(10**9), Fraction(1)]) == (LARGEST_WEIGHT, 1)
