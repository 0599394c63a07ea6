"""FEM and sepFEM: a plain transcription, events, resumed runs, bad input."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.peers.fem import LeaderPath, plan_fem, plan_sep_fem
from hallmark.mechanisms.linear_queries.peers.perturbation import ByCoordinate, separator
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import merged
from hallmark.mechanisms.privacy.linear_queries import EachCell
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGETS,
    PERSONS,
    PURE,
    REPLACE,
    Gone,
    bits,
    curator,
    error,
    finished,
    of,
    planned,
    told,
    ways,
)

SMALL = ways((2, 2, 2), 2)
PLANS = (plan_fem, plan_sep_fem)


class Fixed(ByCoordinate):
    """The same payoffs every time."""

    def draw(self, draws: int, scale: float, rng: np.random.Generator) -> np.ndarray:
        return np.tile(scale * np.array([0.0, 0.9, 0, 0, 0, 0, 0, 0.5]), (draws, 1))


def test_leaders_are_best_for_the_queries_chosen_and_the_perturbation() -> None:
    path = LeaderPath(SMALL, Fixed(SMALL), 5, 1.0)
    np.testing.assert_allclose(path.answers(), SMALL.answers(np.eye(8)[1]))
    path.move(3, 1)  # cell 11 of the first two columns: records 6 and 7
    np.testing.assert_allclose(path.answers(), SMALL.answers(np.eye(8)[7]))
    path.move(3, -1)
    np.testing.assert_allclose(path.answers(), SMALL.answers(np.eye(8)[1]))
    np.testing.assert_allclose(path.shares(), (np.eye(8)[1] + np.eye(8)[7]) / 2)


@pytest.mark.parametrize("law", [ByCoordinate, separator])
def test_records_are_the_same_however_many_are_drawn_at_once(monkeypatch, law) -> None:
    def drawn() -> np.ndarray:
        path = LeaderPath(SMALL, law(SMALL), 5, 1.0)
        path.move(3, 1)
        path.move(5, -1)
        return path.shares()

    together = drawn()
    monkeypatch.setattr("hallmark.mechanisms.linear_queries.peers.fem._AT_ONCE", 2 * SMALL.size)
    np.testing.assert_array_equal(drawn(), together)
    assert np.count_nonzero(together) > 1


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("budget", BUDGETS, ids=["approximate", "pure"])
@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
def test_a_run_charges_the_events_of_the_plan_and_uses_the_budget_up(
    tmp_path, plan, adjacency, budget
) -> None:
    method = planned(plan, SMALL, adjacency=adjacency, budget=budget, rounds=6, samples=3)
    asked = curator(tmp_path, bits(300, 3), method)
    method.ask(asked)
    events = asked.ledger.events("r")
    assert set(merged(events)) == set(merged(method.events))
    assert fits(events, budget)
    # By sums of costs, which all methods for linear queries are planned with.
    more = replace(method, epsilon=method.epsilon * Fraction(101, 100)).events
    assert not fits((replace(event, adaptive=True) for event in more), budget)


@pytest.mark.parametrize("plan", PLANS)
def test_a_resumed_run_gives_the_same_without_looking_at_records(tmp_path, plan) -> None:
    method = planned(plan, SMALL, adjacency=ADD, rounds=4, samples=3)
    asked = curator(tmp_path, bits(300, 3), method)
    first = method.ask(asked)
    again = method.ask(replace(asked, counter=Gone(300)))
    np.testing.assert_equal(first, again)
    laws = [finished(method, answers, asked).shares for answers in (first, again)]
    np.testing.assert_array_equal(*laws)
    np.testing.assert_allclose(laws[0] * 12, np.rint(laws[0] * 12))


@pytest.mark.parametrize("plan", PLANS)
def test_with_a_large_budget_the_error_is_small(tmp_path, plan) -> None:
    codes = bits(2000, 3)
    method = planned(plan, SMALL, budget=Budget(epsilon=Fraction(1000)), rounds=150, samples=10)
    asked = curator(tmp_path, codes, method)
    found = finished(method, method.ask(asked), asked).answers()
    assert error(SMALL, codes, found) < 0.12
    assert error(SMALL, codes, SMALL.answers(SMALL.uniform)) > 0.15


def test_defaults_and_what_is_told() -> None:
    method = planned(plan_sep_fem, SMALL, adjacency=ADD)
    found = told(method.parameters)
    assert (found["rounds"], found["samples"], found["scale"]) == (300, 20, 0.5)
    assert (method.name, planned(plan_fem, SMALL).name) == ("sep-fem", "fem")
    assert planned(plan_fem, SMALL, budget=PURE).rounds == 32
    assert [line.cells for line in method.noise] == [1, 300]
    assert 0 < method.expected_error()[0] <= 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scale": -1}, "mechanism.scale: -1; give a positive number"),
        ({"samples": 10**5}, "mechanism.samples: 100,000"),
        ({"seed": 1}, "mechanism.seed: fem has no such parameter"),
    ],
)
def test_wrong_parameters_are_refused(given, words) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        planned(plan_fem, SMALL, **given)


def test_sep_fem_refuses_queries_that_tell_too_few_cells_apart() -> None:
    blind = of((2, 2), (marginal((0,), (2, 2)), EachCell(2)))
    assert planned(plan_fem, blind).name == "fem"
    with pytest.raises(ValueError, match="choose fem"):
        planned(plan_sep_fem, blind)
