"""Plans: sensitivities by brute force, refusals, and what a plan says of itself."""

import json
import pickle
from fractions import Fraction
from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest

from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.privacy.accountant import fits
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import count_codes
from mechanisms.privacy.events import DiscreteGaussian
from mechanisms.privpgd import PrivPGD, PrivPGDPlan

BUDGET = Budget(epsilon=Fraction(1), delta=Fraction(1, 100_000))
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
ADD = Adjacency(neighbours=Neighbours.ADD_REMOVE)


def domain(*cells: int) -> Domain:
    return Domain(
        tuple(
            Attribute(
                name=f"c{i}",
                kind=Kind.ORDINAL,
                positions=(np.arange(k) + 0.5) / k,
                widths=np.zeros(k),
            )
            for i, k in enumerate(cells)
        )
    )


def make(
    cells: tuple[int, ...] = (4, 3, 2),
    adjacency: Adjacency = REPLACE,
    budget: Budget = BUDGET,
    records: int = 1000,
    **parameters: object,
) -> PrivPGDPlan:
    return PrivPGD().plan(
        domain(*cells),
        budget=budget,
        adjacency=adjacency,
        expected_records=records,
        parameters=parameters,
    )


def stacked(plan: PrivPGDPlan, codes: np.ndarray) -> np.ndarray:
    return np.concatenate(count_codes(codes, [query.cells for query in plan.queries]))


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_no_neighbour_moves_the_stacked_pairs_further_than_charged(adjacency: Adjacency) -> None:
    shape = (3, 2, 2)
    plan = make(shape, adjacency)
    (event,) = plan.events
    assert isinstance(event, DiscreteGaussian)
    records = np.array(list(product(*map(range, shape))))
    base = records[[0, 5, 5]]
    worst = 0
    for record in records:
        if adjacency is REPLACE:
            neighbour = np.vstack([record, base[1:]])
        else:
            neighbour = np.vstack([base, record])
        moved = stacked(plan, neighbour) - stacked(plan, base)
        worst = max(worst, int((moved**2).sum()))
    assert worst == event.times * event.l2_squared  # attained: sqrt(2K), or sqrt(K)
    assert event.times == 3


@pytest.mark.parametrize(
    "adjacency", [REPLACE, ADD, Adjacency(neighbours=ADD.neighbours, records=3)]
)
def test_the_plan_fits_its_budget_and_little_less_noise_would_not(adjacency: Adjacency) -> None:
    plan = make(adjacency=adjacency)
    (event,) = plan.events
    assert fits(plan.events, BUDGET)
    wrong = DiscreteGaussian(
        l2_squared=event.l2_squared,
        sigma2=event.sigma2 * Fraction(9, 10),
        unit_moves=event.unit_moves,
        times=event.times,
    )
    assert not fits((wrong,), BUDGET)


def test_all_pairs_are_measured_with_the_same_noise() -> None:
    plan = make((4, 3, 2, 5))
    assert plan.cliques == tuple(combinations(range(4), 2))
    assert [query.cells.size for query in plan.queries] == [12, 8, 20, 6, 15, 10]
    assert {query.noise.sigma2 for query in plan.queries} == {plan.sigma2}


def test_a_domain_of_one_column_is_measured_by_itself() -> None:
    plan = make((7,))
    assert plan.cliques == ((0,),)
    assert plan.events[0].times == 1
    assert plan.forecast().expected_error > 0


def test_the_noise_line_states_what_is_drawn() -> None:
    (line,) = make((4, 3, 2)).noise
    plan = make((4, 3, 2))
    assert line.cells == 12 + 8 + 6
    assert str(plan.sigma2) in line.parameter
    assert line.sensitivity == "L2 = sqrt(6) records"
    assert line.standard_deviation == pytest.approx(sqrt(plan.sigma2))
    assert make((4, 3, 2), ADD).noise[0].sensitivity == "L2 = sqrt(3) records"


def test_a_plan_pickles_and_its_parameters_are_plain_json() -> None:
    plan = make(sweeps=7, learning_rate=1)
    again = pickle.loads(pickle.dumps(plan))
    assert again.sigma2 == plan.sigma2
    assert [q.digest for q in again.queries] == [q.digest for q in plan.queries]
    assert json.loads(json.dumps(plan.parameters))["sweeps"] == 7


def test_forecasts_fall_with_more_records_and_rise_with_more_columns() -> None:
    few, many = (make(records=n).forecast() for n in (1000, 10_000))
    wide = make((4, 3, 2, 900, 9, 9), records=1000).forecast()
    assert many.expected_error == pytest.approx(few.expected_error / 10)
    assert wide.expected_error > few.expected_error
    assert wide.memory_bytes > few.memory_bytes
    assert set(few.per_attribute) == {"c0", "c1", "c2"}
    assert all(few.per_attribute[name] > few.expected_error / 3 for name in few.per_attribute)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epoch": 3}, "did you mean 'epochs'"),
        ({"zzz": 3}, "known are particles"),
        ({"epochs": -1}, "at least 0"),
        ({"epochs": 1.5}, "a whole number"),
        ({"sweeps": True}, "a whole number"),
        ({"particles": 0}, "at least 1"),
        ({"directions": 33}, "there are 32"),
        ({"learning_rate": 0}, "a positive number"),
        ({"adam_epsilon": float("nan")}, "a positive number"),
        ({"adam_epsilon": "small"}, "use a number"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**parameters)


def test_pure_budgets_are_refused_with_the_mend() -> None:
    with pytest.raises(ValueError, match=r"needs delta > 0.*choose mechanism pmm"):
        make(budget=Budget(epsilon=Fraction(1)))


def test_domains_too_large_or_empty_and_no_records_are_refused() -> None:
    with pytest.raises(ValueError, match=r"c1 has the most, 30,000"):
        make((20_000, 30_000))
    with pytest.raises(ValueError, match="at least one"):
        make(())
    with pytest.raises(ValueError, match="at least 1"):
        make(records=0)
