"""The plan: privacy by enumeration, exact spending, scales, depth and forecast."""

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.wasserstein.pmm import PMM, PMMH, PMMPlan
from hallmark.mechanisms.wasserstein.pmm.plan import level_cost, level_weights
from tests.builders.columns import line, nominal
from tests.builders.releases import ADD, RELATIONS, REPLACE
from tests.mechanisms.wasserstein.pmm.trees import MECHANISMS, each_mechanism, planned
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost

EPSILON = Fraction(7, 5)
SMALL = Domain((line("x", 3, has_null=True), nominal("c", 3)))


def make(
    domain: Domain = SMALL, adjacency: Adjacency = REPLACE, records: int = 1000, **asked: Any
) -> PMMPlan:
    return planned(domain, adjacency, records=records, **{"epsilon": EPSILON, **asked})


def largest_loss(plan: PMMPlan) -> Fraction:
    return most_lost(plan.queries, plan.domain.shape, plan.adjacency)


def answers(plan: PMMPlan, records: np.ndarray) -> list[np.ndarray]:
    (counts,) = count_codes(records, [plan.partition.leaf_map])
    return [query.transform(counts) for query in plan.queries]


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_privacy_loss_over_all_neighbours_is_exactly_epsilon(
    adjacency, depth, mechanism
) -> None:
    plan = make(adjacency=adjacency, depth=depth, mechanism=mechanism)
    assert largest_loss(plan) == EPSILON


@each_mechanism
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_person_of_two_records_is_protected(neighbours, mechanism) -> None:
    adjacency = Adjacency(neighbours=neighbours, records=2)
    plan = make(adjacency=adjacency, depth=3, mechanism=mechanism)
    assert Fraction(1) < largest_loss(plan) <= EPSILON
    assert plan.levels.start == 0  # the number of records may differ, so it is measured


@each_mechanism
def test_the_published_accounting_would_cost_twice_as_much_under_replace_one(mechanism) -> None:
    """He, Vershynin, Zhu (2023), Theorem 9, counts one node a level where two change."""
    plan = make(adjacency=REPLACE, depth=3, mechanism=mechanism)
    as_published = replace(plan, scales=tuple(scale / 2 for scale in plan.scales))
    assert sum(1 / scale for scale in as_published.scales) == EPSILON
    assert largest_loss(as_published) == 2 * EPSILON


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_events_charge_every_query_with_its_own_noise_and_sum_to_epsilon(
    adjacency, mechanism
) -> None:
    plan = make(adjacency=adjacency, mechanism=mechanism)
    cost = sum(Fraction(event.l1 * event.times) / event.scale for event in plan.events)
    assert cost == plan.budget.epsilon
    assert [query.noise.scale for query in plan.queries] == list(plan.scales)


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(1000)])
def test_scales_are_rationals_that_nearly_minimise_the_error_bound(
    adjacency, epsilon, mechanism
) -> None:
    domain = Domain((line("x", 64), nominal("c", 5)))
    plan = make(domain, adjacency, epsilon=epsilon, depth=8, mechanism=mechanism)
    costs = np.array([level_cost(plan.partition, level) for level in plan.levels])
    weights = level_weights(plan.design, plan.levels) * costs

    def bound(shares: np.ndarray) -> float:
        parts = np.exp(shares) / np.exp(shares).sum()
        return float((weights * adjacency.l1 / parts).sum() / float(epsilon))

    best = minimize(bound, np.zeros(len(weights))).fun
    spent = float(weights @ [float(scale) for scale in plan.scales])
    assert best * (1 - 1e-6) <= spent <= best * 1.001


def noise_bounds(domain: Domain, adjacency: Adjacency, depth: int) -> list[float]:
    """Records misplaced by the noise of each mechanism at most, on average, times distance."""
    bounds = []
    for mechanism in MECHANISMS:
        plan = make(domain, adjacency, depth=depth, mechanism=mechanism)
        costs = [level_cost(plan.partition, level) for level in plan.levels]
        weights = level_weights(plan.design, plan.levels) * costs
        bounds.append(float(weights @ [float(scale) for scale in plan.scales]))
    return bounds


@pytest.mark.parametrize(
    "domain",
    [Domain((line("x", 1024),)), Domain((line("x", 64), nominal("c", 5)))],
    ids=["line", "two columns"],
)
def test_the_bound_on_the_noise_of_differences_is_a_third_of_that_of_counts(domain) -> None:
    counts, differences = noise_bounds(domain, REPLACE, 8)
    assert differences == pytest.approx(counts / 3, rel=1e-3)
    counts, differences = noise_bounds(domain, ADD, 8)  # the root is noisy in both
    assert 1 / 3 < differences / counts < 1 / 2


def test_the_bound_of_differences_on_the_line_is_the_square_of_the_depth_over_epsilon() -> None:
    """All levels cost the same there, so there are 8 scales of 2 * 8 / epsilon, halved."""
    _, differences = noise_bounds(Domain((line("x", 1024),)), REPLACE, 8)
    assert differences == pytest.approx(8**2 / (7 / 5), rel=1e-3)


@each_mechanism
def test_the_forecast_is_the_bound_on_noise_rounding_and_the_finest_boxes(mechanism) -> None:
    domain = Domain((line("x", 64), nominal("c", 5)))
    plan = make(domain, records=10**6, depth=8, mechanism=mechanism)
    noise = noise_bounds(domain, REPLACE, 8)[MECHANISMS.index(mechanism)]
    rounding = sum(float(plan.partition.flow_costs(level).sum()) for level in range(8)) / 2
    expected = (noise + (rounding if mechanism.name == "pmm-h" else 0)) / 10**6
    expected += float(plan.partition.diameters(8).max())
    assert plan.forecast().expected_error == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mechanism", "entries"), [(PMM(), [2, 4]), (PMMH(), [1, 2])], ids=["pmm", "pmm-h"]
)
def test_the_root_is_measured_only_where_the_number_of_records_is_private(
    mechanism, entries
) -> None:
    for adjacency, expected in zip(RELATIONS, [entries, [1, *entries]], strict=True):
        plan = make(adjacency=adjacency, depth=2, mechanism=mechanism)
        assert [len(answer) for answer in answers(plan, np.zeros((1, 2), int))] == expected
        assert [line.cells for line in plan.noise] == expected


@each_mechanism
def test_the_automatic_depth_has_the_least_forecast(mechanism) -> None:
    domain = Domain((line("x", 256),))
    for records in (50, 2_000, 10_000_000):
        for adjacency in RELATIONS:
            chosen = make(domain, adjacency, records=records, mechanism=mechanism)
            bounds = [
                make(domain, adjacency, records=records, depth=r, mechanism=mechanism)
                .forecast()
                .expected_error
                for r in range(1, 9)
            ]
            least = bounds[chosen.partition.depth - 1]
            assert least <= min(bounds) * 1.001  # shares are rounded to parts of the budget


def test_the_automatic_depth_grows_with_the_records() -> None:
    domain = Domain((line("x", 4096),))
    depths = [make(domain, records=n).partition.depth for n in (100, 10_000, 1_000_000)]
    assert depths == sorted(set(depths))


@each_mechanism
def test_a_domain_of_one_cell_needs_no_query_where_the_total_is_public(mechanism) -> None:
    domain = Domain((nominal("c", 1),))
    public, private = (make(domain, adjacency, mechanism=mechanism) for adjacency in RELATIONS)
    assert public.events == ()
    assert public.forecast().expected_error == 0
    assert [len(answer) for answer in answers(private, np.zeros((3, 1), int))] == [1]


def test_the_forecast_names_every_column_and_falls_with_more_records() -> None:
    domain = Domain((line("age", 16, has_null=True), nominal("sex", 3)))
    few, many = (make(domain, records=n, depth=7).forecast() for n in (1_000, 100_000))
    assert set(few.per_attribute) == {"age", "sex"}
    assert many.expected_error < few.expected_error
    assert all(many.per_attribute[name] < few.per_attribute[name] for name in few.per_attribute)
    assert few.memory_bytes > 0


@each_mechanism
@pytest.mark.slow
def test_a_plan_of_four_million_leaves_and_its_forecast_take_seconds(mechanism) -> None:
    domain = Domain((line("x", 2048), line("y", 2048)))
    start = time.process_time()
    plan = make(domain, records=10**7, depth=22, mechanism=mechanism)
    forecast = plan.forecast()
    assert time.process_time() - start < 10  # two, where nothing else runs
    assert plan.partition.leaves == 1 << 22
    assert 0 < forecast.per_attribute["x"] < forecast.expected_error


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depht": 3}, "mechanism.depht: pmm has no such parameter; it knows consistency, dep"),
        ({"depth": 6}, "mechanism.depth: 6; use 'auto' or a whole number from 0 to 5"),
        ({"depth": -1}, "mechanism.depth: -1"),
        ({"depth": True}, "mechanism.depth: True"),
        ({"depth": "deep"}, "mechanism.depth: 'deep'"),
        ({"consistency": "random"}, "mechanism.consistency: 'random'; use 'uniform'"),
        (
            {"consistency": "uniform", "mechanism": PMMH()},
            "mechanism.consistency: pmm-h has no such parameter; it knows depth",
        ),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_mend(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_a_table_without_expected_records_is_refused() -> None:
    with pytest.raises(ValueError, match="expected number of records: 0"):
        make(records=0)
