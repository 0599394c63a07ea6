"""The plan: privacy by enumeration, exact spending, scales, depth and forecast."""

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.pmm import PMM, PMMPlan
from mechanisms.pmm.plan import PAIR, ROOT, level_costs
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import count_codes

RELATIONS = [Adjacency(neighbours=neighbours) for neighbours in Neighbours]


def numeric(levels: int, has_null: bool = False, name: str = "x") -> Attribute:
    return Attribute(
        name=name,
        kind=Kind.NUMERIC,
        positions=(np.arange(levels) + 0.5) / levels,
        widths=np.full(levels, 1 / levels),
        has_null=has_null,
    )


def nominal(levels: int, name: str = "c") -> Attribute:
    return Attribute(
        name=name, kind=Kind.NOMINAL, positions=np.linspace(0, 1, levels), widths=np.zeros(levels)
    )


SMALL = Domain((numeric(3, True), nominal(3)))


def make(
    domain: Domain = SMALL,
    adjacency: Adjacency = RELATIONS[0],
    epsilon: Fraction = Fraction(7, 5),
    records: int = 1000,
    **parameters: object,
) -> PMMPlan:
    return PMM().plan(
        domain,
        budget=Budget(epsilon=epsilon),
        adjacency=adjacency,
        expected_records=records,
        parameters=parameters,
    )


def answers(plan: PMMPlan, records: np.ndarray) -> list[np.ndarray]:
    (counts,) = count_codes(records, [plan.partition.leaf_map])
    return [query.transform(counts) for query in plan.queries]


def largest_loss(plan: PMMPlan) -> Fraction:
    """Largest sum of |change| / scale over all neighbours of all tables of the domain.

    Changes of counts do not depend on the records that neighbours share.
    """
    records = np.array(list(itertools.product(*(range(k) for k in plan.domain.shape))))
    nothing = records[:0]
    units = list(itertools.combinations_with_replacement(records, plan.adjacency.records))
    tables = [np.array(unit) for unit in units]
    if plan.adjacency.neighbours is Neighbours.ADD_REMOVE:
        pairs = [(nothing, table) for table in tables]
    else:
        pairs = list(itertools.combinations(tables, 2))
    return max(
        sum(
            (
                Fraction(int(np.abs(a - b).sum())) / scale
                for a, b, scale in zip(
                    answers(plan, one), answers(plan, other), plan.scales, strict=True
                )
            ),
            Fraction(0),
        )
        for one, other in pairs
    )


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_privacy_loss_over_all_neighbours_is_exactly_epsilon(adjacency, depth) -> None:
    assert largest_loss(make(adjacency=adjacency, depth=depth)) == Fraction(7, 5)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_person_of_two_records_is_protected(neighbours) -> None:
    plan = make(adjacency=Adjacency(neighbours=neighbours, records=2), depth=3)
    assert Fraction(1) < largest_loss(plan) <= Fraction(7, 5)
    assert plan.levels.start == 0  # the number of records may differ, so it is measured


def test_the_published_accounting_would_cost_twice_as_much_under_replace_one() -> None:
    """He, Vershynin, Zhu (2023), Theorem 9, counts one node a level where two change."""
    plan = make(adjacency=RELATIONS[0], depth=3)
    as_published = replace(plan, scales=tuple(scale / 2 for scale in plan.scales))
    assert sum(1 / scale for scale in as_published.scales) == Fraction(7, 5)
    assert largest_loss(as_published) == 2 * Fraction(7, 5)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_events_charge_every_query_with_its_own_noise_and_sum_to_epsilon(adjacency) -> None:
    plan = make(adjacency=adjacency)
    cost = sum(Fraction(event.l1 * event.times) / event.scale for event in plan.events)
    assert cost == plan.budget.epsilon
    assert [query.noise.scale for query in plan.queries] == list(plan.scales)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(1000)])
def test_scales_are_rationals_that_nearly_minimise_the_error_bound(adjacency, epsilon) -> None:
    plan = make(Domain((numeric(64), nominal(5))), adjacency, epsilon, depth=8)
    costs = np.array(level_costs(plan.domain, plan.partition.splits, plan.levels))
    weights = np.array([PAIR if level else ROOT for level in plan.levels]) * costs

    def bound(shares: np.ndarray) -> float:
        parts = np.exp(shares) / np.exp(shares).sum()
        return float((weights * adjacency.l1 / parts).sum() / float(epsilon))

    best = minimize(bound, np.zeros(len(weights))).fun
    spent = float(weights @ [float(scale) for scale in plan.scales])
    assert best * (1 - 1e-6) <= spent <= best * 1.001


def test_the_root_is_measured_only_where_the_number_of_records_is_private() -> None:
    public, private = (make(adjacency=adjacency, depth=2) for adjacency in RELATIONS)
    assert [len(answer) for answer in answers(public, np.zeros((1, 2), int))] == [2, 4]
    assert [len(answer) for answer in answers(private, np.zeros((1, 2), int))] == [1, 2, 4]
    assert len(public.noise) == 2
    assert len(private.noise) == 3


def test_the_automatic_depth_has_the_least_forecast() -> None:
    domain = Domain((numeric(256),))
    for records in (50, 2_000, 10_000_000):
        for adjacency in RELATIONS:
            chosen = make(domain, adjacency, records=records)
            bounds = [
                make(domain, adjacency, records=records, depth=r).forecast().expected_error
                for r in range(1, 9)
            ]
            least = bounds[chosen.partition.depth - 1]
            assert least <= min(bounds) * 1.001  # shares are rounded to parts of the budget


def test_the_automatic_depth_grows_with_the_records() -> None:
    domain = Domain((numeric(4096),))
    depths = [make(domain, records=n).partition.depth for n in (100, 10_000, 1_000_000)]
    assert depths == sorted(set(depths))


def test_a_domain_of_one_cell_needs_no_query_where_the_total_is_public() -> None:
    domain = Domain((nominal(1),))
    public, private = (make(domain, adjacency) for adjacency in RELATIONS)
    assert public.events == ()
    assert public.forecast().expected_error == 0
    assert [len(answer) for answer in answers(private, np.zeros((3, 1), int))] == [1]


def test_the_forecast_names_every_column_and_falls_with_more_records() -> None:
    domain = Domain((numeric(16, True, "age"), nominal(3, "sex")))
    few, many = (make(domain, records=n, depth=7).forecast() for n in (1_000, 100_000))
    assert set(few.per_attribute) == {"age", "sex"}
    assert many.expected_error < few.expected_error
    assert all(many.per_attribute[name] < few.per_attribute[name] for name in few.per_attribute)
    assert few.memory_bytes > 0


def test_a_plan_pickles() -> None:
    plan = make()
    again = pickle.loads(pickle.dumps(plan))
    assert again.events == plan.events
    assert again.parameters == plan.parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depht": 3}, "mechanism.depht: PMM has no such parameter"),
        ({"depth": 6}, "mechanism.depth: 6; use 'auto' or a whole number from 0 to 5"),
        ({"depth": -1}, "mechanism.depth: -1"),
        ({"depth": True}, "mechanism.depth: True"),
        ({"depth": "deep"}, "mechanism.depth: 'deep'"),
        ({"consistency": "random"}, "mechanism.consistency: 'random'; use 'uniform'"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_mend(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_a_table_without_expected_records_is_refused() -> None:
    with pytest.raises(ValueError, match="expected number of records: 0"):
        make(records=0)
