"""One exact histogram: what it costs, the rules for T, refusals, and errors beside others."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.direct.certify import query_bounds
from hallmark.mechanisms.linear_queries.direct.method import plan_direct
from hallmark.mechanisms.linear_queries.dpam.method import (
    HISTOGRAM_CALL,
    Dpam,
    gaussian_width,
    plan_dpam,
)
from hallmark.mechanisms.privacy.accountant import epsilon, fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGET,
    PERSONS,
    REPLACE,
    curator,
    error,
    finished,
    planned,
    ways,
)
from tests.mechanisms.linear_queries.direct.cases import histogram, records, run
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

ROWS = 3000
CODES = records((2,) * 4, ROWS)


def plan(budget: Budget = BUDGET, *, columns: int = 4, rows: int = ROWS, **given: Any) -> Dpam:
    method = planned(plan_dpam, ways((2,) * columns, 2), budget=budget, expected=rows, **given)
    assert isinstance(method, Dpam)
    return method


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
@pytest.mark.parametrize("constant", ["calibrated", "paper"])
def test_no_neighbour_moves_the_histogram_further_than_charged(
    constant: str, adjacency: Adjacency
) -> None:
    method = plan(adjacency=adjacency, columns=3, noise_constant=constant)
    worst = Fraction(0)
    for one, other in neighbours((2, 2, 2), adjacency, [[0, 1, 0]]):
        before, after = (count_codes(codes, [method.query.cells])[0] for codes in (one, other))
        worst = max(worst, Fraction(int(((after - before) ** 2).sum())) / (2 * method.sigma2))
    assert worst == rho(method.events)
    assert fits(method.events, BUDGET)
    cost = epsilon(method.events, BUDGET.delta)
    assert cost > 0.999 if constant == "calibrated" else cost < 0.5


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
def test_a_run_is_one_draw(tmp_path: Path, adjacency: Adjacency) -> None:
    method = plan(adjacency=adjacency)
    asked = curator(tmp_path, CODES, method)
    answers = method.ask(asked)
    assert asked.ledger.events("r") == method.events
    assert finished(method, answers, asked).answers().shape == (24,)
    if adjacency is not REPLACE:
        assert method.records(answers, None) == max(int(answers[HISTOGRAM_CALL][0].sum()), 1)


def test_much_budget_gives_nearly_the_exact_answers() -> None:
    rich = Budget(epsilon=Fraction(100), delta=Fraction(1, 100_000))
    method = plan(rich, iterations=3000, alpha=0.002)
    assert error(method.universe, CODES, run(method, CODES)[1].answers()) < 0.02


def test_it_is_worse_than_direct_and_the_printed_form_worse_than_nothing() -> None:
    u = ways((2,) * 4, 2)
    direct = planned(plan_direct, u, expected=ROWS)
    means = [
        np.mean([error(u, CODES, run(method, CODES, seed)[1].answers()) for seed in range(5)])
        for method in (direct, plan(), plan(noise_constant="paper"), plan(variant="printed"))
    ]
    assert means == sorted(means)
    assert means[-1] > error(u, CODES, u.answers(u.uniform))


def test_bounds_hold_for_its_answers() -> None:
    method = plan()
    truth = method.universe.answers(histogram(CODES, (2,) * 4)) / ROWS
    answers, made = run(method, CODES)
    rng = np.random.default_rng(0)
    found = query_bounds(method.measured(answers), ROWS, made.answers(), confidence=0.99, rng=rng)
    assert (np.abs(made.answers() - truth) <= found.each).all()
    assert found.each.max() < 1


def test_rules_of_the_paper() -> None:
    method = plan()
    expected = np.sqrt(np.log(16) / np.log(1e5)) * ROWS / method.width
    assert method.rule == pytest.approx(expected)
    assert method.steps == round(expected)
    assert method.alpha == pytest.approx(1 / np.sqrt(method.steps * np.log(16)))
    assert json.loads(json.dumps(method.parameters)) == dict(method.parameters)
    assert "note" not in method.parameters
    value, statement = method.expected_error()
    assert 0 < value <= 2
    assert "not a bound" in statement


def test_the_forecast_of_the_printed_step_claims_no_theorem() -> None:
    method = plan(variant="printed")
    value, statement = method.expected_error()
    assert value == method.universe.queries.width
    assert "no theorem covers" in statement


def test_the_width_is_that_of_the_largest_of_normal_variables() -> None:
    """E max of k absolute normal variables, for the cells of one column; 1.6 for k = 6, or so."""
    drawn = np.abs(np.random.default_rng(9).normal(size=(100_000, 6))).max(axis=1)
    assert gaussian_width(ways((6,), 1)) == pytest.approx(
        drawn.mean(), abs=6 * drawn.std() / np.sqrt(40)
    )


@pytest.mark.parametrize(
    ("rows", "steps", "note"), [(5, 1, "one step is taken"), (10**8, 4000, "4,000 are taken")]
)
def test_steps_beyond_reason_are_clipped_and_that_is_said(rows: int, steps: int, note: str) -> None:
    method = plan(rows=rows)
    assert method.steps == steps
    assert note in method.parameters["note"]
