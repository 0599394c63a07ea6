"""What bins cost: the budget is split exactly, nothing is overspent, and nothing is left over."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.contract import Plan
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.privacy.accountant import epsilon, fits
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteGaussian, merged
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.request import Request
from tests.builders.columns import line, nominal
from tests.mechanisms.marginals.binning.runs import binned, plan_of
from tests.mechanisms.marginals.selection.runs import ADD, REPLACE

HUNDREDTH, HALF = Fraction(1, 100), Fraction(1, 2)
DELTA = Fraction(1, 10**5)
BUDGET = Budget(epsilon=Fraction(1), delta=DELTA)
RELATIONS = [
    REPLACE,
    ADD,
    Adjacency(neighbours=Neighbours.REPLACE_ONE, records=2, person="name"),
    Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3, person="name"),
]
DOMAIN = Domain((line("x", 20, has_null=True), nominal("c", 3), line("y", 10)))
BINS = {"y": 3, "x": 4}
FAMILY = [
    pytest.param(name, marks=pytest.mark.slow if name in ("mst", "mwem") else ())
    for name, mechanism in MECHANISMS.items()
    if isinstance(mechanism, Marginals)
]


def make(
    name: str = "privpgd",
    *,
    domain: Domain = DOMAIN,
    bins: dict[str, int] = BINS,
    share: Fraction = Fraction(1, 20),
    adjacency: Adjacency = REPLACE,
    budget: Budget = BUDGET,
) -> BinnedPlan:
    mechanism = binned(bins, name, share)
    return plan_of(mechanism, domain=domain, budget=budget, adjacency=adjacency, expected=1000)


def histograms_of(plan: Plan, sigma2: Fraction) -> DiscreteGaussian:
    of = plan.adjacency
    return DiscreteGaussian(
        l2_squared=of.l2_squared, sigma2=sigma2, unit_moves=of.unit_moves, times=2
    )


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize(
    "share",
    [Fraction(1, 20), *(pytest.param(s, marks=pytest.mark.slow) for s in (HUNDREDTH, HALF))],
)
def test_the_mechanism_gets_its_part_and_the_histograms_all_that_is_left(share, adjacency) -> None:
    plan = make(share=share, adjacency=adjacency)
    assert plan.inner.budget == Budget(epsilon=1 - share, delta=DELTA)
    assert fits(plan.events, BUDGET)
    assert float(epsilon(plan.events, DELTA)) > 0.999
    own = histograms_of(plan, plan.sigma2)
    assert plan.events == merged([own, *plan.inner.events])
    less = histograms_of(plan, plan.sigma2 * Fraction(9998, 10000))
    assert not fits(merged([less, *plan.inner.events]), BUDGET)


@pytest.mark.parametrize("name", FAMILY)
def test_every_mechanism_of_the_family_fits_beside_its_histograms(name) -> None:
    assert fits(make(name).events, BUDGET)


def test_more_columns_share_the_same_part() -> None:
    one, two = (make(bins=bins, adjacency=RELATIONS[2]) for bins in ({"x": 4}, BINS))
    assert one.sigma2 < two.sigma2
    assert fits(one.events, BUDGET)


@pytest.mark.parametrize("name", FAMILY)
def test_what_is_charged_does_not_depend_on_the_bins(name) -> None:
    """A plan made afresh on the chosen bins would ask with the same noise and be charged alike."""
    plan = make(name)
    counts = [np.zeros(query.cells.size, dtype=np.int64) for query in plan.queries]
    for table in counts:
        table[:3] = [900, 0, 70]
    bins = plan.settled(counts)
    assert bins[0].starts != (0, 5, 10, 15)
    inner = plan.on(bins)
    assert inner.domain.shape == plan.inner.domain.shape == (5, 3, 3)
    afresh = binned(BINS, name).inner.plan(
        Request(
            domain=inner.domain,
            budget=inner.budget,
            adjacency=REPLACE,
            expected_records=1000,
            parameters=plan.request.parameters,
        )
    )
    assert inner.events == plan.inner.events == afresh.events
    assert inner.design.first == afresh.design.first
    assert inner.design.parameters == afresh.design.parameters


def test_rules_do_not_change_what_is_charged() -> None:
    allowed = np.ones((21, 3), dtype=bool)
    allowed[:6, 1] = False
    ruled = Domain(DOMAIN.attributes, rules=Rules(DOMAIN.shape, (RuleTable("r", (0, 1), allowed),)))
    assert make(domain=ruled).events == make().events


def test_the_histograms_are_of_all_cells_of_their_columns_in_the_tables_order() -> None:
    plan = make()
    assert plan.columns == (0, 2)
    assert [bins.number for bins in plan.bins] == [4, 3]
    assert [query.cells.columns for query in plan.queries] == [(0,), (2,)]
    assert [query.cells.size for query in plan.queries] == [21, 10]
    assert {query.noise for query in plan.queries} == {GaussianNoise(plan.sigma2)}


def test_the_plan_tells_what_the_share_is_for() -> None:
    plan = make()
    own, *rest = plan.noise
    assert own.query == "all cells of x, y, for their quantile bins"
    assert own.cells == 31
    assert own.sensitivity == "L2 = sqrt(4) records"
    assert tuple(rest) == plan.inner.noise
    assert plan.parameters["binning"] == {"bins": {"x": 4, "y": 3}, "sigma2": str(plan.sigma2)}
    assert plan.parameters["epsilon_of_the_mechanism"] == "19/20"
    assert plan.inner.parameters.items() <= plan.parameters.items()
    assert (plan.mechanism, plan.source) == ("privpgd", plan.inner.source)
    assert plan.domain is DOMAIN
    assert plan.expected_records == 1000


@pytest.mark.parametrize("adjacency", RELATIONS[:2], ids=str)
def test_the_forecast_certifies_columns_on_their_own_cells(adjacency) -> None:
    plan = make(adjacency=adjacency)
    forecast, inner = plan.forecast(), plan.inner.forecast()
    assert set(forecast.per_attribute) == {"x", "c", "y"}
    # The same noise, at the rank at which other columns hold together.
    assert forecast.per_attribute["c"] == pytest.approx(inner.per_attribute["c"], rel=0.1)
    assert forecast.per_attribute["x"] >= 0.05 * 20 / 21  # the width of a cell, not of a bin
    finer = replace(plan, sigma2=plan.sigma2 / 10**6).forecast().per_attribute
    assert finer["y"] < forecast.per_attribute["y"]
    # The width of a cell; and the noise in the number of records, where that is private.
    assert finer["y"] == pytest.approx(0.1, abs=0.01 if adjacency.total_is_public else 0.03)
    assert forecast.memory_bytes > inner.memory_bytes
    assert forecast.expected_error == inner.expected_error


def test_plan_and_mechanism_pickle() -> None:
    plan = make()
    assert pickle.loads(pickle.dumps(plan)).events == plan.events
    wrapped = binned(BINS)
    assert pickle.loads(pickle.dumps(wrapped)).name == "privpgd"


# What is refused


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        ({}, r"binning\.columns: names no column"),
        ({"z": 3}, r"binning\.columns\.z: there is no such column"),
        ({"c": 2}, r"binning\.columns\.c: is nominal; only numbers and dates"),
        ({"x": 1}, r"binning\.columns\.x: 1 bins of 20 cells"),
        ({"x": 20}, r"binning\.columns\.x: 20 bins of 20 cells"),
    ],
)
def test_columns_that_cannot_have_the_bins_are_refused(bins, words) -> None:
    with pytest.raises(ValueError, match=words):
        make(bins=bins)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(3, 2), Fraction(-1, 2)])
def test_a_share_that_is_no_part_is_refused(share) -> None:
    with pytest.raises(ValueError, match=r"binning\.share: .*above 0 and below 1"):
        make(share=share)


def test_a_share_that_pays_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"binning\.share: 1/100000000 .* give a larger share"):
        make(share=Fraction(1, 10**8))


def test_the_mechanisms_own_refusals_come_through() -> None:
    with pytest.raises(ValueError, match="marginals with Gaussian noise, which needs delta"):
        make(budget=Budget(epsilon=Fraction(1)))
