"""The filter against its worst user: who chooses every next release after seeing all answers."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest
from dp_accounting import gaussian_mechanism

from hallmark.mechanisms.privacy.account_filter import (
    Filter,
    Taken,
    gaussian_epsilon,
    implied_rho,
)
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.costs import Cost, conversion, cost, zcdp_epsilon
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from tests.mechanisms.privacy import histories
from tests.mechanisms.privacy.histories import MESH, gaussian, response

CAP = Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 100))
MENU = (gaussian(32), gaussian(64), gaussian(128), response(26))

Law = Callable[[Taken], bool]


def worst_delta(epsilon: float, admits: Law, opened: Filter) -> float:
    """Largest delta of whole histories that a law on what was taken admits."""
    return histories.worst_delta(epsilon, MENU, lambda counts: admits(taken(counts, opened)))


def taken(counts: tuple[int, ...], opened: Filter) -> Taken:
    sums = Taken()
    for n, release in zip(counts, MENU, strict=True):
        for _ in range(n):
            sums = sums.changed(release.cost, opened.divergence(release.cost))
    return sums


@pytest.mark.parametrize("cap", [CAP, Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 1000))])
def test_no_choice_of_releases_in_view_of_answers_passes_the_cap(cap: Budget):
    opened = Filter.opened(cap)
    worst = worst_delta(float(cap.epsilon), lambda sums: opened.admits(sums, cap.epsilon), opened)
    assert float(cap.delta) / 10 < worst <= float(cap.delta)


def test_a_filter_that_counts_half_is_found_out():
    opened = Filter.opened(CAP)

    def admits(sums: Taken) -> bool:
        return opened.admits(replace(sums, divergence=sums.divergence / 2), CAP.epsilon)

    assert worst_delta(float(CAP.epsilon), admits, opened) > float(CAP.delta)


def test_the_oracle_knows_the_delta_of_one_release():
    """Two answers of randomised response lose more than epsilon where both point the same way."""
    opened = Filter.opened(CAP)
    epsilon = 26 / MESH
    once = worst_delta(0.0, lambda sums: sums.releases <= 1 and not sums.impure, opened)
    assert once == pytest.approx((exp(epsilon) - 1) / (exp(epsilon) + 1))


def test_the_order_lets_the_most_rho_pass():
    cap = Budget(epsilon=Fraction(2), delta=Fraction(1, 10**5))
    opened = Filter.opened(cap)
    most = opened.rho_left(Taken(), cap.epsilon)
    orders = [Fraction(n, 10) for n in range(11, 400)]
    others = [Filter.at(order, cap).rho_left(Taken(), cap.epsilon) for order in orders]
    assert max(others) <= most * (1 + Fraction(1, 10**6))
    assert zcdp_epsilon(most, cap.delta) == pytest.approx(2, rel=1e-6)
    assert zcdp_epsilon(most, cap.delta) <= 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(500)])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 10**5), Fraction(1, 10**30)])
def test_filters_open_for_every_cap(epsilon: Fraction, delta: Fraction):
    opened = Filter.opened(Budget(epsilon=epsilon, delta=delta))
    assert opened.rho_left(Taken(), epsilon) > 0
    assert float(opened.conversion) > conversion(float(opened.order - 1), delta)


def test_a_filter_that_claims_a_smaller_conversion_is_refused():
    opened = Filter.opened(CAP)
    with pytest.raises(ValueError, match="takes more than"):
        replace(opened, conversion=opened.conversion * Fraction(99, 100))


def test_a_pure_release_counts_what_is_less():
    opened = Filter(order=Fraction(10), delta=Fraction(1, 100), conversion=Fraction(1, 2))
    assert opened.divergence(Cost(pure=Fraction(1), rho=Fraction(1, 2))) == 1
    assert opened.divergence(Cost(pure=Fraction(1, 100), rho=Fraction(1, 20_000))) == Fraction(
        1, 2000
    )
    assert opened.divergence(Cost(pure=None, rho=Fraction(1, 100))) == Fraction(1, 10)


def test_pure_releases_alone_may_take_the_whole_epsilon():
    opened = Filter.opened(CAP)
    half = Cost(pure=Fraction(1, 4), rho=Fraction(1, 32))
    both = Taken()
    for _ in range(2):
        both = both.changed(half, opened.divergence(half))
    assert opened.admits(both, CAP.epsilon)
    small = Cost(pure=None, rho=Fraction(1, 10**9))
    assert not opened.admits(both.changed(small, opened.divergence(small)), CAP.epsilon)


def test_what_is_taken_can_be_taken_back():
    opened, cost = Filter.opened(CAP), Cost(pure=None, rho=Fraction(1, 50))
    more = Taken().changed(cost, opened.divergence(cost))
    assert more.changed(cost, opened.divergence(cost), by=-1) == Taken()


@pytest.mark.parametrize("sigma", ["1/10", "1", "373/100", "1000"])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**5), Fraction(1, 10**30)])
def test_a_gaussian_epsilon_is_that_of_the_analytic_mechanism_rounded_down(
    sigma: str, delta: Fraction
):
    known = gaussian_mechanism.get_epsilon_gaussian(float(Fraction(sigma)), float(delta))
    found = float(gaussian_epsilon(1 / (2 * Fraction(sigma) ** 2), delta))
    assert 0.998 * known - 2e-6 <= found <= known


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(20)])
@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 10**5), Fraction(1, 10**20)])
def test_the_rho_of_a_budget_implies_it_and_no_less(epsilon: Fraction, delta: Fraction):
    rho = implied_rho(Budget(epsilon=epsilon, delta=delta))
    assert zcdp_epsilon(rho, delta) <= epsilon
    assert zcdp_epsilon(rho * Fraction(1001, 1000) + Fraction(1, 10**11), delta) > epsilon


def test_nothing_left_is_an_epsilon_of_nothing():
    assert gaussian_epsilon(Fraction(0), Fraction(1, 10**5)) == 0


@pytest.mark.parametrize(
    ("releases", "epsilon", "delta", "composed"),
    [
        (12, "1/4", "1/1000000", 0.8918),
        (12, "1/2", "1/1000000", 1.8145),
        (52, "1/10", "1/10000000", 0.7125),
    ],
)
def test_a_series_of_releases_composes_to_far_less_than_its_sum(
    releases: int, epsilon: str, delta: str, composed: float
):
    """By privacy losses it would be 9 % less, which is proved for sizes fixed beforehand only."""
    budget = Budget(epsilon=Fraction(epsilon), delta=Fraction(delta))
    sigma2 = gaussian_sigma2(budget, l2_squared=2, unit_moves=2, count=1).value
    whole = releases * cost([DiscreteGaussian(l2_squared=2, sigma2=sigma2, unit_moves=2)]).rho
    assert zcdp_epsilon(whole, releases * budget.delta) == pytest.approx(composed, abs=1e-4)
