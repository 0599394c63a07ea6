"""Calibrated noise is within the budget, one step less is not, and known values come back."""

from fractions import Fraction
from math import sqrt
from time import perf_counter

import pytest

from mechanisms.privacy.accountant import fits
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.calibration import _smallest, gaussian_sigma2
from mechanisms.privacy.events import DiscreteGaussian

DELTA = Fraction(1, 10**5)


def calibrated(epsilon, count, unit_moves):
    budget = Budget(epsilon=Fraction(epsilon), delta=DELTA)
    found = gaussian_sigma2(budget, l2_squared=2, unit_moves=unit_moves, count=count)
    return budget, found


# Standard deviation for unit L2 sensitivity: the analytic Gaussian, and zCDP's best conversion.
@pytest.mark.parametrize(
    ("epsilon", "unit_moves", "expected"),
    [
        ("1/5", 2, 16.304),
        ("1", 2, 3.7306),
        ("5/2", 2, 1.6340),
        ("1/5", None, 17.910),
        ("1", None, 4.0451),
        ("5/2", None, 1.7577),
    ],
)
def test_known_noise_comes_back(epsilon, unit_moves, expected):
    _, found = calibrated(epsilon, 45, unit_moves)
    assert sqrt(found.value / 90) == pytest.approx(expected, rel=5e-5)


@pytest.mark.parametrize("unit_moves", [2, None])
@pytest.mark.parametrize("count", [1, 276])
def test_the_value_fits_and_one_step_below_does_not(count, unit_moves):
    budget, found = calibrated("1", count, unit_moves)
    for sigma2, within in ((found.value, True), (found.below, False)):
        draws = DiscreteGaussian(l2_squared=2, sigma2=sigma2, unit_moves=unit_moves, times=count)
        assert fits((draws,), budget) is within
    assert 1 - found.below / found.value <= Fraction(1, 10**4)
    assert found.epsilon <= budget.epsilon < found.epsilon_below
    assert found.proof == (found.epsilon_below, found.epsilon)


def test_many_draws_are_calibrated_in_seconds():
    gaussian_sigma2.cache_clear()
    start = perf_counter()
    calibrated("3/2", 276, 2)
    assert perf_counter() - start < 10


def test_more_budget_needs_less_noise():
    values = [calibrated(epsilon, 10, 2)[1].value for epsilon in ("1/2", "1", "2")]
    assert values == sorted(values, reverse=True)


def test_gaussian_noise_without_delta_is_refused():
    with pytest.raises(ValueError, match="delta: 0"):
        gaussian_sigma2(Budget(epsilon=Fraction(1)), l2_squared=2, unit_moves=2, count=1)


@pytest.mark.parametrize(("l2_squared", "count"), [(0, 1), (2, 0)])
def test_nothing_to_protect_is_refused(l2_squared, count):
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    with pytest.raises(ValueError, match="at least 1"):
        gaussian_sigma2(budget, l2_squared=l2_squared, unit_moves=None, count=count)


@pytest.mark.parametrize("root", [1, 2, 17, 100, 1000])
@pytest.mark.parametrize("guess", [1, 16, 17, 18, 500])
def test_the_search_finds_the_smallest_from_any_guess(root, guess):
    assert _smallest(lambda n: n >= root, guess) == root
