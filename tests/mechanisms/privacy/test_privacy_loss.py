"""Choices among candidates: the curve that dominates them all, and what they compose to."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, expm1

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.privacy import privacy_loss as module
from hallmark.mechanisms.privacy.costs import zcdp_epsilon
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.privacy_loss import (
    choice_divergence,
    epsilon_at_least,
    epsilon_at_most,
)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 1.7, 23.456, 300.0])
@pytest.mark.parametrize("points", [0.7, 2.0, 100.0, 2.0**13])
def test_gaussian_losses_are_those_of_dp_accounting_to_the_last_bit(sigma: float, points: float):
    """On grids that are wider than the losses of two neighbouring counts, as well as finer."""
    mesh = 1 / sigma / points
    theirs = privacy_loss_distribution.from_discrete_gaussian_mechanism(
        sigma, sensitivity=1, value_discretization_interval=mesh, use_connect_dots=True
    )
    for times in (1, 5):
        ours = module._gaussian(sigma, mesh).self_compose(times)._pmf_remove.to_dense_pmf()
        known = theirs.self_compose(times)._pmf_remove.to_dense_pmf()
        assert (ours._lower_loss, ours._discretization) == (known._lower_loss, mesh)
        assert ours._infinity_mass == known._infinity_mass
        assert ours._pessimistic_estimate is known._pessimistic_estimate is True
        np.testing.assert_array_equal(ours._probs, known._probs)


def divergence(p: Floats, q: Floats, loss: float) -> float:
    """Hockey-stick divergence of two laws at e to the power of `loss`."""
    return float(np.maximum(0.0, p - exp(loss) * q).sum())


def response(epsilon: float, top: float) -> tuple[Floats, Floats]:
    """The response with the losses `top` and `top` - epsilon."""
    p = expm1(top - epsilon) / expm1(-epsilon)
    q = exp(-top) * p
    return np.array([p, 1 - p]), np.array([q, 1 - q])


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_the_curve_is_the_worst_response_of_the_range(epsilon: float):
    tops = np.linspace(0, epsilon, 401)
    for loss in np.linspace(-1.2 * epsilon, 1.2 * epsilon, 49):
        worst = max(divergence(*response(epsilon, top), loss) for top in tops)
        curve = float(choice_divergence(epsilon, np.array([loss]))[0])
        assert curve == pytest.approx(worst, rel=1e-4, abs=1e-12)
        assert curve >= worst - 1e-15


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.sampled_from([-1, 0, 1])), min_size=2, max_size=6),
    st.floats(0.01, 3),
    st.floats(-4, 4),
)
def test_no_choice_between_neighbours_passes_the_curve(
    scores: list[tuple[int, int]], epsilon: float, loss: float
):
    """Scores move by at most their sensitivity, 1; choices as `noise.choose` makes them."""
    before = np.array([score for score, _ in scores], dtype=float)
    after = before + np.array([moved for _, moved in scores])
    p, q = (np.exp(epsilon * table / 2) for table in (before, after))
    found = divergence(p / p.sum(), q / q.sum(), loss)
    assert found <= float(choice_divergence(epsilon, np.array([loss]))[0]) + 1e-12


def test_a_smaller_range_would_be_passed():
    p, q = response(1.0, 0.5)
    assert divergence(p, q, 0.0) > float(choice_divergence(0.95, np.array([0.0]))[0])


@pytest.mark.parametrize(("steps", "times"), [(8, 6), (4, 12)])
def test_choices_made_in_view_of_each_other_cost_no_more_than_is_claimed(steps: int, times: int):
    """The worst adversary picks every next response by the losses so far: dynamic programming."""
    mesh = 1 / 64
    epsilon, delta = steps * mesh, 1e-3
    event = ExponentialMechanism(epsilon=Fraction(steps, 64), times=times)
    claimed = epsilon_at_most((event,), Fraction(1, 1000))
    widest = steps * times

    @cache
    def worst(left: int, total: int) -> float:
        if not left:
            return max(0.0, 1 - exp(min(0.0, claimed - total * mesh)))
        options = []
        for top in range(steps + 1):
            (up, down), _ = response(epsilon, top * mesh)
            options.append(
                up * worst(left - 1, total + top) + down * worst(left - 1, total + top - steps)
            )
        return max(options)

    assert abs(widest) >= steps
    assert delta / 20 < worst(times, 0) <= delta


def test_few_choices_beside_gaussian_noise_cost_less_than_their_sum_of_rho():
    from hallmark.mechanisms.privacy.accountant import epsilon, rho
    from hallmark.mechanisms.privacy.events import DiscreteGaussian

    noise = DiscreteGaussian(l2_squared=2, sigma2=Fraction(4000), unit_moves=2, times=100)
    choices = ExponentialMechanism(epsilon=Fraction(4, 100), times=15)
    for events in ([noise, choices], [choices, noise]):
        found = epsilon(events, Fraction(1, 10**5))
        assert found < 0.95 * zcdp_epsilon(rho(events), Fraction(1, 10**5))
        assert epsilon_at_least(tuple(events), Fraction(1, 10**5)) < found


@pytest.mark.parametrize(("epsilon", "times"), list(product(["1/1000", "1/3", "5"], [1, 40])))
def test_bounds_of_choices_lie_on_their_sides(epsilon: str, times: int):
    event = (ExponentialMechanism(epsilon=Fraction(epsilon), times=times),)
    for delta in (Fraction(1, 100), Fraction(1, 10**9)):
        least, most = epsilon_at_least(event, delta), epsilon_at_most(event, delta)
        assert least <= most <= float(times * Fraction(epsilon)) * (1 + 1e-9)


def test_a_choice_without_epsilon_is_refused():
    with pytest.raises(ValueError, match="must be positive"):
        choice_divergence(0.0, np.array([0.0]))
