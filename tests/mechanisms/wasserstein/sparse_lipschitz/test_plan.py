"""The plan: exact budgets over all neighbours, the choice of the grid by forecast, and refusals."""

import pickle
import re
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from hallmark.mechanisms.blocks.choose_noise import NoiseChoice
from hallmark.mechanisms.blocks.discretisation import STEPS
from hallmark.mechanisms.blocks.marginals import (
    CANDIDATES,
    LINE_CANDIDATES,
    MOST_COUNTS,
    candidates,
)
from hallmark.mechanisms.blocks.programs import Loss
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.accountant import epsilon, fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.events import DiscreteGaussian, DiscreteLaplace
from hallmark.mechanisms.wasserstein.sparse_lipschitz import SparseLipschitz, SparseLipschitzPlan
from hallmark.mechanisms.wasserstein.sparse_lipschitz.plan import (
    MOST_GRID_POINTS,
    forecast_certificate,
)
from tests.builders.columns import line, nominal, places
from tests.builders.releases import ADD, REPLACE, UP_TO_TWO_RECORDS, request
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

EPSILON = Fraction(7, 5)
PURE = Budget(epsilon=EPSILON)
WITH_DELTA = Budget(epsilon=EPSILON, delta=Fraction(1, 10**6))
TINY = Domain((line("x", 3), nominal("c", 2), line("y", 2, has_null=True)))
LINES = Domain((line("x", 3), line("y", 4)))
STRIPES = Domain((line("x", 30), nominal("c", 3)))
MANY = 10**7  # so many that it pays to measure distances
LAPLACE: tuple[NoiseChoice, ...] = ("identity", "haar", "superregular", "paper")


def make(
    domain: Domain = TINY,
    adjacency: Adjacency = REPLACE,
    budget: Budget = PURE,
    records: int = MANY,
    public: np.ndarray | None = None,
    **parameters: object,
) -> SparseLipschitzPlan:
    asked = request(domain, adjacency, records=records, public=public, **parameters)
    return SparseLipschitz().plan(replace(asked, budget=budget))


def public_table(domain: Domain, rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([(k * rng.beta(2, 4, rows)).astype(int) for k in domain.shape], axis=1)


@pytest.mark.parametrize("measured", [True, False], ids=["measured", "radius"])
@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
@pytest.mark.parametrize("noise", ["auto", *LAPLACE])
def test_laplace_noise_costs_the_budget_exactly(noise, adjacency, measured) -> None:
    for k in (2, 3):
        plan = make(adjacency=adjacency, cells=k, noise=noise, measure_discretisation=measured)
        if noise == "paper" and adjacency.neighbours is Neighbours.REPLACE_ONE:
            # Its noisy number of records is as printed, and moves by half as much as counts.
            assert EPSILON / 2 < pure_epsilon(plan.events) < EPSILON
        else:
            assert pure_epsilon(plan.events) == EPSILON


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
def test_two_levels_on_lines_cost_the_budget_exactly(adjacency) -> None:
    plan = make(LINES, adjacency, marginals=1, cells=3, noise="two-level")
    assert pure_epsilon(plan.events) == EPSILON


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
def test_gaussian_noise_fits_the_budget_and_little_less_of_it_would_not(adjacency) -> None:
    plan = make(adjacency=adjacency, budget=WITH_DELTA, cells=2, noise="gaussian")
    assert pure_epsilon(plan.events) is None
    assert fits(plan.events, WITH_DELTA)
    laplace = [event for event in plan.events if isinstance(event, DiscreteLaplace)]
    gaussian = [event for event in plan.events if isinstance(event, DiscreteGaussian)]
    assert plan.discretisation is not None
    assert pure_epsilon(laplace) == plan.discretisation.epsilon
    rest = EPSILON - plan.discretisation.epsilon
    assert 0.99 * rest < epsilon(gaussian, WITH_DELTA.delta) <= rest
    wrong = [replace(event, sigma2=event.sigma2 * Fraction(9, 10)) for event in gaussian]
    assert not fits(wrong, Budget(epsilon=rest, delta=WITH_DELTA.delta))


def test_one_point_whose_number_of_records_is_public_needs_no_noise_on_its_tree() -> None:
    plan = make(LINES, cells=1, noise="haar", measure_discretisation=False)
    assert plan.events == ()
    assert make(LINES, ADD, cells=1, noise="haar").events != ()


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
def test_auto_takes_gaussian_noise_where_delta_makes_it_the_cheapest(adjacency) -> None:
    domain = Domain(tuple(line(f"x{i}", 3) for i in range(6)))
    plan = make(domain, adjacency, WITH_DELTA, cells=3)
    assert [strategy.name for strategy in plan.strategies] == ["gaussian"] * 15
    assert fits(plan.events, WITH_DELTA)


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
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


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
@pytest.mark.parametrize("noise", get_args(NoiseChoice))
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


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
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
@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
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


@pytest.mark.parametrize(
    ("records", "order", "budget", "measured"),
    [
        (60, 2, PURE, True),
        (1500, 2, PURE, True),
        (1500, 2, PURE, False),
        (1500, 2, WITH_DELTA, False),
        (400, 1, PURE, True),
        (400, 1, PURE, False),
    ],
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
    # Noise is simulated once for all shares of the distances, so forecasts agree to a percent.
    assert chosen.forecast().expected_error <= 1.01 * min(1.0, *forecasts.values())
    assert len(set(forecasts.values())) > 5


def test_the_forecast_on_a_grid_is_no_less_than_its_discretisation() -> None:
    """Records spread evenly over a cell of a line lie a quarter of its width from its middle."""
    domain = Domain((line("x", 40),))
    plan = make(domain, records=10**5, cells=4)
    assert plan.support_kind == "grid"
    evenly = np.arange(40)[:, None]
    mean = plan.family.blocks[0].distances_to_points(evenly).mean()
    assert plan.forecast().expected_error >= mean


def test_the_search_for_a_grid_ends_before_it_is_too_large_to_be_the_support() -> None:
    domain = Domain(tuple(line(f"x{i}", 12) for i in range(4)))
    plan = make(domain, records=10**6, marginals=1)
    assert len(plan.support) <= MOST_GRID_POINTS


def test_a_public_table_is_the_support_where_there_is_one() -> None:
    public = public_table(TINY, 50)
    plan = make(public=public, cells=2)
    assert (plan.support_kind, plan.parameters["support"]) == ("public", "public")
    assert (plan.support == public).all()
    assert plan.support.dtype == np.int32
    assert make(public=public, cells=2, support="grid").support_kind == "grid"
    assert make(public=public, cells=2, support="public").support_kind == "public"


def test_of_a_large_public_table_some_records_are_taken_in_their_order() -> None:
    public = np.argwhere(np.ones(STRIPES.shape))
    plan = make(STRIPES, public=public, cells=2, support_points=20)
    rows = [int(np.flatnonzero((public == record).all(axis=1))[0]) for record in plan.support]
    assert len(rows) == 20 == plan.parameters["support_points"]
    assert rows == sorted(set(rows))
    other = make(STRIPES, public=public[::-1], cells=2, support_points=20)
    assert other.parameters["support_sha256"] != plan.parameters["support_sha256"]


def test_without_public_data_the_support_has_one_record_at_every_point_of_the_grid() -> None:
    plan = make(cells=2, marginals=3)
    (block,) = plan.family.blocks
    assert plan.support_kind == "grid"
    assert sorted(block.cells(plan.support)) == list(range(block.space.size))
    assert block.space.size == 2 * 2 * 3


@pytest.mark.parametrize("loss_of_weights", get_args(Loss))
def test_every_loss_may_be_asked_for(loss_of_weights) -> None:
    plan = make(cells=2, loss=loss_of_weights)
    assert plan.parameters["loss"] == loss_of_weights


def test_blocks_are_those_asked_for_or_all_of_an_order() -> None:
    named = make(cells=2, blocks=[["y", "x"], ["c"]])
    assert [block.columns for block in named.family.blocks] == [(2, 0), (1,)]
    for order, names in [
        (1, ["x", "c", "y"]),
        (2, ["x x c", "x x y", "c x y"]),
        (3, ["x x c x y"]),
    ]:
        assert make(cells=2, marginals=order).parameters["blocks"] == names
    assert make(cells=2).parameters["blocks"] == ["x x c", "x x y", "c x y"]
    assert make(Domain((line("x", 3),)), cells=2).parameters["blocks"] == ["x"]


def test_the_noise_is_told_of_every_kind_of_table_and_of_the_distances() -> None:
    plan = make(cells=2, noise="identity")
    assert plan.discretisation is not None
    *blocks, distances = plan.noise
    assert [row.query for row in blocks] == ["identity noise on all 3 two-way marginals"]
    assert [row.sensitivity for row in blocks] == [f"L1 = {3 * REPLACE.l1} records"]
    scale = 3 / (EPSILON - plan.discretisation.epsilon) * REPLACE.l1
    assert {row.parameter for row in blocks} == {f"scale = {scale} records"}
    scale = 3 / plan.discretisation.epsilon
    assert distances.parameter == f"scale = {scale * STEPS} 2^-20 radii"
    assert distances.standard_deviation == pytest.approx(float(scale) * 2**0.5)
    unmeasured = make(cells=2, noise="identity", measure_discretisation=False).noise
    assert [row.query for row in unmeasured] == [row.query for row in blocks]


def test_every_noisy_entry_is_told_of() -> None:
    plan = make(cells=2, noise="identity")
    sizes = [query.cells.size for query in plan.estimator.queries]
    told = sum(row.cells for row in plan.noise)
    assert told == sum(sizes) + len(plan.discretisation.queries)


def test_distances_are_measured_where_it_pays() -> None:
    plan = make(cells=2, noise="identity")
    assert plan.discretisation is not None
    share = plan.discretisation.epsilon / EPSILON
    assert 0 < share < Fraction(1, 5)
    assert plan.parameters["discretisation_share"] == str(share)
    assert len(plan.queries) == 3 + 3
    for other in (
        make(cells=2, measure_discretisation=False),
        make(Domain((nominal("a", 4), nominal("b", 3)))),  # all 0
        make(cells=2, records=1),  # more noise than distances
    ):
        assert other.discretisation is None
        assert other.parameters["discretisation_share"] == "0"
        assert other.queries == other.estimator.queries
    assert (
        plan.forecast().expected_error
        < make(cells=2, noise="identity", measure_discretisation=False).forecast().expected_error
    )


def test_places_have_one_grid() -> None:
    towns = places("town", np.random.default_rng(1).random((6, 2)))
    plan = make(Domain((towns, nominal("c", 2))))
    assert plan.family.radius == 0
    assert plan.parameters["blocks"] == ["town x c"]
    assert plan.k == 2


def test_the_forecast_falls_with_more_records_and_epsilon() -> None:
    public = public_table(STRIPES, 300)
    few = make(STRIPES, records=200, public=public, noise="identity").forecast()
    many = make(STRIPES, records=5000, public=public, noise="identity").forecast()
    ample = Budget(epsilon=10 * EPSILON)
    sharper = make(STRIPES, REPLACE, ample, 200, public, noise="identity").forecast()
    assert many.expected_error < few.expected_error
    assert sharper.expected_error < few.expected_error
    assert many.memory_bytes > 0
    assert few.metric.endswith("over x x c")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"depth": 3},
            "mechanism.depth: sparse-lipschitz has no such parameter; it knows blocks, cells, "
            "loss, marginals, measure_discretisation, noise, support, support_points",
        ),
        (
            {"blocks": [["x"]], "marginals": 1},
            "mechanism.blocks: given with marginals; give one of the two",
        ),
        (
            {"blocks": [["x"], ["x", "z"]]},
            "mechanism.blocks[1]: no column 'z'; there are x, c, y",
        ),
        ({"blocks": "x"}, "mechanism.blocks: 'x'; give a list of lists of column names"),
        ({"blocks": ["x"]}, "mechanism.blocks[0]: 'x'; give a list of columns"),
        ({"blocks": []}, "mechanism.blocks: there is none; name one at least"),
        ({"blocks": [[]]}, "blocks[0]: []; name each column of a block once"),
        ({"blocks": [["x", "x"]]}, "blocks[0]: ['x', 'x']; name each column of a block once"),
        (
            {"blocks": [["x", "y"], ["y", "x"]]},
            "blocks[1]: ['y', 'x'] come in an earlier block; drop one",
        ),
        (
            {"marginals": 4},
            "mechanism.marginals: 4, but there are only 3 columns; give at most that many",
        ),
        ({"marginals": 0}, "mechanism.marginals: 0; give a whole number of at least 1"),
        ({"marginals": "two"}, "mechanism.marginals: 'two'; give a whole number"),
        ({"cells": 0}, "mechanism.cells: 0; give a whole number of at least 1"),
        ({"cells": True}, "mechanism.cells: True; give a whole number"),
        ({"cells": 2.5}, "mechanism.cells: 2.5; give a whole number"),
        ({"noise": "loud"}, "mechanism.noise: 'loud'; use auto, identity, haar, two-level, gauss"),
        ({"noise": "gaussian"}, "mechanism.noise: gaussian, which needs privacy.delta above 0"),
        ({"noise": "two-level"}, "mechanism.noise: two-level, but x x y is no line"),
        ({"loss": "W1"}, "mechanism.loss: 'W1'; use U_T, L_tree, L_T"),
        ({"support": "cube"}, "mechanism.support: 'cube'; use auto, public, grid"),
        (
            {"support": "public"},
            "mechanism.support: public, but the spec has no public_data section; add one, or use "
            "support: grid",
        ),
        ({"support_points": 0}, "mechanism.support_points: 0; give a whole number of at least 1"),
        (
            {"measure_discretisation": "yes"},
            "mechanism.measure_discretisation: 'yes'; use true or false",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_wrong_parameter_is_refused_with_its_mend(parameters, message) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make(**parameters)


def test_a_table_without_expected_records_is_refused() -> None:
    with pytest.raises(ValueError, match="expected number of records: 0; give at least 1"):
        make(records=0)


def test_a_grid_too_large_to_be_the_support_is_refused() -> None:
    domain = Domain(tuple(line(f"x{i}", 40) for i in range(3)))
    message = (
        "public_data: there is none, and the grid over all 3 columns has 64,000 points at 40 "
        "cells a column, more than 20,000; name a public table with these columns, set fewer "
        "cells, or release fewer columns"
    )
    with pytest.raises(ValueError, match=message):
        make(domain, cells=40, marginals=1)
    assert make(domain, cells=40, marginals=1, public=public_table(domain, 9)).k == 40


def test_tables_too_large_are_refused_with_their_size() -> None:
    domain = Domain(tuple(line(f"x{i}", 1000) for i in range(4)))
    message = (
        r"4 tables of up to 1,000,000,000 cells \(k = 1000\) hold 4,000,000,000 noisy counts of 8 "
        rf"bytes = 32\.0 GB, but at most {MOST_COUNTS:,} are taken; use a smaller k, fewer columns,"
    )
    with pytest.raises(ValueError, match=message):
        make(domain, cells=1000, marginals=3, public=public_table(domain, 9))
