"""The filter against its worst user: who chooses every next release after seeing all answers.

Oracle: releases whose privacy losses lie on a lattice, so that dynamic programming over all
histories finds the choice of releases with the largest delta, exactly but for floats.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.privacy.account_filter import Filter, Taken, gaussian_epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.costs import Cost, conversion, cost, zcdp_epsilon
from hallmark.mechanisms.privacy.events import DiscreteGaussian

MESH = 256  # losses are multiples of 1/MESH
REACH = 2 * MESH  # of one release's loss, in meshes; beyond it lies less than 1e-12
WIDEST = 5 * MESH
CAP = Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 100))

Law = Callable[[Taken], bool]


@dataclass(frozen=True)
class Release:
    """A release with the law of its privacy loss, P(loss = (i - REACH) / MESH) under P."""

    cost: Cost
    losses: tuple[float, ...]


def gaussian(sigma2: int) -> Release:
    """One count with discrete Gaussian noise; the neighbour has one record more."""
    z = np.arange(-12 * sigma2, 12 * sigma2 + 1)
    mass = np.exp(-(z**2) / (2 * sigma2))
    return Release(
        Cost(pure=None, rho=Fraction(1, 2 * sigma2)),
        laws((1 - 2 * z) * (MESH // (2 * sigma2)), mass / mass.sum()),
    )


def response(steps: int) -> Release:
    """Randomised response: the loss is `steps` meshes up or down."""
    odds = exp(steps / MESH)
    epsilon = Fraction(steps, MESH)
    return Release(
        Cost(pure=epsilon, rho=epsilon**2 / 2),
        laws(np.array([steps, -steps]), np.array([odds, 1]) / (1 + odds)),
    )


def laws(steps: NDArray[np.int64], mass: Floats) -> tuple[float, ...]:
    inside = np.abs(steps) <= REACH
    assert mass[~inside].sum() < 1e-12
    table = np.bincount(steps[inside] + REACH, weights=mass[inside], minlength=2 * REACH + 1)
    return tuple(table.tolist())


MENU = (gaussian(32), gaussian(64), gaussian(128), response(26))


def worst_delta(epsilon: float, admits: Law, opened: Filter) -> float:
    """Largest hockey-stick divergence of whole histories, over all ways to choose releases.

    Losses are kept up to `WIDEST`; what lies beyond is counted as if it told everything.
    """
    loss = np.arange(-WIDEST, WIDEST + 1) / MESH
    stopped = np.maximum(0.0, 1 - np.exp(np.minimum(0.0, epsilon - loss)))

    @cache
    def value(counts: tuple[int, ...]) -> Floats:
        """What histories that come this far lead to at worst, by their loss so far."""
        best = stopped
        for place, release in enumerate(MENU):
            further = tuple(n + (place == i) for i, n in enumerate(counts))
            if admits(taken(further, opened)):
                then = value(further)
                padded = np.concatenate([np.full(REACH, then[0]), then, np.ones(REACH)])
                best = np.maximum(best, np.correlate(padded, release.losses, mode="valid"))
        return best

    return float(value((0,) * len(MENU))[WIDEST])


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
