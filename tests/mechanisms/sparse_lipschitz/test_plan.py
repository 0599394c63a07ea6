"""The plan: exact budgets over all neighbours, the choice of the grid by forecast, and refusals."""

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from mechanisms.families.discretisation import STEPS
from mechanisms.families.marginals import CANDIDATES, LINE_CANDIDATES, candidates
from mechanisms.families.noise import Noise
from mechanisms.families.programs import Loss
from mechanisms.geometry.domain import Domain
from mechanisms.privacy.accountant import epsilon, fits, pure_epsilon
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import count_codes
from mechanisms.privacy.events import DiscreteGaussian, DiscreteLaplace
from mechanisms.sparse_lipschitz import SparseLipschitz, SparseLipschitzPlan
from mechanisms.sparse_lipschitz.plan import DISCRETISATION_SHARE, forecast_certificate
from tests.mechanisms.single_histogram.domains import line, nominal, places
from tests.mechanisms.single_histogram.neighbours import neighbours

RELATIONS = [
    Adjacency(neighbours=relation, records=records) for relation in Neighbours for records in (1, 2)
]
REPLACE = RELATIONS[0]
EPSILON = Fraction(7, 5)
PURE = Budget(epsilon=EPSILON)
WITH_DELTA = Budget(epsilon=EPSILON, delta=Fraction(1, 10**6))
TINY = Domain((line("x", 3), nominal("c", 2), line("y", 2, has_null=True)))
LINES = Domain((line("x", 3), line("y", 4)))
STRIPES = Domain((line("x", 30), nominal("c", 3)))
LAPLACE: tuple[Noise, ...] = ("identity", "haar", "superregular", "paper")


def make(
    domain: Domain = TINY,
    adjacency: Adjacency = REPLACE,
    budget: Budget = PURE,
    records: int = 100,
    public: np.ndarray | None = None,
    **parameters: object,
) -> SparseLipschitzPlan:
    return SparseLipschitz().plan(
        domain,
        budget=budget,
        adjacency=adjacency,
        expected_records=records,
        parameters=parameters,
        public=public,
    )


def public_table(domain: Domain, rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([(k * rng.beta(2, 4, rows)).astype(int) for k in domain.shape], axis=1)


@pytest.mark.parametrize("measured", [True, False], ids=["measured", "radius"])
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("noise", ["auto", *LAPLACE])
def test_laplace_noise_costs_the_budget_exactly(noise, adjacency, measured) -> None:
    for k in (2, 3):
        plan = make(adjacency=adjacency, cells=k, noise=noise, measure_discretisation=measured)
        assert pure_epsilon(plan.events) == EPSILON


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_two_levels_on_lines_cost_the_budget_exactly(adjacency) -> None:
    plan = make(LINES, adjacency, marginals=1, cells=3, noise="two-level")
    assert pure_epsilon(plan.events) == EPSILON


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_gaussian_noise_fits_the_budget_and_little_less_of_it_would_not(adjacency) -> None:
    plan = make(adjacency=adjacency, budget=WITH_DELTA, cells=2, noise="gaussian")
    assert pure_epsilon(plan.events) is None
    assert fits(plan.events, WITH_DELTA)
    laplace = [event for event in plan.events if isinstance(event, DiscreteLaplace)]
    gaussian = [event for event in plan.events if isinstance(event, DiscreteGaussian)]
    assert pure_epsilon(laplace) == DISCRETISATION_SHARE * EPSILON
    rest = (1 - DISCRETISATION_SHARE) * EPSILON
    assert 0.99 * rest < epsilon(gaussian, WITH_DELTA.delta) <= rest
    wrong = [replace(event, sigma2=event.sigma2 * Fraction(9, 10)) for event in gaussian]
    assert not fits([*wrong, *laplace], WITH_DELTA)


def test_one_point_whose_number_of_records_is_public_needs_no_noise_on_its_tree() -> None:
    plan = make(LINES, cells=1, noise="haar", measure_discretisation=False)
    assert plan.events == ()
    assert make(LINES, RELATIONS[2], cells=1, noise="haar").events != ()


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_auto_takes_gaussian_noise_where_delta_makes_it_the_cheapest(adjacency) -> None:
    domain = Domain(tuple(line(f"x{i}", 3) for i in range(6)))
    plan = make(domain, adjacency, WITH_DELTA, cells=3)
    assert [strategy.name for strategy in plan.strategies] == ["gaussian"] * 15
    assert fits(plan.events, WITH_DELTA)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_laplace_noise_leaves_delta_unused(adjacency) -> None:
    plan = make(adjacency=adjacency, budget=WITH_DELTA, cells=2, noise="identity")
    assert pure_epsilon(plan.events) == EPSILON


def moves(plan: SparseLipschitzPlan) -> tuple[np.ndarray, np.ndarray]:
    """How far every query's answer moves between all neighbours, in L1 and squared in L2; each of
    shape (pairs, queries)."""
    maps = [query.cells for query in plan.queries]
    answers: dict[bytes, np.ndarray] = {}

    def answered(table: np.ndarray) -> np.ndarray:
        key = table.tobytes()
        if key not in answers:
            counts = zip(plan.queries, count_codes(table, maps), strict=True)
            parts = [query.transform(table) for query, table in counts]
            answers[key] = np.concatenate(parts)
            ends[:] = np.cumsum([0, *map(len, parts[:-1])])
        return answers[key]

    ends = np.zeros(len(maps), dtype=int)
    moved = np.array(
        [
            answered(other) - answered(one)
            for one, other in neighbours(plan.domain.shape, plan.adjacency)
        ]
    )
    return tuple(np.add.reduceat(change, ends, axis=1) for change in (np.abs(moved), moved**2))


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("noise", get_args(Noise))
def test_no_neighbours_move_an_answer_further_than_charged(noise, adjacency) -> None:
    lines = noise == "two-level"
    domain, parameters = (LINES, {"marginals": 1, "cells": 3}) if lines else (TINY, {"cells": 2})
    plan = make(domain, adjacency, WITH_DELTA, noise=noise, **parameters)
    assert plan.discretisation is not None
    blocks = len(plan.estimator.queries)
    for position, (query, l1, l2_squared) in enumerate(
        zip(plan.queries, *(most.max(axis=0) for most in moves(plan)), strict=True)
    ):
        event = query.event(adjacency)
        gaussian = isinstance(event, DiscreteGaussian)
        stated, moved = (event.l2_squared, l2_squared) if gaussian else (event.l1, l1)
        assert moved <= stated
        if position >= blocks:
            assert stated == adjacency.records * STEPS
        elif noise in ("identity", "gaussian"):
            assert moved == stated


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("noise", LAPLACE)
def test_the_privacy_loss_over_all_neighbours_is_at_most_epsilon(noise, adjacency) -> None:
    for measured in (True, False):
        plan = make(adjacency=adjacency, cells=2, noise=noise, measure_discretisation=measured)
        scales = [query.noise.scale for query in plan.queries]
        most = max(
            sum(Fraction(int(moved)) / scale for moved, scale in zip(row, scales, strict=True))
            for row in np.unique(moves(plan)[0], axis=0)
        )
        assert most <= EPSILON
        if noise == "identity" and not measured:
            assert most == EPSILON


@pytest.mark.parametrize("budget", [PURE, WITH_DELTA], ids=str)
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_planning_again_asks_the_same(adjacency, budget) -> None:
    public = public_table(STRIPES, 500)
    one, other = (
        make(STRIPES, adjacency, budget, 60, public, support_points=100) for _ in range(2)
    )
    assert [query.digest for query in one.queries] == [query.digest for query in other.queries]
    assert one.estimator.digest == other.estimator.digest
    assert one.parameters == other.parameters
    assert one.forecast() == other.forecast()
    again = pickle.loads(pickle.dumps(one))
    assert [query.digest for query in again.queries] == [query.digest for query in one.queries]
    assert (again.events, again.parameters) == (one.events, one.parameters)


@pytest.mark.parametrize("measured", [True, False], ids=["measured", "radius"])
@pytest.mark.parametrize(
    ("records", "order", "budget"),
    [(60, 2, PURE), (1500, 2, PURE), (1500, 2, WITH_DELTA), (400, 1, PURE)],
)
def test_the_automatic_grid_has_the_least_forecast(records, order, budget, measured) -> None:
    """Of all grids worth a try, also of those that were not tried as noise alone costs more."""
    settings = {"marginals": order, "measure_discretisation": measured}
    settings["noise"] = "identity" if budget.is_pure else "gaussian"
    public, forecasts = public_table(STRIPES, 300), {}
    chosen = make(STRIPES, REPLACE, budget, records, public, **settings)
    for k in candidates(STRIPES, LINE_CANDIDATES[-1] if order == 1 else CANDIDATES[-1]):
        plan = make(STRIPES, REPLACE, budget, records, public, cells=k, **settings)
        forecasts[k] = forecast_certificate(
            plan.family, plan.support, plan.expected_noise, records, plan.discretisation
        )
        assert plan.forecast().expected_error == min(1.0, forecasts[k])
    assert chosen.k == min(forecasts, key=forecasts.__getitem__)
    assert chosen.forecast().expected_error == min(1.0, forecasts[chosen.k])
    assert len(set(forecasts.values())) > 5
