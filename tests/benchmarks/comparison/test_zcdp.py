"""The conversion that peers count with, against the house's accountant and its own inverse."""

from fractions import Fraction

import pytest

from benchmarks.comparison.peers import zcdp
from hallmark.mechanisms.privacy.accountant import zcdp_epsilon

DELTA = 1e-5


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.02, 0.3, 4.0, 60.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_epsilon_is_what_the_house_proves(rho: float, delta: float) -> None:
    assert zcdp.epsilon(rho, delta) == pytest.approx(
        zcdp_epsilon(Fraction(rho), Fraction(delta)), rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 2.5, 20.0])
def test_rho_is_the_largest_that_epsilon_pays_for(epsilon: float) -> None:
    rho = zcdp.rho(epsilon, DELTA)
    assert zcdp.epsilon(rho, DELTA) <= epsilon
    assert zcdp.epsilon(rho * (1 + 1e-6), DELTA) > epsilon


def test_no_rho_costs_no_epsilon() -> None:
    assert zcdp.epsilon(0.0, DELTA) == 0
