"""Counts of single values: what they cost, that they are charged, and that bounds hold beside."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.binning.plan import CALL, VALUES, BinnedPlan
from hallmark.mechanisms.privacy.accountant import epsilon, fits
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.events import DiscreteGaussian, merged
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests.builders.columns import line, nominal
from tests.mechanisms.marginals.binning.runs import binned, plan_of
from tests.mechanisms.marginals.binning.test_public_bins import run
from tests.mechanisms.marginals.selection.runs import ADD, PERSONS, REPLACE

DELTA = Fraction(1, 10**5)
BUDGET = Budget(epsilon=Fraction(4), delta=DELTA)
LEVELS = 480
DOMAIN = Domain((line("x", LEVELS, has_null=True), nominal("c", 3), line("y", 48)))
BINS = {
    "x": (tuple(value // 80 for value in range(LEVELS)),),
    "y": (tuple(cell // 8 for cell in range(48)),),
}
PIECES = tuple(value // 20 for value in range(LEVELS))
SPIKES = {77: 0.15, 303: 0.1}


def valued(share: Fraction = Fraction(1, 10)) -> Binned:
    return replace(binned(BINS, share=share), pieces={"x": PIECES})


make = partial(plan_of, domain=DOMAIN, budget=BUDGET, expected=4000)


def records(n: int = 4000) -> np.ndarray:
    """x is even but for two values and a few nulls, y follows c."""
    rng = np.random.default_rng(1)
    c = rng.integers(0, 3, n)
    x = rng.integers(0, LEVELS, n)
    for value, share in SPIKES.items():
        x = np.where(rng.random(n) < share, value, x)
    return np.column_stack([np.where(rng.random(n) < 0.05, LEVELS, x), c, 10 * c + c])


@pytest.mark.parametrize(
    "adjacency", [REPLACE, pytest.param(ADD, marks=pytest.mark.slow), PERSONS], ids=str
)
def test_counts_of_values_are_charged_and_leave_nothing_over(adjacency) -> None:
    plan = make(valued(), adjacency=adjacency)

    def gaussian(sigma2: Fraction, times: int) -> DiscreteGaussian:
        return DiscreteGaussian(
            l2_squared=adjacency.l2_squared,
            sigma2=sigma2,
            unit_moves=adjacency.unit_moves,
            times=times,
        )

    own = gaussian(plan.sigma2, 2)
    values = gaussian(plan.sigma2_of_values, 1)
    assert plan.events == merged([own, values, *plan.inner.events])
    assert fits(plan.events, BUDGET)
    assert float(epsilon(plan.events, DELTA)) > 0.999 * BUDGET.epsilon
    less = gaussian(plan.sigma2_of_values * Fraction(9998, 10000), 1)
    assert not fits(merged([own, less, *plan.inner.events]), BUDGET)


def test_pieces_keep_what_a_fortieth_pays_for_and_values_get_the_rest() -> None:
    """For persons, where noise is found fast."""
    planned = partial(make, adjacency=PERSONS)
    without = planned(binned(BINS, share=Fraction(1, 40)))
    some, more = (planned(valued(share)) for share in (Fraction(1, 20), Fraction(1, 5)))
    for plan in (some, more):
        assert float(plan.sigma2) == pytest.approx(float(without.sigma2), rel=0.15)
    # Half of a twentieth is for two histograms of pieces, the other for one of values.
    assert float(some.sigma2 / some.sigma2_of_values) == pytest.approx(2, rel=0.15)
    assert float(more.sigma2 / more.sigma2_of_values) == pytest.approx(14, rel=0.15)
    half = planned(valued(Fraction(1, 80)))
    assert float(half.sigma2 / half.sigma2_of_values) == pytest.approx(2, rel=0.15)


def test_the_plan_names_both_histograms_and_their_cells() -> None:
    plan = make(valued())
    assert [query.cells.size for query in plan.queries] == [25, 48]
    assert [query.cells.size for query in plan.value_queries] == [LEVELS + 1]
    codes = np.array([[0, 0, 0], [19, 0, 0], [20, 0, 0], [LEVELS, 0, 0]])
    assert plan.queries[0].cells(codes).tolist() == [0, 0, 1, 24]
    assert [line.query for line in plan.noise[:2]] == [
        "all cells of x, y, each by itself",
        "all values of x, for those that stand out",
    ]
    assert [line.cells for line in plan.noise[:2]] == [73, LEVELS + 1]
    assert plan.parameters["binning"]["sigma2_of_values"] == str(plan.sigma2_of_values)
    assert "sigma2_of_values" not in make(binned(BINS)).parameters["binning"]
    assert set(plan.forecast().per_attribute) == {"x", "c", "y"}


def test_a_real_curator_charges_what_the_plan_says(tmp_path: Path) -> None:
    plan, mechanism = make(valued()), valued()
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")
    terms = {"adjacency": plan.adjacency}
    ledger.open_account("people", cap=plan.budget, by="steward", reason="test", **terms)
    ledger.reserve("people", "r1", plan.budget, binding="plan", **terms)
    curator = Curator(
        counter=ArrayCounter(records()),
        ledger=ledger,
        release="r1",
        adjacency=plan.adjacency,
        budget=plan.budget,
    )
    tables = mechanism.measure(curator, plan, mechanism.select(curator, plan)).tables
    assert merged(ledger.events("r1")) == merged(plan.events)
    assert {CALL, VALUES} < set(tables)
    noise = tables[VALUES][0] - np.bincount(records()[:, 0], minlength=LEVELS + 1)
    assert noise.std() == pytest.approx(float(plan.sigma2_of_values) ** 0.5, rel=0.2)


def test_released_values_have_the_spikes_and_no_others() -> None:
    plan = make(valued())
    _, made, _ = run(valued(), plan, records())
    shares = np.bincount(made.codes[:, 0], minlength=LEVELS + 1) / len(made.codes)
    for value, share in SPIKES.items():
        assert shares[value] == pytest.approx(share, rel=0.35)
    assert np.delete(shares, [*SPIKES, LEVELS]).max() < 0.01  # evenly, they have .0015
    assert shares[LEVELS] == pytest.approx(0.05, abs=0.02)


def test_batches_have_the_spikes_too() -> None:
    plan, mechanism = make(valued()), valued()
    measurements, _, _ = run(mechanism, plan, records())
    fitted = mechanism.fit(plan, measurements, rng=np.random.default_rng(0))
    batch = fitted.batch(1000, np.random.default_rng(1)).codes
    assert (batch[:, 0] == 77).mean() == pytest.approx(0.15, rel=0.4)


@pytest.mark.parametrize("adjacency", [REPLACE, pytest.param(ADD, marks=pytest.mark.slow)], ids=str)
def test_true_losses_of_values_are_below_bounds_on_pieces(adjacency) -> None:
    codes = records()
    codes[:, 0] = np.minimum(codes[:, 0], LEVELS - 1)  # distances of nulls are another test's
    plan: BinnedPlan = make(valued(), adjacency=adjacency)
    for seed in range(3):
        _, made, certificate = run(valued(), plan, codes, seed)
        bound: Any = certificate.bounds[0]
        assert bound.target == "x"
        kept = made.codes[made.codes[:, 0] < LEVELS]
        loss = wasserstein_distance(codes[:, 0] / LEVELS, kept[:, 0] / LEVELS)
        assert loss <= bound.value
        assert bound.terms["discretisation"] < 1.01 / 24  # of a piece
        assert certificate.measured["x"].shares.shape == (7,)
