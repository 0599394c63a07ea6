"""Superregular releases: the papers' bounds in every run and on average, coverage, a notebook."""

import re
from math import log2, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.geometry.transport import transport
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.wasserstein.single_histogram.release import distribution
from hallmark.mechanisms.wasserstein.superregular import Superregular
from tests.builders.columns import line, nominal, places
from tests.builders.curators import curator_of
from tests.builders.releases import RELATIONS, REPLACE
from tests.mechanisms.wasserstein.single_histogram.runs import (
    error_of,
    generated,
    make,
    measured,
    misses,
    shares,
)

FALSE_POSITIVE_RATE = 1e-6
LINE = Domain((line("x", 64),))
MIXED = Domain((line("x", 12, has_null=True), nominal("c", 2)))
TOWNS = Domain((places("town", np.random.default_rng(1).random((15, 2)), has_null=True),))
PROOFS = Path(__file__).parents[4] / "mechanisms/wasserstein/superregular/superregular.md"


def table(domain: Domain, rows: int, rng: np.random.Generator) -> np.ndarray:
    return np.stack([(k * rng.beta(2, 4, rows)).astype(int) for k in domain.shape], axis=1)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("domain", [LINE, MIXED, TOWNS], ids=["line", "mixed", "places"])
@pytest.mark.parametrize("mode", ["tight", "paper"])
def test_every_run_is_within_twice_the_noise_along_the_path(adjacency, domain, mode) -> None:
    rng = np.random.default_rng(2)
    for records in (60, 600, 6000):
        codes = table(domain, records, rng)
        plan = make(Superregular(), domain, adjacency, records=records, mode=mode)
        for _ in range(5):
            measurements, noises = measured(plan, codes, rng)
            error = error_of(plan, noises)
            total = records + error.sum()
            if total < 1:
                continue
            own, nearest = shares(plan, codes), distribution(plan, measurements).shares
            space = plan.design.space
            along = path_loss(space, own - nearest)
            settled = error - error.sum() * own  # of mass zero
            assert along <= 2 * path_loss(space, settled) / total + 1e-9
            assert transport(space, own - nearest) <= along + 1e-9


def test_the_mean_error_of_the_published_noise_is_below_corollary_7_3() -> None:
    """With the constants of the proof: the walk's standard deviation, the projection, rounding."""
    rng, adjacency, records, rows = np.random.default_rng(3), REPLACE, 3000, 500
    plan = make(Superregular(), LINE, adjacency, records=records, cells=64, mode="paper")
    codes, depth = table(LINE, records, rng), log2(64)
    walk = 2 * sqrt(2 * (depth + 1)) * (2 * depth + 1)  # epsilon is 1, a replaced record counts 2
    length = plan.design.space.gaps.sum()
    bound = plan.design.grid.radius + 2 * walk * length / records + 64 / rows
    own, errors = shares(plan, codes), []
    for _ in range(40):
        made = generated(Superregular(), plan, measured(plan, codes, rng)[0], rows).codes
        errors.append(transport(plan.design.space, own - shares(plan, made)))
    assert 0 < np.mean(errors) < bound / 3  # and rounding along the path costs far less


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("domain", [LINE, TOWNS], ids=["line", "places"])
def test_the_mean_error_stays_below_its_forecast(adjacency, domain) -> None:
    rng = np.random.default_rng(4)
    plan = make(Superregular(), domain, adjacency, records=1000)
    codes, errors = table(domain, 1000, rng), []
    for _ in range(40):
        made = generated(Superregular(), plan, measured(plan, codes, rng)[0], 1000).codes
        errors.append(transport(plan.design.space, shares(plan, codes) - shares(plan, made)))
    forecast = plan.forecast().expected_error - plan.design.grid.radius
    assert forecast / 20 < np.mean(errors) <= forecast


def test_the_tight_noise_makes_better_records_than_the_published() -> None:
    rng = np.random.default_rng(5)
    codes, error = table(LINE, 2000, rng), {}
    for mode in ("tight", "paper"):
        plan = make(Superregular(), LINE, REPLACE, records=2000, cells=64, mode=mode)
        runs = [distribution(plan, measured(plan, codes, rng)[0]).shares for _ in range(40)]
        own = shares(plan, codes)
        error[mode] = np.mean([transport(plan.design.space, own - run) for run in runs])
    assert error["paper"] > 2 * error["tight"]


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_with_vanishing_noise_the_points_of_all_records_come_back(adjacency) -> None:
    rng = np.random.default_rng(6)
    codes = table(MIXED, 500, rng)
    plan = make(Superregular(), MIXED, adjacency, epsilon=10**6, cells=12)
    made = generated(Superregular(), plan, measured(plan, codes, rng)[0]).codes
    assert (codes[np.lexsort(codes.T)] == made[np.lexsort(made.T)]).all()


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_one_point_is_released_as_it_is(adjacency) -> None:
    domain, rng = Domain((nominal("c", 1),)), np.random.default_rng(7)
    plan = make(Superregular(), domain, adjacency, records=50)
    measurements, _ = measured(plan, np.zeros((50, 1), dtype=int), rng)
    assert set(generated(Superregular(), plan, measurements).codes[:, 0].tolist()) == {0}


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("mode", ["tight", "paper"])
def test_misses_are_as_rare_as_stated_for_the_worst_synthetic_table(
    adjacency, mode, tmp_path
) -> None:
    missed = misses(Superregular(), adjacency, tmp_path, releases=80, mode=mode)
    assert binom.sf(missed - 1, 80, 0.2) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_is_found_out(tmp_path) -> None:
    missed = misses(Superregular(), REPLACE, tmp_path, releases=80, understated=12, mode="tight")
    assert binom.sf(missed - 1, 80, 0.2) < FALSE_POSITIVE_RATE


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_a_release_of_places_through_the_curator_spends_its_budget_once(
    adjacency, tmp_path
) -> None:
    rng = np.random.default_rng(9)
    codes = table(TOWNS, 3000, rng)
    plan = make(Superregular(), TOWNS, adjacency, records=3000)
    curator, mechanism = curator_of(plan, codes, tmp_path), Superregular()
    measurements = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    assert set(curator.ledger.events("r1")) == set(plan.events)

    synthetic = generated(mechanism, plan, measurements)
    certificate = mechanism.certify(plan, measurements, synthetic, confidence=0.95, rng=rng)
    joint, column = certificate.bounds
    assert (joint.target, column.target) == ("all columns jointly", "town")
    assert column.value <= joint.value < 0.5
    own, released = (
        np.bincount(records[:, 0], minlength=16) / len(records)
        for records in (codes, synthetic.codes)
    )
    # Unseeded noise: exceeding the bound by half its value is far beyond its 5 percent.
    assert w1(TOWNS.attributes[0], own - released) <= 1.5 * column.value


def test_the_example_for_notebooks_runs(tmp_path, monkeypatch) -> None:
    example = PROOFS.read_text(encoding="utf-8").split("## From a notebook")[1]
    code = "\n".join(re.findall(r"^    (.*)$", example, flags=re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(10)
    names = {"points": rng.random((12, 2)), "place_of_record": rng.integers(0, 12, 5000)}
    exec(code, names)
    measure = names["private_measure"]
    assert measure.sum() == pytest.approx(1)
    assert np.abs(measure - 1 / 12).max() < 0.1


def test_the_estimate_errs_by_its_noise_alone() -> None:
    rng = np.random.default_rng(11)
    plan = make(Superregular(), LINE, REPLACE, cells=8)
    codes = table(LINE, 100, rng)
    measurements, noises = measured(plan, codes, rng)
    estimate = plan.estimator.estimate(measurements.tables["histogram"], 100).tables[0]
    assert estimate - error_of(plan, noises) == pytest.approx(100 * shares(plan, codes))
