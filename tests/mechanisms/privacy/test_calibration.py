"""Calibrated noise is within the budget, one step less is not, and known values come back."""

from fractions import Fraction
from math import inf, sqrt
from time import perf_counter

import pytest

from hallmark.mechanisms.privacy.accountant import epsilon, fits, rho, zcdp_epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import (
    _largest,
    _nearer,
    _smallest,
    gaussian_sigma2,
    largest_rho,
)
from hallmark.mechanisms.privacy.events import DiscreteGaussian, ExponentialMechanism

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
    for sigma2, within in ((found.value, True), (found.beyond, False)):
        draws = DiscreteGaussian(l2_squared=2, sigma2=sigma2, unit_moves=unit_moves, times=count)
        assert fits((draws,), budget) is within
    assert 1 - found.beyond / found.value <= Fraction(1, 10**4)
    assert found.epsilon <= budget.epsilon < found.epsilon_beyond
    assert found.proof == (found.epsilon_beyond, found.epsilon)


BESIDE = {
    "gaussian": (DiscreteGaussian(l2_squared=2, sigma2=Fraction(33), unit_moves=2),),
    "of persons": (DiscreteGaussian(l2_squared=8, sigma2=Fraction(200)),),
    "decided by answers": (
        ExponentialMechanism(epsilon=Fraction(1, 20), adaptive=True, times=5),
        DiscreteGaussian(l2_squared=2, sigma2=Fraction(60), unit_moves=2, adaptive=True),
    ),
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_what_is_left_beside_other_draws_is_spent_to_the_last_step(beside):
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    found = gaussian_sigma2(budget, l2_squared=2, unit_moves=2, count=3, beside=beside)
    for sigma2, within in ((found.value, True), (found.beyond, False)):
        draws = DiscreteGaussian(l2_squared=2, sigma2=sigma2, unit_moves=2, times=3)
        assert fits((draws, *beside), budget) is within
    assert 1 - found.beyond / found.value <= Fraction(1, 10**4)
    assert found.value > gaussian_sigma2(budget, l2_squared=2, unit_moves=2, count=3).value


def test_a_budget_that_other_draws_use_up_is_refused():
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    whole = DiscreteGaussian(l2_squared=2, sigma2=Fraction(27), unit_moves=2)
    assert not fits((whole,), budget)
    with pytest.raises(ValueError, match="what else is asked leaves nothing of it"):
        gaussian_sigma2(budget, l2_squared=2, unit_moves=2, count=1, beside=(whole,))


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


# Families of compositions


def gaussians(count, *, adaptive=False):
    return lambda rho: (
        DiscreteGaussian(
            l2_squared=2, sigma2=count / rho, unit_moves=2, times=count, adaptive=adaptive
        ),
    )


def mixed(rho):
    """A tree's: a third for choices, at less than its exact cost."""
    epsilon = Fraction(int(sqrt(8 * rho / 27) * 10**8), 10**8)
    return (
        DiscreteGaussian(l2_squared=2, sigma2=15 / rho, unit_moves=2, times=10),
        ExponentialMechanism(epsilon=epsilon, times=9),
    )


FAMILIES = {"pld": gaussians(45), "zcdp": gaussians(45, adaptive=True), "mixed": mixed}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("epsilon", ["1/5", pytest.param("1", marks=pytest.mark.slow), "4"])
def test_the_largest_rho_fits_and_one_step_more_does_not(family, epsilon):
    budget = Budget(epsilon=Fraction(epsilon), delta=DELTA)
    found = largest_rho(family, budget)
    assert fits(family(found.value), budget)
    assert not fits(family(found.beyond), budget)
    assert 0 < found.beyond / found.value - 1 <= Fraction(1, 10**4)
    assert found.epsilon <= budget.epsilon < found.epsilon_beyond
    assert found.proof == (found.epsilon_beyond, found.epsilon)


def test_equal_gaussians_are_calibrated_alike_by_rho_and_by_sigma2():
    budget, found = calibrated("1", 45, 2)
    assert 45 / largest_rho(gaussians(45), budget).value == pytest.approx(found.value, rel=2e-4)


def test_adaptive_events_get_the_rho_of_the_sums_alone():
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    adaptive, fixed = (largest_rho(gaussians(45, adaptive=a), budget).value for a in (True, False))
    assert float(adaptive) == pytest.approx(0.030557, rel=1e-4)  # zCDP's best conversion
    assert fixed > Fraction(11, 10) * adaptive
    assert rho(gaussians(45)(adaptive)) == adaptive
    assert zcdp_epsilon(adaptive, DELTA) <= 1


def test_a_parameter_on_quite_another_scale_is_found():
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    for scale, adaptive in ((Fraction(1, 10**6), True), (Fraction(10**4), False)):
        family = gaussians(3, adaptive=adaptive)
        found = largest_rho(lambda rho, scale=scale, family=family: family(scale * rho), budget)
        plain = largest_rho(family, budget).value
        assert scale * found.value == pytest.approx(plain, rel=2e-4)
        assert found.beyond / found.value - 1 <= Fraction(1, 10**4)


def test_families_that_fit_nowhere_or_lack_a_delta_are_refused():
    dear = DiscreteGaussian(l2_squared=2, sigma2=Fraction(1), unit_moves=2)
    with pytest.raises(ValueError, match="ask for more budget"):
        largest_rho(lambda rho: (dear,), Budget(epsilon=Fraction(1), delta=DELTA))
    with pytest.raises(ValueError, match="delta: 0"):
        largest_rho(gaussians(3), Budget(epsilon=Fraction(1)))


@pytest.mark.parametrize("guess", [2900, 3800])
def test_a_guess_is_brought_to_the_root_and_changes_nothing_that_is_found(guess):
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    asked = []

    def cost(n):
        asked.append(n)
        return epsilon(mixed(n * Fraction(1, 10**5)), DELTA)

    def passes(n):
        return fits(mixed(n * Fraction(1, 10**5)), budget)

    near = _nearer(cost, budget, guess, 0.6)
    assert len(asked) <= 4
    assert _largest(passes, near) == _largest(passes, 3300)
    assert abs(near - _largest(passes, near)) <= 1


@pytest.mark.parametrize("cost", [lambda n: inf, lambda n: 0.0, lambda n: 2.0 if n < 9 else 0.5])
def test_costs_that_lead_nowhere_leave_some_guess(cost):
    assert _nearer(cost, Budget(epsilon=Fraction(1)), 7, 0.6) >= 1


@pytest.mark.parametrize("root", [1, 2, 17, 100, 1000])
@pytest.mark.parametrize("guess", [1, 16, 17, 18, 500])
def test_the_search_finds_the_smallest_from_any_guess(root, guess):
    assert _smallest(lambda n: n >= root, guess) == root
