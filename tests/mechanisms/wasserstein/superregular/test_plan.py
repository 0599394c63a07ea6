"""Superregular plans: budgets over all neighbours, the walk's law, closed forms, and refusals."""

import pickle
from fractions import Fraction
from math import ceil, log2, sqrt

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.wasserstein.superregular import Superregular
from tests.builders.columns import line, nominal, places
from tests.builders.releases import ADD, RELATIONS, REPLACE, UP_TO_TWO_RECORDS
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost
from tests.mechanisms.wasserstein.single_histogram.runs import make

LINE = Domain((line("x", 1024),))
PLANE = Domain((line("x", 64), line("y", 64)))
TOWNS = Domain((places("town", np.random.default_rng(0).random((21, 2)), has_null=True),))
EPSILON = Fraction(7, 5)


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
@pytest.mark.parametrize("levels", [1, 2, 3, 4, 6])
def test_the_privacy_loss_over_all_neighbours_is_at_most_epsilon(adjacency, levels) -> None:
    domain = Domain((line("x", levels),))
    plan = make(Superregular(), domain, adjacency, epsilon=EPSILON, cells=levels)
    lost = most_lost(plan.queries, domain.shape, adjacency)
    assert lost <= EPSILON
    if levels in (2, 4) and adjacency.records == 1:  # full trees
        assert lost == EPSILON
    charged = sum(Fraction(e.l1 * e.times) / e.scale for e in plan.events)
    assert charged == EPSILON or not plan.queries


@pytest.mark.parametrize("levels", [3, 4, 8])
def test_the_published_scales_are_more_than_four_times_what_is_needed(levels: int) -> None:
    domain, depth = Domain((line("x", levels),)), ceil(log2(levels))
    tight, paper = (
        make(Superregular(), domain, REPLACE, epsilon=EPSILON, cells=levels, mode=mode)
        for mode in ("tight", "paper")
    )
    scales = [max(query.noise.scale for query in plan.queries) for plan in (tight, paper)]
    assert scales[1] / scales[0] == pytest.approx(4 + Fraction(2, depth), rel=1e-3)
    charged = sum(Fraction(e.l1 * e.times) / e.scale for e in paper.events)
    assert charged == EPSILON * (depth + 1) / (4 * depth + 2)
    assert most_lost(paper.queries, domain.shape, REPLACE) <= charged


def test_partial_sums_have_the_variance_of_the_walk_on_hats() -> None:
    """Var(Z_1 + ... + Z_j) = 2 b^2 sum_i hat_i(j)^2, with b the scale on hats of height 1."""
    plan = make(Superregular(), LINE, REPLACE, cells=16)
    hats = np.zeros((4, 17))
    for level in range(4):
        width = 16 >> level
        along = np.arange(17) % width / width
        hats[level] = 1 - np.abs(2 * along - 1)
    scales = np.array([float(query.noise.scale) for query in plan.queries]) / 2
    expected = 2 * scales**2 @ hats**2
    draws = plan.design.strategy.simulate(40_000, np.random.default_rng(1), total_is_public=True)
    partial = np.cumsum(draws[:, plan.design.space.order], axis=1)
    # Discrete noise of scale 2b has variance 2 (2b)^2 less 1/6, up to O(1/b^2).
    assert partial[:, :-1].var(axis=0) == pytest.approx(expected[1:-1], rel=0.08)
    assert np.abs(partial[:, -1]).max() < 1e-9


def test_the_noise_on_a_line_has_the_known_cost() -> None:
    """9.47 / epsilon at 64 points and 20.5 at 1024, below sqrt(2/3) L^(3/2)."""
    for points, cost, spread in ((64, 9.47, 0.1), (1024, 20.5, 0.1)):
        strategy = make(Superregular(), LINE, REPLACE, cells=points).design.strategy
        space = make(Superregular(), LINE, REPLACE, cells=points).design.space
        errors = strategy.simulate(600, np.random.default_rng(2), total_is_public=True)
        measured = float(path_loss(space, errors).mean())
        assert measured == pytest.approx(cost, rel=spread)
        assert measured < sqrt(2 / 3) * log2(points) ** 1.5


@pytest.mark.parametrize("domain", [PLANE, TOWNS], ids=["grid", "places"])
def test_the_cost_of_the_noise_is_below_the_closed_form(domain) -> None:
    plan = make(Superregular(), domain, REPLACE, records=2000)
    length, depth = plan.design.space.gaps.sum(), ceil(log2(plan.design.grid.size))
    assert plan.design.noise_cost <= sqrt(2 / 3) * depth**1.5 * length * 1.3


def test_the_automatic_grid_has_the_least_forecast() -> None:
    for adjacency in RELATIONS:
        chosen = make(Superregular(), PLANE, adjacency, records=5000)
        for cells in (1, 2, 4, 8, 16, 32):
            other = make(Superregular(), PLANE, adjacency, records=5000, cells=cells)
            least = chosen.forecast().expected_error
            assert least <= other.forecast().expected_error * 1.001


def test_hilberts_curve_passes_over_grids_that_have_one_point_more_than_cells() -> None:
    ordered = Domain((line("x", 9, width=0.0), line("y", 9, width=0.0)))  # exact on eight steps
    plan = make(Superregular(), ordered, REPLACE, records=20_000, path="hilbert")
    assert plan.design.grid.shape == (4, 4)


def test_hilberts_curve_is_followed_where_asked_for() -> None:
    automatic = make(Superregular(), PLANE, REPLACE, records=20_000, path="hilbert")
    assert automatic.design.grid.k in (8, 16, 32)
    chosen = make(Superregular(), PLANE, REPLACE, cells=8, path="hilbert")
    snake = make(Superregular(), PLANE, REPLACE, cells=8)
    assert (chosen.design.space.order != snake.design.space.order).any()
    assert chosen.design.space.gaps == pytest.approx(np.full(63, 1 / 8))
    assert chosen.parameters["path"] == "hilbert"


def test_places_are_visited_along_a_short_path() -> None:
    plan = make(Superregular(), TOWNS, REPLACE)
    assert plan.parameters["path"] == "short"
    assert plan.design.grid.size == 22
    assert plan.design.grid.radius == 0
    rng = np.random.default_rng(3)
    distances = np.ones((22, 22))
    distances[:21, :21] = TOWNS.attributes[0].distances
    random = [distances[o[:-1], o[1:]].sum() for o in (rng.permutation(22) for _ in range(200))]
    assert plan.design.space.gaps.sum() < 0.7 * min(random)


def test_places_beside_categories_are_one_small_product() -> None:
    domain = Domain((*TOWNS.attributes, nominal("c", 3)))
    assert make(Superregular(), domain, REPLACE).design.grid.size == 66


def test_the_plan_says_what_it_chose_and_pickles() -> None:
    plan = make(Superregular(), PLANE, ADD, cells=4, mode="paper")
    assert plan.parameters["mode"] == "paper"
    assert plan.parameters["points"] == [4, 4]
    assert len(plan.noise) == len(plan.queries) == 5
    assert [line.cells for line in plan.noise] == [1, 1, 2, 4, 8]
    again = pickle.loads(pickle.dumps(plan))
    assert (again.events, again.parameters) == (plan.events, plan.parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depth": 3}, "mechanism.depth: superregular has no such parameter"),
        ({"mode": "loose"}, "mechanism.mode: 'loose'; use 'tight' or 'paper'"),
        (
            {"path": "peano"},
            "mechanism.path: 'peano'; use 'auto' or 'snake' or 'hilbert' or 'short",
        ),
        ({"path": ["snake"]}, r"mechanism.path: \['snake'\]"),
        ({"cells": -1}, "mechanism.cells: -1"),
        ({"cells": 6, "path": "hilbert"}, "needs a power of two of cells a side, not k = 6"),
        ({"cells": 64, "path": "short"}, "mechanism.cells: 64 a column make 4,096 points"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_mend(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(Superregular(), PLANE, REPLACE, **parameters)


def test_more_places_than_can_be_compared_are_refused() -> None:
    domain = Domain((*TOWNS.attributes, nominal("c", 100)))
    with pytest.raises(ValueError, match=r"have 2,200 combinations, .* at most 1,500"):
        make(Superregular(), domain, REPLACE)
