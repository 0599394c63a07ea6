"""MWEM: a plain transcription, events whatever is chosen, resumed runs, bad input."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from hallmark.mechanisms.linear_queries.peers.mwem import REPLAYS, plan_mwem
from hallmark.mechanisms.linear_queries.questions import reference
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon, rho
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, Matrix
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGETS,
    PERSONS,
    REPLACE,
    Gone,
    bits,
    curator,
    finished,
    of,
    planned,
    ways,
)

SMALL = ways((2, 2, 2), 2)
VALUES = sparse.csr_array(np.array([[4, -4], [1, 0], [2, 2]]))
UNEVEN = of(
    (2, 2),
    Block(marginal((0, 1), (2, 2)), EachCell(4, value=2)),
    Block(marginal((0,), (2, 2)), Matrix(VALUES)),
    unit=4,
)


class Watching(Curator):
    """Remembers the questions of all choices."""

    def choices(self, call, queries, question, events, admissible=None):  # type: ignore[no-untyped-def]
        self.__dict__.setdefault("seen", []).append(question(()))
        return super().choices(call, queries, question, events, admissible)


def plain(universe, asked, number: int) -> list[np.ndarray]:
    """The distributions after every round, cell by cell."""
    shares, states, done = universe.uniform, [universe.uniform], []
    for query, answer in asked:
        done.append((universe.values(query), answer / universe.queries.unit / number))
        for _ in range(REPLAYS):
            for values, measured in reversed(done):
                shares = shares * np.exp(values * (measured - values @ shares) / 2)
                shares = shares / shares.sum()
        states.append(shares)
    return states


@pytest.mark.parametrize("universe", [SMALL, UNEVEN], ids=["even", "uneven"])
def test_questions_and_result_are_those_of_a_plain_transcription(tmp_path, universe) -> None:
    codes = bits(500, len(universe.shape))
    method = planned(plan_mwem, universe, rounds=4)
    watched = curator(tmp_path, codes, method, Watching)
    answers = method.ask(watched)
    told = [int(table[0]) for (table,) in answers.values()]
    asked = [(p % universe.queries.size, y) for p, y in zip(told[::2], told[1::2], strict=True)]
    states = plain(universe, asked, 500)
    for seen, shares in zip(watched.seen, states[:-1], strict=True):
        assert np.abs(seen - reference(universe, 500, universe.answers(shares))).max() <= 1
    found = finished(method, answers, watched)
    np.testing.assert_allclose(found.shares, states[-1], rtol=1e-9)


@pytest.mark.parametrize("budget", BUDGETS, ids=["approximate", "pure"])
@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
def test_where_queries_differ_in_sensitivity_a_run_charges_what_was_planned_at_most(
    tmp_path, adjacency, budget
) -> None:
    rounds = 2 if budget.is_pure else 5
    method = planned(plan_mwem, UNEVEN, adjacency=adjacency, budget=budget, rounds=rounds)
    asked = curator(tmp_path, bits(200, 2), method)
    method.ask(asked)
    events = asked.ledger.events("r")
    assert fits(events, budget)
    assert any(event.adaptive for event in method.events)
    assert not any(event.adaptive for event in planned(plan_mwem, SMALL).events)
    assert rho(events) <= rho(method.events)
    if method.amount.pure:
        assert pure_epsilon(method.events) == budget.epsilon
    else:
        assert rho(method.events) > Fraction(999, 1000) * method.amount.value


def test_a_constant_query_is_answered_without_cost(tmp_path) -> None:
    method = planned(plan_mwem, UNEVEN)
    event = method.measurement(6).event(REPLACE)  # 2/4 for every record
    assert rho([event]) == 0
    assert rho([method.measurement(4).event(REPLACE)]) > 0


def test_a_run_resumes_where_arithmetic_differs(tmp_path, monkeypatch) -> None:
    """References a hair off, as on another processor, ask the same of the log."""
    method = planned(plan_mwem, SMALL, rounds=4)
    asked = curator(tmp_path, bits(300, 3), method)
    first = method.ask(asked)

    def off(*given):
        return reference(*given) + 1

    monkeypatch.setattr("hallmark.mechanisms.linear_queries.peers.mwem.reference", off)
    again = method.ask(replace(asked, counter=Gone(300)))
    np.testing.assert_equal(first, again)


def test_in_one_round_epsilons_add_up() -> None:
    one = planned(plan_mwem, SMALL, rounds=1)
    assert isinstance(one.events[0], ExponentialMechanism)
    assert one.amount.pure
