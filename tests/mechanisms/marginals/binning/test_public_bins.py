"""Public bins: detail of numbers and groups of categories, from the plan to the certificate."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.mechanism import BINS, Binned
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from tests.builders.columns import line, nominal
from tests.mechanisms.marginals.binning.runs import binned, plan_of
from tests.mechanisms.marginals.domains import measured

BUDGET = Budget(epsilon=Fraction(8), delta=Fraction(1, 10**5))
RELATIONS = [  # of persons: noise is found fast, and test_plan has the others
    Adjacency(neighbours=Neighbours.REPLACE_ONE, records=2, person="name"),
    Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2, person="name"),
]
DOMAIN = Domain((line("x", 48, has_null=True), nominal("c", 3), nominal("code", 30)))
DETAIL = tuple(cell // 8 for cell in range(48))
FINE = tuple(code // 3 for code in range(30))
COARSE = tuple(code // 10 for code in range(30))
LEVELS = {"x": (DETAIL,), "code": (FINE, COARSE)}


def records(n: int = 4000, seed: int = 1) -> np.ndarray:
    """x has a spike in every second bin; the code follows c, one code of each group often."""
    rng = np.random.default_rng(seed)
    x = np.minimum(rng.exponential(12, n).astype(int), 47)
    x = np.where(rng.random(n) < 0.4, x // 16 * 16, x)
    x = np.where(rng.random(n) < 0.05, 48, x)
    c = rng.integers(0, 3, n)
    code = 10 * c + np.where(rng.random(n) < 0.6, 4, rng.integers(0, 10, n))
    return np.column_stack([x, c, code])


BINNED = binned(LEVELS)
make = partial(plan_of, domain=DOMAIN, budget=BUDGET, adjacency=RELATIONS[0], expected=4000)


def run(
    mechanism: Binned, plan: BinnedPlan, codes: np.ndarray, seed: int = 2
) -> tuple[Any, Any, Any]:
    measurements = measured(mechanism, plan, codes, seed)
    made = mechanism.generate(plan, measurements, rows=None, rng=np.random.default_rng(seed))
    certificate = mechanism.certify(
        plan, measurements, made, confidence=0.9, rng=np.random.default_rng(seed)
    )
    return measurements, made, certificate


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_the_whole_fits_the_budget_and_names_what_it_asks(adjacency: Adjacency) -> None:
    plan = make(BINNED, adjacency=adjacency)
    assert fits(plan.events, BUDGET)
    assert not fits([*plan.events, plan.queries[0].event(adjacency)], BUDGET)
    assert plan.noise[0].query == "all cells of x, code, each by itself"
    assert [query.cells.size for query in plan.queries] == [49, 30]
    assert "as if each had equally many cells" not in plan.forecast().statement


def test_the_finest_level_is_taken_that_the_records_pay_for() -> None:
    few, many = (make(BINNED, expected=n) for n in (60, 400_000))
    assert few.public[2].number == 3
    assert many.public[2].number == 10
    assert [plan.public[0].number for plan in (few, many)] == [6, 6]


def test_released_values_have_spikes_and_codes_that_the_bins_do_not_know() -> None:
    codes = records()
    plan = make(BINNED)
    _, made, _ = run(BINNED, plan, codes)
    for column, cells in ((0, (0, 16)), (2, (4, 14, 24))):
        real, got = (
            np.bincount(table[:, column], minlength=DOMAIN.shape[column]) / len(table)
            for table in (codes, made.codes)
        )
        for cell in cells:
            assert got[cell] == pytest.approx(real[cell], rel=0.25)
    assert made.history[BINS] == {}  # none was chosen


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_true_losses_are_below_their_bounds(adjacency: Adjacency) -> None:
    codes = records()
    codes[:, 0] = np.minimum(codes[:, 0], 47)  # distances of nulls are another test's
    plan = make(BINNED, adjacency=adjacency)
    rng = np.random.default_rng(0)
    for seed in range(3):
        _, made, certificate = run(BINNED, plan, codes, seed)
        assert [bound.target for bound in certificate.bounds] == ["x", "c", "code"]
        kept = made.codes[made.codes[:, 0] < 48]
        one, other = (
            (t[:, 0] + rng.random(len(t))) / 48 for t in (codes, kept)
        )  # values anywhere in their own cells
        assert wasserstein_distance(one, other) <= certificate.bounds[0].value
        shares = [np.bincount(t[:, 2], minlength=30) / len(t) for t in (codes, made.codes)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 <= certificate.bounds[2].value


def test_a_bound_pays_for_the_width_of_own_cells_or_of_bins_whichever_is_less() -> None:
    plan = make(BINNED)
    measurements, made, certificate = run(BINNED, plan, records())
    assert certificate.bounds[0].terms["discretisation"] < 1.01 / 48
    blurred = replace(plan, sigma2=plan.sigma2 * 10**4)  # as if own cells told nothing
    again = BINNED.certify(
        blurred, measurements, made, confidence=0.9, rng=np.random.default_rng(0)
    )
    assert again.bounds[0].terms["discretisation"] == pytest.approx(1 / 6, rel=0.1)


def test_tables_on_public_bins_have_a_law_that_holds_exactly() -> None:
    plan = make(BINNED)
    asked: list[Any] = []

    class Watched(SimulatedCurator):
        def histograms(self, call: str, queries: Any) -> Any:
            asked.extend(queries)
            return super().histograms(call, queries)

    curator: Any = Watched(codes=records(), adjacency=plan.adjacency, rng=np.random.default_rng(0))
    BINNED.measure(curator, plan, BINNED.select(curator, plan))
    assert asked
    assert not any(query.cells_chosen for query in asked)


@pytest.mark.parametrize(
    ("bins", "says"),
    [
        ({"x": (DETAIL[:-1],)}, "columns.x: groups of 47 cells, of which there are 48"),
        ({"code": (tuple(2 * of for of in COARSE),)}, "every group a cell"),
        ({"x": (tuple(reversed(DETAIL)),)}, "columns.x: bins of an order must be neighbours"),
    ],
)
def test_bins_that_fit_no_column_are_refused(bins: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make(binned(bins))


def test_mechanisms_without_marginals_take_none() -> None:
    request = Request(domain=DOMAIN, budget=BUDGET, adjacency=RELATIONS[0], expected_records=4000)
    wrapped = Binned(MECHANISMS["dpam"], BINNED.share, LEVELS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"columns\.x: has detail or groups, which are for"):
        planned(wrapped, request)
