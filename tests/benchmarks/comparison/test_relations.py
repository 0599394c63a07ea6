"""Converted budgets, against the events and the accountant of the house."""

from fractions import Fraction
from math import sqrt

import pytest

from benchmarks.comparison.peers import zcdp
from benchmarks.comparison.relations import converted_epsilon, replacement_cost
from hallmark.mechanisms.privacy.accountant import rho as cost
from hallmark.mechanisms.privacy.events import DiscreteGaussian, ExponentialMechanism

DELTA = 1e-5


def mst_events(rho: float, *, replaced: bool, pairs: int = 14) -> list:
    """What MST with this rho at add-or-remove is charged, at either relation."""
    third = rho / 3
    gaussian = DiscreteGaussian(
        l2_squared=2 if replaced else 1, sigma2=1 / (2 * Fraction(third)), times=2
    )
    # A choice that takes a sensitivity of 2 for 1 has twice the epsilon that it means to have.
    epsilon = Fraction(sqrt(8 * third / pairs)) * (2 if replaced else 1)
    return [gaussian, ExponentialMechanism(epsilon=epsilon, times=pairs)]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_converted_mst_spends_the_whole_budget_where_a_record_is_replaced(epsilon: float) -> None:
    asked = converted_epsilon(epsilon, DELTA, Fraction(2, 3))
    rho = zcdp.rho(asked, DELTA)
    assert float(cost(mst_events(rho, replaced=False))) == pytest.approx(rho, rel=1e-9)
    spent = float(cost(mst_events(rho, replaced=True)))
    assert zcdp.epsilon(spent, DELTA) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_without_conversion_the_budget_is_overspent(epsilon: float) -> None:
    rho = zcdp.rho(epsilon, DELTA)
    spent = float(cost(mst_events(rho, replaced=True)))
    assert zcdp.epsilon(spent, DELTA) > 1.5 * epsilon


def test_the_factor_is_twice_for_noise_and_four_times_for_choices() -> None:
    assert replacement_cost(Fraction(1)) == 2
    assert replacement_cost(Fraction(0)) == 4
    assert replacement_cost(Fraction(2, 3)) == Fraction(8, 3)
    assert replacement_cost(Fraction(9, 10)) == Fraction(11, 5)


def test_a_share_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\], not 3/2"):
        replacement_cost(Fraction(3, 2))
