"""DualQuery: a plain transcription, growing epsilons; with DQRS: charges, resumption, bad input."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.peers.dqrs import plan_dqrs
from hallmark.mechanisms.linear_queries.peers.dual_query import DualPath, plan_dual_query
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import merged
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGETS,
    PERSONS,
    REPLACE,
    Gone,
    bits,
    curator,
    error,
    finished,
    planned,
    told,
    ways,
)

SMALL = ways((2, 2, 2), 2)
SIZE = SMALL.queries.size
both = pytest.mark.parametrize("plan", [plan_dual_query, plan_dqrs], ids=["dual-query", "dqrs"])


def test_records_answer_the_queries_drawn_best() -> None:
    path, rng = DualPath(SMALL, 3), np.random.default_rng(0)
    matrix = np.stack([SMALL.values(query) for query in range(SIZE)])
    records = [int(np.flatnonzero(path.shares())[0])]
    for _ in range(20):
        drawn = rng.integers(0, SIZE, 3), rng.choice([-1, 1], 3)
        for query, sign in zip(*drawn, strict=True):
            before = path.answers()
            np.testing.assert_allclose(
                before, matrix @ np.bincount(records, minlength=8) / len(records)
            )
            path.move(int(query), int(sign))
        payoff = drawn[1] @ matrix[drawn[0]]
        records.append(int(np.argmax(payoff)))
    np.testing.assert_allclose(path.shares(), np.bincount(records, minlength=8) / 21)


@both
@pytest.mark.parametrize("budget", BUDGETS, ids=["approximate", "pure"])
@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
def test_a_run_charges_the_events_of_the_plan_and_uses_the_budget_up(
    tmp_path, adjacency, budget, plan
) -> None:
    given = {"adjacency": adjacency, "budget": budget, "rounds": 6, "samples": 4}
    method = planned(plan, SMALL, **given)
    asked = curator(tmp_path, bits(300, 3), method)
    method.ask(asked)
    events = asked.ledger.events("r")
    assert set(merged(events)) == set(merged(method.events))
    assert fits(events, budget)
    if budget.is_pure:
        assert pure_epsilon(events) == budget.epsilon
    more = replace(method, epsilon=method.epsilon * Fraction(101, 100)).events
    assert not fits(more, budget)


def test_epsilons_are_those_of_exponential_weights() -> None:
    method = planned(plan_dual_query, SMALL, rounds=5, samples=3, expected=700)
    for earlier, event in enumerate(method.choices, start=1):
        # exp(epsilon misfit / 2), misfit in records, is exp(eta misfit) over earlier records.
        assert float(event.epsilon) / 2 * 700 == pytest.approx(method.learning_rate * earlier)
        assert event.times == 3
    assert len(method.choices) == 4


@both
def test_a_resumed_run_gives_the_same_without_looking_at_records(tmp_path, plan) -> None:
    method = planned(plan, SMALL, adjacency=ADD, rounds=4, samples=3)
    asked = curator(tmp_path, bits(300, 3), method)
    first = method.ask(asked)
    again = method.ask(replace(asked, counter=Gone(300)))
    np.testing.assert_equal(first, again)
    laws = [finished(method, answers, asked).shares for answers in (first, again)]
    np.testing.assert_array_equal(*laws)
    assert (laws[0] * 4 == np.rint(laws[0] * 4)).all()


@both
def test_with_a_large_budget_the_error_is_small(tmp_path, plan) -> None:
    codes = bits(2000, 3)
    budget = Budget(epsilon=Fraction(100))
    method = planned(plan, SMALL, budget=budget, rounds=60, samples=12, expected=2000)
    asked = curator(tmp_path, codes, method)
    found = finished(method, method.ask(asked), asked).answers()
    assert error(SMALL, codes, found) < 0.08
    assert error(SMALL, codes, SMALL.answers(SMALL.uniform)) > 0.15


def test_defaults_and_what_is_told() -> None:
    method = planned(plan_dual_query, SMALL, expected=10_000, adjacency=ADD)
    found = told(method.parameters)
    assert (found["rounds"], found["samples"]) == (60, 60)
    assert [line.cells for line in method.noise] == [1, 59 * 60]
    assert 0 < method.expected_error()[0] <= 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rounds": 1}, "round 1 looks at no data"),
        ({"samples": 0}, "mechanism.samples: 0"),
        ({"eta": 1}, "has no such parameter; it knows rounds, samples"),
    ],
)
@both
def test_wrong_parameters_are_refused(given, words, plan) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        planned(plan, SMALL, **given)
