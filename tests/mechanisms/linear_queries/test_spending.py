"""What a budget buys: the published table of epsilons, and the accountant's word on every part."""

from fractions import Fraction

import pytest

from hallmark.mechanisms.linear_queries.spending import Amount, best_amount
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon, rho
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.privacy.transforms import Total, WeightedSum
from tests.mechanisms.linear_queries.adaptive_runs import ADD, BUDGET, PERSONS, PURE, ways

CELLS = ways((2, 2), 2).queries.maps[0]


@pytest.mark.parametrize(("choices", "epsilon"), [(50, 0.06992), (500, 0.02211)])
def test_epsilons_of_choices_are_those_of_the_table(choices: int, epsilon: float) -> None:
    amount = best_amount(BUDGET, lambda whole: whole.choice(choices))
    assert not amount.pure
    assert float(amount.choice(choices)) == pytest.approx(epsilon, abs=5e-6)
    assert fits([ExponentialMechanism(epsilon=amount.choice(choices), times=choices)], BUDGET)
    more = amount.choice(choices) * Fraction(1001, 1000)
    assert not fits([ExponentialMechanism(epsilon=more, times=choices)], BUDGET)


@pytest.mark.parametrize(("delta", "value"), [(0.2, 0.001559), (1, 0.030557), (2.5, 0.161847)])
def test_rho_is_that_of_the_table(delta: float, value: float) -> None:
    budget = Budget(epsilon=Fraction(str(delta)), delta=Fraction(1, 10**5))
    amount = best_amount(budget, lambda whole: whole.choice(500))
    assert float(amount.value) == pytest.approx(value, rel=1e-3)


def test_few_choices_have_more_where_epsilons_add_up() -> None:
    by_number = [best_amount(BUDGET, lambda w, c=c: w.choice(c)).pure for c in range(1, 7)]
    assert by_number == [True, True, True, True, False, False]
    assert best_amount(PURE, lambda whole: whole.choice(5000)) == Amount(Fraction(1), pure=True)


@pytest.mark.parametrize("adjacency", [ADD, PERSONS])
@pytest.mark.parametrize("pure", [True, False])
def test_parts_cost_the_whole(adjacency, pure) -> None:
    amount = Amount(Fraction(3, 100), pure)
    first, rest = amount.part(Fraction(1, 4)), amount.part(Fraction(3, 4))
    query = HistogramQuery(CELLS, first.noise(Total(), adjacency, 3), Total())
    events = [query.event(adjacency)] * 3
    events.append(ExponentialMechanism(epsilon=rest.choice(7), times=7))
    cost = pure_epsilon(events) if pure else rho(events)
    assert cost is not None
    assert cost <= amount.value
    assert cost == pytest.approx(amount.value, rel=0 if pure else 1e-5)


def test_what_cannot_change_is_answered_and_costs_nothing() -> None:
    from tests.mechanisms.linear_queries.adaptive_runs import REPLACE

    constant = WeightedSum(CELLS.tables[0][:0:-1] * 0 + 3)
    noise = Amount(Fraction(1, 2), pure=False).noise(constant, REPLACE)
    event = HistogramQuery(CELLS, noise, constant).event(REPLACE)
    assert rho([event]) == 0
