"""The plan: exact budgets over all neighbours, candidates, choice, and refusals."""

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.wasserstein.adaptive_support import AdaptiveSupport, AdaptiveSupportPlan
from hallmark.mechanisms.wasserstein.adaptive_support.support import expected_misfit
from tests.builders.columns import line, nominal
from tests.builders.releases import ADD, REPLACE, UP_TO_TWO_RECORDS, request
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost

TINY = Domain((line("x", 4), nominal("c", 2)))
EPSILON = Fraction(7, 5)


def make(
    domain: Domain = TINY, adjacency: Adjacency = REPLACE, records: int = 60, **asked: Any
) -> AdaptiveSupportPlan:
    asked = {"epsilon": EPSILON, **asked}
    return AdaptiveSupport().plan(request(domain, adjacency, records=records, **asked))


def largest_loss(plan: AdaptiveSupportPlan) -> Fraction:
    """Over all candidates, all neighbours, and rests of at most two records."""
    return max(
        most_lost(
            (*plan.size_queries, *plan.queries(candidate)), plan.domain.shape, plan.adjacency, rest
        )
        for candidate in range(len(plan.candidates))
        for rest in ([], [[0, 0]], [[0, 0], [3, 1]])
    )


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
def test_no_neighbours_lose_more_than_epsilon_and_some_lose_it_all(adjacency) -> None:
    plan = make(adjacency=adjacency, records=12)
    assert len(plan.candidates) > 1
    lost = largest_loss(plan)
    assert lost <= EPSILON
    if adjacency.neighbours is Neighbours.ADD_REMOVE or adjacency.total_is_public:
        assert lost == EPSILON
    else:  # no replacement changes all counts and the number of records, too, as far as can be
        assert lost > EPSILON * Fraction(4, 5)


def test_half_the_noise_on_the_support_would_be_noticed() -> None:
    plan = make(adjacency=ADD, records=12)
    assert largest_loss(replace(plan, size_scale=plan.size_scale / 2)) > EPSILON


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
def test_the_events_cost_exactly_epsilon_whichever_candidate_is_chosen(adjacency) -> None:
    plan = make(Domain((line("x", 100), line("y", 100), nominal("c", 3))), adjacency, 5000)
    cost = sum(Fraction(event.l1 * event.times) / event.scale for event in plan.events)
    assert cost == EPSILON
    for candidate in range(len(plan.candidates)):
        events = [query.event(adjacency) for query in plan.queries(candidate)]
        assert events == [query.event(adjacency) for query in plan.queries(0)]


def test_the_number_of_records_is_measured_only_where_it_is_private() -> None:
    asked = {str(a): len(make(adjacency=a).queries(0)) for a in UP_TO_TWO_RECORDS}
    assert list(asked.values()) == [1, 2, 2, 2]


def test_candidates_are_finer_for_thinner_supports_and_capped() -> None:
    plan = make(Domain(tuple(line(f"x{i}", 100) for i in range(4))), records=27_000)
    sizes = [grid.size for grid in plan.candidates]
    assert sizes == sorted(set(sizes), reverse=True)
    assert max(sizes) <= 2**24
    assert sorted(s for dimensions in plan.dimensions for s in dimensions) == [0, 1, 2, 3, 4]


def test_the_choice_has_the_least_bound_at_the_noisy_sizes() -> None:
    plan = make(Domain((line("x", 100), line("y", 100))), records=20_000)
    scale = float(plan.counts_scale)
    for sizes in itertools.product((1, 40, 100, 3000), repeat=len(plan.candidates)):
        bounds = [
            grid.radius + expected_misfit(grid.size, min(size, grid.size, 20_000), scale) / 20_000
            for grid, size in zip(plan.candidates, sizes, strict=True)
        ]
        chosen = plan.chosen([np.array([size]) for size in sizes], 20_000)
        assert bounds[chosen] == min(bounds)


def test_a_noisy_size_below_one_or_beyond_the_grid_is_brought_back() -> None:
    plan = make(records=50)
    extremes = [np.array([-(10**6)])] * len(plan.candidates)
    assert 0 <= plan.chosen(extremes, 50) < len(plan.candidates)
    extremes = [np.array([10**6])] * len(plan.candidates)
    assert 0 <= plan.chosen(extremes, None) < len(plan.candidates)


def test_a_larger_share_of_the_selection_means_less_noise_in_it() -> None:
    little, much = (make(selection_share=share) for share in (0.1, Fraction(1, 2)))
    assert little.size_scale / len(little.candidates) == 5 * (
        much.size_scale / len(much.candidates)
    )
    assert little.counts_scale < much.counts_scale


def test_the_forecast_falls_with_more_records_and_names_every_dimension() -> None:
    domain = Domain((line("x", 100), line("y", 100)))
    few, many = (make(domain, records=n).forecast() for n in (1000, 100_000))
    assert many.expected_error < few.expected_error <= 1
    for dimension in range(3):
        assert f"{dimension}: " in many.statement
    assert many.memory_bytes > 0


def test_the_noise_table_has_a_line_for_every_query() -> None:
    for adjacency in UP_TO_TWO_RECORDS:
        plan = make(adjacency=adjacency)
        assert len(plan.noise) == len(plan.size_queries) + len(plan.queries(0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cells": 3}, "mechanism.cells: adaptive-support has no such parameter"),
        ({"selection_share": 0}, "mechanism.selection_share: 0; give a number between 0 and 1"),
        ({"selection_share": 1}, "mechanism.selection_share: 1;"),
        ({"selection_share": "1/0"}, "mechanism.selection_share: '1/0'"),
        ({"selection_share": "half"}, "mechanism.selection_share: 'half'"),
        ({"selection_share": True}, "mechanism.selection_share: True"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_mend(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_a_domain_of_too_many_combinations_is_refused() -> None:
    with pytest.raises(ValueError, match=r"have 100,000,000 combinations, .* at most 16,777,216"):
        make(Domain(tuple(nominal(f"c{i}", 100) for i in range(4))))


def test_a_table_without_expected_records_is_refused() -> None:
    with pytest.raises(ValueError, match="expected number of records: 0"):
        make(records=0)
