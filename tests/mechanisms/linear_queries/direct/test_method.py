"""The method through a real curator: what is charged, limits, determinism, refusals, errors."""

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.direct.method import (
    CALL,
    Direct,
    FittedWeights,
    plan_direct,
)
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.accountant import epsilon, fits
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGET,
    PERSONS,
    PURE,
    REPLACE,
    Gone,
    curator,
    error,
    of,
    planned,
    ways,
)
from tests.mechanisms.linear_queries.direct.cases import (
    SHAPE,
    mixed,
    noisy,
    quiet,
    records,
    run,
)

ROWS = 3000
RICH = Budget(epsilon=Fraction(200), delta=Fraction(1, 100_000))


def plan(u: Universe, budget: Budget = BUDGET, **given: Any) -> Direct:
    method = planned(plan_direct, u, budget=budget, **{"expected": ROWS, **given})
    assert isinstance(method, Direct)
    return method


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
@pytest.mark.parametrize("budget", [BUDGET, PURE])
def test_a_run_charges_what_was_planned_and_fits_the_budget(
    tmp_path: Path, budget: Budget, adjacency: Adjacency
) -> None:
    codes = records(SHAPE, 200)
    method = plan(mixed(), budget, adjacency=adjacency, expected=200)
    asked = curator(tmp_path, codes, method)
    answers = method.ask(asked)
    assert asked.ledger.events("r") == method.events
    assert fits(method.events, budget)
    assert epsilon(method.events, budget.delta) > 0.999 * budget.epsilon
    made = method.distribution(answers, asked.total(), progress=quiet)
    assert made.answers().shape == (method.universe.queries.size,)
    assert made.cells(50, np.random.default_rng(0)).shape == (50, 3)
    again = method.ask(replace(asked, counter=Gone(200)))
    np.testing.assert_equal(answers, again)


@pytest.mark.parametrize("estimator", ["likelihood", "workload", "projection", "graphical"])
def test_the_same_answers_give_the_same_distribution(estimator: str) -> None:
    method = plan(ways((2,) * 4, 2), estimator=estimator)
    assert method.parameters["estimator"] == estimator
    answers = noisy(method.strategy.queries, records((2,) * 4, ROWS), np.random.default_rng(0))
    one, other = (method.distribution({CALL: answers}, ROWS, progress=quiet) for _ in range(2))
    assert np.array_equal(one.answers(), other.answers())


@pytest.mark.parametrize(
    ("estimator", "adjacency"),
    [
        *((one, REPLACE) for one in ("likelihood", "workload", "projection", "graphical")),
        *((one, ADD) for one in ("likelihood", "graphical")),
    ],
)
def test_much_budget_gives_the_exact_answers(estimator: str, adjacency: Adjacency) -> None:
    u, codes = mixed(sums=estimator != "graphical"), records(SHAPE, ROWS)
    method = plan(u, RICH, adjacency=adjacency, estimator=estimator)
    answers, made = run(method, codes)
    assert error(u, codes, made.answers()) < 2e-3
    total = ROWS if adjacency is REPLACE else None
    assert abs(method.records(answers, total) - ROWS) <= 1


@pytest.mark.parametrize("estimator", ["likelihood", "workload"])
def test_queries_none_of_which_is_a_cell_are_answered_too(estimator: str) -> None:
    u, codes = of(SHAPE, *mixed().queries.blocks[1:]), records(SHAPE, ROWS)
    _, made = run(plan(u, RICH, estimator=estimator), codes)
    assert error(u, codes, made.answers()) < 2e-3


def test_error_falls_in_proportion_to_epsilon() -> None:
    u, codes = ways((2,) * 5, 2), records((2,) * 5, ROWS)
    errors = []
    for epsilon_ in (Fraction(1, 2), Fraction(5)):
        method = plan(u, Budget(epsilon=epsilon_))
        runs = [error(u, codes, run(method, codes, seed)[1].answers()) for seed in range(10)]
        errors.append(np.mean(runs))
        assert errors[-1] < 1.3 * method.expected_error()[0]
    assert 6 < errors[0] / errors[1] < 16


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_least_squares_is_nearer_than_the_raw_tables_on_average(noise: str) -> None:
    """The specification's oracle 10, over 20 seeds; the raw answers are the tables' own cells."""
    u, codes = ways((2,) * 6, 3), records((2,) * 6, 1000)
    method = plan(u, expected=1000, strategy="marginals", noise=noise)
    direct, raw = [], []
    for seed in range(20):
        answers, made = run(method, codes, seed)
        assert isinstance(made, FittedWeights)
        assert made.fit.converged
        direct.append(error(u, codes, made.answers()))
        raw.append(error(u, codes, method.strategy.estimate.means_of(answers[CALL], 1000)))
    assert np.mean(direct) < np.mean(raw)


def test_projection_is_the_nearest_distribution_to_the_histogram() -> None:
    method = plan(ways((2,) * 3, 2), estimator="projection")
    table = np.array([50, -20, 10, 0, 30, 0, 5, 45])
    made = method.distribution({CALL: [table]}, 100, progress=quiet)
    shares = made.shares  # type: ignore[attr-defined]
    assert shares.sum() == pytest.approx(1)
    positive = shares > 0
    np.testing.assert_allclose(np.ptp(table[positive] / 100 - shares[positive]), 0, atol=1e-12)


def test_parameters_are_plain_json_and_a_plan_pickles() -> None:
    for parameters in ({}, {"strategy": "histogram"}, {"strategy": "marginals"}):
        method = plan(mixed(), **parameters)
        assert json.loads(json.dumps(method.parameters)) == dict(method.parameters)
        assert sum(line.cells for line in method.noise) == sum(
            query.cells.size for query in method.strategy.queries
        )
        assert method.memory_bytes > 0
        again = pickle.loads(pickle.dumps(method))
        assert again.events == method.events
        assert again.parameters == method.parameters


def test_a_large_universe_is_served_by_a_random_field() -> None:
    u = ways((2,) * 40, 1)
    method = plan(u)
    assert method.estimator == "graphical"
    codes = np.random.default_rng(0).integers(0, 2, size=(ROWS, 40))
    _, made = run(method, codes, 1)
    assert error(u, codes, made.answers()) < 2 * method.expected_error()[0]
    assert made.cells(100, np.random.default_rng(2)).shape == (100, 40)


@pytest.mark.parametrize(
    ("parameters", "budget", "message"),
    [
        (
            {"stratgey": "auto"},
            BUDGET,
            r"mechanism\.stratgey: linear-queries has no such parameter",
        ),
        ({"strategy": "tree"}, BUDGET, r"mechanism\.strategy: 'tree'; choose auto or histogram"),
        ({"noise": "cauchy"}, BUDGET, r"mechanism\.noise: 'cauchy'; choose"),
        ({"estimator": "best"}, BUDGET, r"mechanism\.estimator: 'best'; choose"),
        ({"noise": "gaussian"}, PURE, r"mechanism\.noise: gaussian, but privacy\.delta is 0"),
        (
            {"estimator": "projection", "strategy": "marginals"},
            BUDGET,
            r"mechanism\.estimator: projection is of the histogram",
        ),
    ],
)
def test_wrong_parameters_are_refused(
    parameters: dict[str, str], budget: Budget, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        plan(ways((2,) * 3, 2), budget, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "histogram"}, r"mechanism\.strategy: histogram keeps a number"),
        ({"estimator": "likelihood"}, r"mechanism\.estimator: likelihood keeps a number"),
        ({}, r"mechanism\.queries: .* 2 \(column 1\) .* a graphical model are too large as well"),
    ],
)
def test_large_universes_refuse_what_enumerates(parameters: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(ways((2,) * 25, 2), **parameters)


def test_noise_lines_name_a_few_of_their_tables() -> None:
    def named(universe: Universe) -> Direct:
        return plan(replace(universe, names=("age", "sex", "town", "work")), strategy="marginals")

    def told(universe: Universe) -> list[str]:
        return [line.query for line in named(universe).noise]

    pairs = "6 marginals (age x sex, age x town, age x work and 3 more)"
    assert told(ways((9,) * 4, 2)) == [pairs]
    assert told(ways((9,) * 2, 1)) == ["2 marginals (age, sex)"]
    sums = named(mixed())._listed("histogram of weighted sums", [(0, 1, 2)] * 2)
    assert sums == "2 histograms of weighted sums (age x sex x town, age x sex x town)"
