"""The design of a certificate's own measurements: exact costs, and choices by forecast."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.blocks.marginals import candidates
from hallmark.mechanisms.certificates.measured_marginals import (
    FINEST,
    SHARES,
    MeasuredMarginals,
    marginals_within,
)
from hallmark.mechanisms.compute import SERIAL
from hallmark.mechanisms.contract import Measurements
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.events import DiscreteGaussian, DiscreteLaplace
from tests.builders.columns import line, nominal
from tests.builders.releases import REPLACE, WITH_PERSONS
from tests.mechanisms.certificates.test_distances import uneven
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost

PURE = Budget(epsilon=Fraction(3, 7))
WITH_DELTA = Budget(epsilon=Fraction(3, 7), delta=Fraction(1, 10**6))
MIXED = Domain((uneven("x", has_null=True), nominal("c", 3), line("y", 24)))
TINY = Domain((line("x", 3), nominal("c", 2)))
EXACT = Domain((nominal("c", 3), nominal("d", 4), line("y", 3, width=0.0)))


def make(
    domain: Domain = MIXED,
    budget: Budget = PURE,
    *,
    adjacency: Adjacency = REPLACE,
    order: int = 2,
    cells: int | None = None,
    records: int = 5000,
    columns: bool = True,
) -> MeasuredMarginals:
    asked = {"adjacency": adjacency, "records": records, "columns": columns}
    return marginals_within(budget, domain, order=order, cells=cells, **asked)


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_laplace_noise_costs_the_budget_exactly(order, columns, adjacency) -> None:
    for cells in (2, 5):
        plan = make(adjacency=adjacency, order=order, cells=cells, columns=columns)
        assert pure_epsilon(plan.events) == PURE.epsilon
        assert {type(event) for event in plan.events} == {DiscreteLaplace}


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_gaussian_noise_of_both_fits_the_budget_and_is_calibrated_together(adjacency) -> None:
    domain = Domain(tuple(line(f"x{i}", 12) for i in range(7)))
    plan = make(domain, WITH_DELTA, adjacency=adjacency, cells=4)
    assert plan.own is not None
    assert {type(event) for event in plan.events} == {DiscreteGaussian}
    assert fits(plan.events, WITH_DELTA)
    part = Budget(epsilon=plan.share * WITH_DELTA.epsilon, delta=WITH_DELTA.delta)
    own = [query.event(adjacency) for query in plan.own.queries]
    assert fits(own, part)
    rest = Budget(epsilon=(1 - plan.share) * WITH_DELTA.epsilon, delta=WITH_DELTA.delta)
    marginals = [query.event(adjacency) for query in plan.estimator.queries]
    assert not fits(marginals, rest)  # parts of epsilon would leave the marginals less


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_no_neighbours_of_tiny_tables_lose_more_than_the_budget(adjacency) -> None:
    plan = make(TINY, adjacency=adjacency, cells=2)
    assert plan.own is not None
    most = most_lost(plan.queries, TINY.shape, adjacency)
    assert most == PURE.epsilon  # attained by records that differ in the marginal and the column


def test_nothing_is_spent_on_columns_that_the_grid_holds_exactly() -> None:
    plan = make(EXACT)
    assert plan.own is None
    assert plan.share == 0
    assert "columns" not in plan.parameters
    assert plan.queries == plan.estimator.queries
    assert plan.family.radius == 0


def test_only_columns_whose_codes_are_merged_are_measured_apart() -> None:
    plan = make(cells=12)
    assert plan.parameters["columns"]["measured"] == ["x", "y"]
    assert make(cells=24).parameters["columns"]["measured"] == ["x"]


def test_without_bounds_of_columns_they_are_measured_only_where_marginals_gain() -> None:
    many, few = (make(cells=3, records=n, columns=False) for n in (10**6, 20))
    assert many.own is not None
    assert many.share in SHARES
    assert few.own is None
    assert make(cells=3, records=20).own is not None


def test_the_chosen_grid_has_the_least_forecast_of_all() -> None:
    """Noise is simulated once for all shares, so that forecasts agree to a few percent."""
    chosen = make(columns=False)
    forecasts = {k: make(cells=k, columns=False).forecast for k in candidates(MIXED, FINEST)}
    assert chosen.forecast == forecasts[chosen.k]
    assert chosen.forecast <= 1.03 * min(forecasts.values())
    assert len(set(forecasts.values())) > 5


@pytest.mark.slow
def test_the_forecast_falls_with_more_records() -> None:
    errors = [make(records=records).forecast for records in (10**3, 10**5, 10**7)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("budget", [PURE, WITH_DELTA], ids=str)
def test_planning_again_asks_the_same(budget) -> None:
    one, other = (make(TINY, budget) for _ in range(2))
    assert [query.digest for query in one.queries] == [query.digest for query in other.queries]
    assert (one.parameters, one.forecast) == (other.parameters, other.forecast)
    again = pickle.loads(pickle.dumps(one))
    assert (again.events, again.parameters) == (one.events, one.parameters)


def test_every_noisy_entry_is_told_of() -> None:
    plan = make(cells=3)
    assert plan.own is not None
    told = sum(row.cells for row in plan.noise)
    assert told == plan.family.cells + plan.own.family.cells
    assert all(row.query.endswith(", for the certificate") for row in plan.noise)


def test_more_columns_than_there_are_cannot_be_certified_jointly() -> None:
    with pytest.raises(ValueError, match=r"certificate\.marginals: 4, but there are only 3"):
        make(order=4)


def exact_answers(plan: MeasuredMarginals, codes: np.ndarray) -> Measurements:
    answers = (query.transform(count_codes(codes, [query.cells])[0]) for query in plan.queries)
    total = len(codes) if plan.estimator.total_is_public else None
    return Measurements(tables={"certificate": tuple(answers)}, total=total)


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_marginals_alone_have_bounds_no_wider_than_with_columns(adjacency) -> None:
    plan = make(adjacency=adjacency, cells=3, records=10**6)
    codes = np.tile([[0, 0, 0], [1, 2, 3], [4, 1, 20]], (3000, 1))
    measurements = exact_answers(plan, codes)
    options = {"confidence": 0.9, "compute": SERIAL}
    whole = plan.certify(measurements, codes, rng=np.random.default_rng(31), **options)
    alone = plan.certify_marginals(measurements, codes, rng=np.random.default_rng(31), **options)
    names = [bound.target for bound in alone.bounds]
    assert [bound.target for bound in whole.bounds] == [*names, "x", "c", "y"]
    for one, other in zip(alone.bounds, whole.bounds, strict=False):
        assert one.value <= other.value + 0.002
    assert "follows from the columns' measured histograms" in alone.method
    assert whole.confidence == 0.9


def test_where_all_records_lie_on_their_points_no_failure_is_set_aside() -> None:
    plan = make(EXACT)
    codes = np.zeros((50, 3), dtype=np.int64)
    certificate = plan.certify(
        exact_answers(plan, codes),
        codes,
        confidence=0.9,
        compute=SERIAL,
        rng=np.random.default_rng(32),
    )
    assert "at confidence 0.92 and 0.98, so that all hold jointly at 0.9" in certificate.method
    assert "from their points" not in certificate.method
