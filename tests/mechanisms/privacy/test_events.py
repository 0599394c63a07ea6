"""Events survive the ledger, and unknown ones are refused."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.accountant import rho
from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    events_from_json,
    events_to_json,
    merged,
)

positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)
count = st.integers(1, 10**6)
chosen = st.booleans()
laplace = st.builds(DiscreteLaplace, l1=count, scale=positive, adaptive=chosen, times=count)
gaussian = st.builds(
    DiscreteGaussian, l2_squared=count, sigma2=positive, adaptive=chosen, times=count
) | count.flatmap(
    lambda m: st.builds(
        DiscreteGaussian, l2_squared=st.just(m), sigma2=positive, unit_moves=st.just(m), times=count
    )
)
selection = st.builds(ExponentialMechanism, epsilon=positive, adaptive=chosen, times=count)
compositions = st.lists(laplace | gaussian | selection, max_size=6)


@given(compositions)
def test_events_come_back_from_json_as_they_were(events):
    assert events_from_json(json.loads(json.dumps(events_to_json(events)))) == tuple(events)


@given(compositions)
def test_merging_keeps_the_cost_and_leaves_no_two_equal_draws(events):
    once = merged([*events, *events])
    assert rho(once) == 2 * rho(events)
    assert len({(type(e), *list(vars(e).items())[:-1]) for e in once}) == len(once)


def test_merging_counts_equal_draws_together():
    draw = DiscreteLaplace(l1=1, scale=Fraction(2))
    assert merged([draw, draw]) == (DiscreteLaplace(l1=1, scale=Fraction(2), times=2),)


def test_an_unknown_event_is_refused():
    with pytest.raises(ValueError, match="unknown privacy event 'free_lunch'"):
        events_from_json([{"event": "free_lunch"}])


def test_an_event_with_an_unknown_field_is_refused():
    (row,) = events_to_json([ExponentialMechanism(epsilon=Fraction(1))])
    with pytest.raises(TypeError, match="discount"):
        events_from_json([row | {"discount": 2}])


def test_rows_of_events_that_are_not_adaptive_stay_byte_for_byte_what_they_were():
    events = [
        DiscreteLaplace(l1=2, scale=Fraction(7, 2)),
        DiscreteGaussian(l2_squared=2, sigma2=Fraction(9), unit_moves=2, times=3),
        ExponentialMechanism(epsilon=Fraction(1, 3), times=2),
    ]
    old = (
        '[{"event": "discrete_laplace", "l1": 2, "scale": "7/2", "times": 1}, '
        '{"event": "discrete_gaussian", "l2_squared": 2, "sigma2": "9", "unit_moves": 2, '
        '"times": 3}, '
        '{"event": "exponential_mechanism", "epsilon": "1/3", "times": 2}]'
    )
    assert json.dumps(events_to_json(events)) == old
    assert events_from_json(json.loads(old)) == tuple(events)


def test_adaptive_events_say_so_and_are_not_merged_with_others():
    plain = ExponentialMechanism(epsilon=Fraction(1))
    adaptive = ExponentialMechanism(epsilon=Fraction(1), adaptive=True)
    assert [row.get("adaptive") for row in events_to_json([plain, adaptive])] == [None, True]
    assert merged([plain, adaptive, plain, adaptive]) == (
        ExponentialMechanism(epsilon=Fraction(1), times=2),
        ExponentialMechanism(epsilon=Fraction(1), times=2, adaptive=True),
    )


@pytest.mark.parametrize("value", ["false", 0, None])
def test_a_row_whose_adaptivity_cannot_be_read_is_refused(value):
    (row,) = events_to_json([ExponentialMechanism(epsilon=Fraction(1))])
    with pytest.raises(ValueError, match="must be true or false"):
        events_from_json([row | {"adaptive": value}])
