"""What stands out of noise: how often noise itself does, what weights do, and the rule's loop."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from hallmark.mechanisms.marginals.binning.standing_out import standing_out

FALSE_POSITIVE_RATE = 1e-6
NUMBERS, RATE, DRAWS = 400, 0.05, 2000


def one_by_one(chances: np.ndarray, rate: float, weights: np.ndarray | None = None) -> np.ndarray:
    """The wrong twin: every number against its own chance."""
    return chances <= rate


def alarms(rule, weights: np.ndarray | None) -> int:
    """Draws of noise alone in which something stands out."""
    rng = np.random.default_rng(1)
    found = (rule(norm.sf(rng.normal(size=NUMBERS)), RATE, weights).any() for _ in range(DRAWS))
    return sum(found)


@pytest.mark.parametrize(
    "weights", [None, np.random.default_rng(0).exponential(size=NUMBERS) ** 3], ids=str
)
def test_noise_alone_stands_out_as_rarely_as_stated(weights) -> None:
    assert binom.sf(alarms(standing_out, weights) - 1, DRAWS, RATE) > FALSE_POSITIVE_RATE
    assert binom.sf(alarms(one_by_one, weights) - 1, DRAWS, RATE) < FALSE_POSITIVE_RATE


def test_few_of_what_is_found_beside_real_numbers_is_noise() -> None:
    rng = np.random.default_rng(2)
    real = np.arange(NUMBERS) < 40
    shares = []
    for _ in range(300):
        found = standing_out(norm.sf(4 * real + rng.normal(size=NUMBERS)), RATE)
        assert (found & real).sum() > 20
        shares.append((found & ~real).sum() / max(1, found.sum()))
    # Shares lie in [0, 1], so that their mean is off by more has this chance (Hoeffding).
    assert np.mean(shares) < RATE + np.sqrt(-np.log(FALSE_POSITIVE_RATE) / (2 * len(shares)))
    assert np.mean(shares) < RATE


def test_weights_find_more_where_they_lie_and_nothing_where_they_are_0() -> None:
    chances = np.full(NUMBERS, 0.5)
    chances[[3, 300]] = RATE / NUMBERS * 2
    assert not standing_out(chances, RATE / 2).any()
    weights = np.where(np.arange(NUMBERS) < 100, 4.0, 0.0)
    assert np.flatnonzero(standing_out(chances, RATE / 2, weights)).tolist() == [3]
    assert not standing_out(np.zeros(3), RATE, np.zeros(3)).any()
    assert len(standing_out(np.zeros(0), RATE)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_rule_of_the_paper(seed: int) -> None:
    chances = np.random.default_rng(seed).random(30) ** 3
    ranked = sorted(chances)
    largest = max((k for k in range(1, 31) if ranked[k - 1] <= k * 0.2 / 30), default=0)
    assert standing_out(chances, 0.2).sum() == largest
    assert set(chances[standing_out(chances, 0.2)]) == set(ranked[:largest])
