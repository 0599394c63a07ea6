"""Attacks on a release: bounds from all pairs that hold, against the exact laws of small ones."""

from fractions import Fraction
from itertools import product
from math import exp, inf, nan

import numpy as np
import pytest
from scipy.stats import norm

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.privacy.accountant import epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
)
from hallmark.mechanisms.privacy.trade_off import TradeOff, trade_off, unproved

REACH = 60  # integers on each side of 0 that a law is summed over


def gaussian(sigma2: float, at: int) -> Floats:
    z = np.arange(-REACH, REACH + 1)
    law = np.exp(-((z - at) ** 2) / (2 * sigma2))
    return np.asarray(law / law.sum())


def laplace(scale: float, at: int) -> Floats:
    z = np.arange(-REACH, REACH + 1)
    law = np.exp(-np.abs(z - at) / scale)
    return np.asarray(law / law.sum())


def joint(laws: list[Floats]) -> Floats:
    """The law of independent draws, flattened."""
    whole = laws[0]
    for law in laws[1:]:
        whole = np.multiply.outer(whole, law).ravel()
    return whole


def exact_guess(p: Floats, q: Floats) -> float:
    """How often the best guess between two laws is right."""
    return 0.5 + np.abs(p - q).sum() / 4


def exact_power(p: Floats, q: Floats, chance: float) -> float:
    """The largest probability by p of what has this chance by q, split where need be."""
    order = np.argsort(-p / np.maximum(q, 1e-300))
    p, q = p[order], q[order]
    full = np.searchsorted(np.cumsum(q), chance)
    rest = chance - q[:full].sum()
    return float(p[:full].sum() + (rest * p[full] / q[full] if full < len(q) else 0))


def budget_of(events: list[Event], delta: Fraction = Fraction(1, 10**6)) -> Budget:
    return Budget(
        epsilon=Fraction(epsilon(events, delta)).limit_denominator(10**6) * 2, delta=delta
    )


CASES = {
    "one table": ([DiscreteGaussian(l2_squared=1, sigma2=Fraction(9), unit_moves=1)],
                  [gaussian(9, 0)], [gaussian(9, 1)]),
    "a pair that moves": ([DiscreteGaussian(l2_squared=2, sigma2=Fraction(16), unit_moves=2)],
                          [gaussian(16, 0), gaussian(16, 0)], [gaussian(16, 1), gaussian(16, -1)]),
    "Laplace": ([DiscreteLaplace(l1=1, scale=Fraction(3))], [laplace(3, 0)], [laplace(3, 1)]),
    "both": ([DiscreteGaussian(l2_squared=1, sigma2=Fraction(9), unit_moves=1),
              DiscreteLaplace(l1=1, scale=Fraction(4))],
             [gaussian(9, 0), laplace(4, 0)], [gaussian(9, 1), laplace(4, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_no_attack_on_an_exact_law_passes_the_bounds_nor_stays_far_below(case: str):
    events, before, after = CASES[case]
    p, q = joint(after), joint(before)
    found = trade_off(events, budget_of(events))
    guess = exact_guess(p, q)
    assert guess <= found.best_guess() + 1e-9
    if "Laplace" not in case and case != "both":  # noise in one coordinate is not proved the worst
        assert found.best_guess() < guess + 0.002
    for chance in (0.001, 0.01, 0.1, 0.5, 0.9):
        most = exact_power(p, q, chance)
        assert most <= found.power(chance) + 1e-9
        if case == "one table":
            assert found.power(chance) < most * 1.08 + 1e-4


def test_many_draws_allow_far_less_than_epsilon_alone_says():
    event = DiscreteGaussian(l2_squared=1, sigma2=Fraction(50**2), unit_moves=1, times=64)
    delta = Fraction(1, 10**9)
    budget = Budget(epsilon=Fraction(epsilon([event], delta)).limit_denominator(1000), delta=delta)
    budget = Budget(epsilon=budget.epsilon + Fraction(1, 1000), delta=delta)
    found = trade_off([event], budget)
    mu = 8 / 50
    assert found.best_guess() == pytest.approx(norm.cdf(mu / 2), abs=1e-4)
    assert TradeOff(((float(budget.epsilon), 1e-9),)).best_guess() > 0.7


@pytest.mark.parametrize("units", [2, 4])
def test_a_group_is_bounded_by_a_chain_of_neighbours(units: int):
    events = [DiscreteGaussian(l2_squared=1, sigma2=Fraction(100), unit_moves=1)]
    found = trade_off(events, budget_of(events))
    p, q = gaussian(100, 0), gaussian(100, units)
    assert exact_guess(p, q) <= found.best_guess(units) <= exact_guess(p, q) + 0.01
    assert exact_power(p, q, 0.05) <= found.power(0.05, units)


def test_of_adaptive_events_the_budget_alone_is_used():
    events = [DiscreteGaussian(l2_squared=1, sigma2=Fraction(9), unit_moves=1, adaptive=True)]
    budget = Budget(epsilon=Fraction(1), delta=Fraction(1, 1000))
    assert trade_off(events, budget).points == ((1.0, 0.001),)


def test_where_moves_are_unknown_concentrated_privacy_bounds_every_vector_that_moves_so_far():
    events = [DiscreteGaussian(l2_squared=4, sigma2=Fraction(36))]
    found = trade_off(events, budget_of(events))
    for moves in ((2, 0), (1, 1, 1, 1)):
        p = joint([gaussian(36, 0) for _ in moves[:2]])
        q = joint([gaussian(36, move) for move in moves[:2]])
        assert exact_guess(p, q) <= found.best_guess()
        assert exact_power(p, q, 0.02) <= found.power(0.02)
    assert found.best_guess() < 0.65  # the truth is .566, epsilon and delta alone say .9


def test_a_choice_is_bounded_over_all_scores_of_three_candidates():
    size = Fraction(3, 2)
    events = [ExponentialMechanism(epsilon=size)]
    found = trade_off(events, Budget(epsilon=size, delta=Fraction(0)))
    worst = 0.0
    for scores in product((-1, 0, 1, 2), repeat=2):
        for moved in product((-1, 0, 1), repeat=3):
            p = np.exp(float(size) * np.array((0, *scores)) / 2)
            q = np.exp(float(size) * (np.array((0, *scores)) + moved) / 2)
            worst = max(worst, exact_guess(p / p.sum(), q / q.sum()))
    assert worst <= found.best_guess() < 1 / (1 + exp(-float(size)))


def test_nothing_is_promised_of_an_epsilon_beyond_all_bounds():
    found = TradeOff(((1000.0, 0.0),))
    assert (found.best_guess(), found.power(0.5)) == (1.0, 1.0)


def test_a_guess_is_never_said_to_be_worse_than_without_the_release():
    found = TradeOff(((0.0, 0.0),))
    assert (found.best_guess(), found.power(0.25)) == (0.5, 0.25)


def test_pairs_that_were_made_smaller_are_found():
    events = [DiscreteGaussian(l2_squared=1, sigma2=Fraction(100), unit_moves=1)]
    budget = budget_of(events)
    points = trade_off(events, budget).points
    assert unproved(points, events, budget) == []
    assert unproved((*points[::-1], points[3]), events, budget) == []  # in whatever order
    assert unproved((), events, budget) == []
    for number, (at, delta) in enumerate(points[:-1]):
        if delta > 1e-9:
            forged = (*points[:number], (at, delta * 0.999), *points[number + 1 :])
            assert unproved(forged, events, budget) == [(at, delta * 0.999)]


def test_of_adaptive_events_no_pair_beyond_the_budget_is_proved():
    events = [DiscreteGaussian(l2_squared=1, sigma2=Fraction(100), unit_moves=1, adaptive=True)]
    budget = budget_of(events)
    (claimed,) = trade_off(events, budget).points
    assert unproved([claimed, (0.0, 0.9)], events, budget) == [(0.0, 0.9)]


def test_what_is_no_number_is_not_proved():
    events = [DiscreteGaussian(l2_squared=1, sigma2=Fraction(100), unit_moves=1)]
    budget = budget_of(events)
    points = trade_off(events, budget).points
    for forged in ((nan, 0.5), (inf, 0.0), (0.0, nan)):
        found = unproved((points[1], forged, points[0]), events, budget)
        assert [str(pair) for pair in found] == [str(forged)]
