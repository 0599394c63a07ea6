"""What rho buys, exactly."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.marginals.selection.spending import (
    choice_epsilon,
    gaussian_event,
    marginal_sigma2,
    refuse_unservable,
    rho_of,
)
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.selection.runs import ADD, BUDGET, PERSONS, REPLACE

RHO = st.fractions(Fraction(1, 10**12), 100, max_denominator=10**12)


@given(RHO, st.integers(1, 400), st.sampled_from([REPLACE, ADD, PERSONS]))
def test_marginals_cost_exactly_what_they_may(worth, marginals, adjacency):
    sigma2 = marginal_sigma2(worth, adjacency, marginals)
    assert rho([gaussian_event(sigma2, adjacency, times=marginals)]) == worth


@given(RHO, st.integers(1, 400))
def test_choices_cost_no_more_than_they_may_and_hardly_less(worth, choices):
    epsilon = choice_epsilon(worth, choices)
    cost = rho([ExponentialMechanism(epsilon=epsilon, times=choices)])
    assert Fraction(99_999, 10**5) * worth <= cost <= worth


@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_rho_is_what_adaptive_events_may_cost(epsilon):
    budget = Budget(epsilon=Fraction(epsilon), delta=Fraction(1, 10**5))
    for worth, within in (
        (rho_of(budget), True),
        (rho_of(budget) * Fraction(10_002, 10_000), False),
    ):
        event = replace(gaussian_event(marginal_sigma2(worth, ADD), ADD), adaptive=True)
        assert fits([event], budget) is within


def test_budgets_without_delta_and_domains_without_columns_are_refused():
    with pytest.raises(ValueError, match=r"privacy\.delta: 0.*choose mechanism pmm"):
        refuse_unservable(Budget(epsilon=Fraction(1)), domain_of((2,)))
    with pytest.raises(ValueError, match="there is none"):
        refuse_unservable(BUDGET, domain_of(()))
