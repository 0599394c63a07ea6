"""The number of records: asked once where it is private, and then only its noisy value is used."""

from dataclasses import replace

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import plan_dpfw
from hallmark.mechanisms.linear_queries.questions import PathQuestion
from hallmark.mechanisms.linear_queries.spending import best_amount
from hallmark.mechanisms.linear_queries.total import TOTAL_SHARE, records, shared
from hallmark.mechanisms.privacy.accountant import pure_epsilon, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.mechanisms.privacy.queries import GaussianNoise
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGETS,
    PERSONS,
    REPLACE,
    bits,
    curator,
    planned,
    ways,
)

UNIVERSE = ways((2, 2, 2, 2), 2)


@pytest.mark.parametrize("budget", BUDGETS, ids=["approximate", "pure"])
@pytest.mark.parametrize("adjacency", [ADD, PERSONS])
def test_a_private_number_has_its_share_of_the_budget(adjacency, budget) -> None:
    amount = best_amount(budget, lambda whole: whole.choice(20))
    counted = records(UNIVERSE, amount, adjacency)
    cost = pure_epsilon(counted.events) if amount.pure else rho(counted.events)
    assert cost == TOTAL_SHARE * amount.value
    assert shared(amount, adjacency).value == (1 - TOTAL_SHARE) * amount.value
    assert len(counted.lines) == 1


def test_a_public_number_is_neither_asked_nor_paid() -> None:
    amount = best_amount(BUDGETS[0], lambda whole: whole.choice(20))
    counted = records(UNIVERSE, amount, REPLACE)
    assert (counted.events, counted.lines, counted.query) == ((), (), None)
    assert shared(amount, REPLACE) == amount
    assert counted.number({}, 17) == 17
    assert counted.number({}, 0) == 1


def test_a_release_that_asked_with_other_noise_is_refused_and_not_drawn_anew(tmp_path) -> None:
    """As one under way is, of persons that may be replaced, whose numbers now need half of it."""
    person = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=2, person="id")
    method = planned(plan_dpfw, UNIVERSE, adjacency=person, rounds=5)
    asked, query = curator(tmp_path, bits(500), method), method.count.query
    earlier = replace(query, noise=GaussianNoise(2 * query.noise.sigma2))
    asked.histograms("total", [earlier])
    with pytest.raises(LedgerError, match="for another request"):
        method.ask(asked)
    assert asked.ledger.events("r") == (earlier.event(person),)


def test_the_noisy_number_is_near_and_at_least_one() -> None:
    counted = records(UNIVERSE, best_amount(BUDGETS[0], lambda w: w.choice(20)), ADD)
    assert counted.number({"total": (np.array([-5]),)}, None) == 1
    assert counted.number({"total": (np.array([812]),), "choices": (np.array([3]),)}, None) == 812


def test_choices_are_asked_with_the_noisy_number(tmp_path, monkeypatch) -> None:
    seen = []
    start = PathQuestion.__init__

    def watching(self, universe, number, *rest):
        seen.append(number)
        start(self, universe, number, *rest)

    monkeypatch.setattr(PathQuestion, "__init__", watching)
    method = planned(plan_dpfw, UNIVERSE, adjacency=ADD, rounds=5)
    answers = method.ask(curator(tmp_path, bits(500), method))
    assert seen == [int(answers["total"][0][0])]
    # Its standard deviation is about 18: seven of them are missed once in 10^11 runs.
    assert abs(seen[0] - 500) < 130
