"""Upper quantiles that hold together: coverage, exactness of the rank, and refusals."""

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.certificates.simultaneous import (
    PILOT,
    draws_needed,
    simultaneous_quantiles,
)

FALSE_POSITIVE_RATE = 1e-6
REPETITIONS = 2000


def misses(confidence: float, draws: int, understated: float = 1.0) -> int:
    """How often a fresh draw of three dependent, unequal statistics exceeds its quantiles."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(REPETITIONS):
        noise = np.abs(rng.laplace(size=(PILOT + draws + 1, 3))) * [1.0, 50.0, 1e-3]
        noise[:, 2] += noise[:, 1]
        found = simultaneous_quantiles([understated * noise[1:]], confidence=confidence)
        missed += bool((noise[0] > found.values).any())
    return missed


@pytest.mark.parametrize(("confidence", "draws"), [(0.9, 9), (0.9, 19), (0.95, 99)])
def test_misses_are_as_rare_as_stated_even_with_few_draws(confidence, draws) -> None:
    # Exactly (draws + 1 - rank) / (draws + 1) for continuous noise; test both sides.
    missed = misses(confidence, draws)
    rank = int(np.ceil(round(confidence * (draws + 1), 9)))
    rate = 1 - rank / (draws + 1)
    assert rate <= 1 - confidence + 1e-12
    assert binom.sf(missed - 1, REPETITIONS, rate) > FALSE_POSITIVE_RATE
    assert binom.cdf(missed, REPETITIONS, rate) > FALSE_POSITIVE_RATE


def test_noise_understated_by_a_fifth_is_found_out() -> None:
    missed = misses(0.9, 99, understated=0.8)
    assert binom.sf(missed - 1, REPETITIONS, 0.1) < FALSE_POSITIVE_RATE


def test_all_statistics_are_equally_likely_to_be_the_one_that_is_exceeded() -> None:
    rng = np.random.default_rng(8)
    noise = np.abs(rng.normal(size=(PILOT + 20_000, 2))) * [1.0, 1000.0]
    found = simultaneous_quantiles([noise], confidence=0.9)
    shares = (noise > found.values).mean(axis=0)
    assert shares[0] == pytest.approx(shares[1], rel=0.25)


def test_batches_are_the_whole_in_pieces() -> None:
    noise = np.random.default_rng(9).normal(size=(PILOT + 99, 2))
    whole = simultaneous_quantiles([noise], confidence=0.9)
    pieces = simultaneous_quantiles(iter([noise[:30], noise[30:130], noise[130:]]), confidence=0.9)
    assert (whole.values == pieces.values).all()
    assert (whole.draws, whole.rank) == (99, 90)


def test_statistics_that_never_move_are_bounded_by_zero() -> None:
    found = simultaneous_quantiles([np.zeros((PILOT + 99, 2))], confidence=0.9)
    assert found.values.tolist() == [0.0, 0.0]


def test_too_few_draws_for_the_confidence_are_refused() -> None:
    with pytest.raises(ValueError, match="draws"):
        simultaneous_quantiles([np.zeros((PILOT + 9, 1))], confidence=0.95)


@pytest.mark.parametrize("affordable", [0, 500, 1_000_000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99, 0.9999])
def test_the_recommended_number_of_draws_suffices(confidence, affordable) -> None:
    draws = draws_needed(confidence, affordable=affordable)
    noise = np.random.default_rng(10).normal(size=(draws, 1))
    assert simultaneous_quantiles([noise], confidence=confidence).rank < draws - PILOT
    assert draws - PILOT <= max(affordable, 2 / (1 - confidence) + 1)
