"""Certificates of given records: what they cost, what they promise, and that it holds."""

import pickle
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, wasserstein_distance

from hallmark.mechanisms.certificates.alone import (
    ASSUMPTION,
    CertificateAlone,
    CertificateAlonePlan,
)
from hallmark.mechanisms.compute import SERIAL, Compute, Serial
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.builders.columns import line, nominal
from tests.builders.releases import RELATIONS, REPLACE, WITH_PERSONS, request
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost

FALSE_POSITIVE_RATE = 1e-6
RELEASES = 200
CONFIDENCE = 0.8
DOMAIN = Domain((line("x", 6, width=0.0), nominal("c", 2, has_null=True)))
FLAGS = Domain((nominal("a", 2), nominal("b", 2)))
MIXED = Domain((line("x", 64), *(nominal(name, 9) for name in "abcd")))
EDGES = np.array([0.0, 0.02, 0.1, 0.5, 1.0])
WIDE = Domain(
    (
        Attribute(
            name="x",
            kind=Kind.NUMERIC,
            positions=(EDGES[1:] + EDGES[:-1]) / 2,
            widths=np.diff(EDGES),
        ),
        nominal("c", 2),
    )
)
DELTA = Fraction(1, 10**5)


def make(
    domain: Domain = DOMAIN,
    *,
    adjacency: Adjacency = REPLACE,
    marginals: int | None = None,
    cells: int | None = None,
    records: int = 200,
    **asked: Any,
) -> CertificateAlonePlan:
    return CertificateAlone(marginals, cells).plan(
        request(domain, adjacency, records=records, **asked)
    )


def measured(
    plan: CertificateAlonePlan, codes: np.ndarray, rng: np.random.Generator
) -> Measurements:
    """Noisy answers as the curator gives them, with noise that a seed fixes."""
    curator = SimulatedCurator(codes=codes, adjacency=plan.adjacency, rng=rng)
    return CertificateAlone().measure(curator, plan)


# What it costs


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
@pytest.mark.parametrize("marginals", [1, 2])
def test_pure_costs_add_up_to_the_whole_budget_exactly(marginals, adjacency) -> None:
    plan = make(adjacency=adjacency, marginals=marginals, epsilon=Fraction(3, 7))
    assert pure_epsilon(plan.events) == Fraction(3, 7)


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_no_neighbours_of_tiny_tables_lose_more_than_the_budget(adjacency) -> None:
    plan = make(FLAGS, adjacency=adjacency, marginals=1, cells=2)
    worst = most_lost(plan.measured.queries, FLAGS.shape, adjacency)
    if adjacency.neighbours is Neighbours.REPLACE_ONE and adjacency.records > 1:
        # Whoever changes the number of records by all of theirs changes a table by half as much.
        assert Fraction(1, 2) < worst < 1
    else:
        assert worst == 1  # attained


def test_delta_buys_gaussian_noise_where_that_is_smaller() -> None:
    asked = {"epsilon": Fraction(1, 2), "records": 20_000, "cells": 8}
    plan, pure = (make(MIXED, delta=delta, **asked) for delta in (DELTA, 0))
    assert any(isinstance(event, DiscreteGaussian) for event in plan.events)
    assert fits(plan.events, plan.budget)
    assert plan.forecast().expected_error < pure.forecast().expected_error


def test_laplace_noise_on_lines_leaves_delta_unused_where_it_is_cheaper() -> None:
    """All noise is of one kind, so that it can be proved to fit together."""
    plan = make(MIXED, marginals=1, cells=64, epsilon=5, delta=DELTA, records=20_000)
    assert pure_epsilon(plan.events) == 5
    assert fits(plan.events, plan.budget)


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_marginals_and_columns_fit_the_budget_together(adjacency, delta) -> None:
    plan = make(MIXED, adjacency=adjacency, epsilon=Fraction(1, 2), delta=delta, cells=4)
    assert plan.measured.own is not None
    assert fits(plan.events, plan.budget)
    assert len(plan.measured.queries) > len(plan.measured.estimator.queries)
    if not delta:
        assert pure_epsilon(plan.events) == Fraction(1, 2)


# What is planned


def test_the_plan_tells_what_is_measured() -> None:
    plan = make(cells=6)
    assert plan.parameters == {"marginals": ["x x c"], "cells": 6, "noise": ["identity"]}
    (told,) = plan.noise
    assert told.query == "identity noise on x x c, for the certificate"
    assert told.parameter == "scale = 2 records"
    again = pickle.loads(pickle.dumps(plan))
    assert again.events == plan.events
    assert again.measured.estimator.digest == plan.measured.estimator.digest


def test_columns_whose_codes_the_grid_merges_are_measured_and_told_of() -> None:
    plan = make(cells=3)
    share = plan.measured.share
    columns = {"measured": ["x"], "share": str(share), "noise": ["identity"]}
    assert plan.parameters == {
        "marginals": ["x x c"],
        "cells": 3,
        "noise": ["identity"],
        "columns": columns,
    }
    marginal, column = plan.noise
    assert marginal.parameter == f"scale = {2 / (1 - share)} records"
    assert column.query == "identity noise on x, for the certificate"
    assert column.parameter == f"scale = {2 / share} records"


def test_pairs_are_measured_unless_there_is_a_single_column() -> None:
    assert [block.name for block in make().measured.family.blocks] == ["x x c"]
    assert [block.name for block in make(Domain((nominal("c", 3),))).measured.family.blocks] == [
        "c"
    ]


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_each_bound_is_about_its_forecast(adjacency) -> None:
    plan = make(WIDE, adjacency=adjacency, records=2000)
    rng = np.random.default_rng(80)
    codes = np.stack([rng.integers(0, cells, 2000) for cells in WIDE.shape], axis=1)
    found = certificate_of(plan, measured(plan, codes, rng), codes)
    forecast = plan.forecast()
    expected = {**forecast.jointly, **{(name,): b for name, b in forecast.per_attribute.items()}}
    for bound in (bound for bound in found.bounds if bound.columns):
        assert 0.3 < bound.value / expected[bound.columns] < 3, bound.target
    assert max(forecast.jointly.values()) == pytest.approx(forecast.expected_error, rel=0.1)


def test_the_forecast_is_smaller_for_more_records() -> None:
    errors = [make(records=records).forecast().expected_error for records in (50, 10**3, 10**5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] <= 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"depth": 3}, r"mechanism\.depth: certify has no parameters"),
        ({"marginals": 3}, r"certificate\.marginals: 3, but there are only 2 columns"),
        ({"records": 0}, "expected number of records: 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong, said) -> None:
    with pytest.raises(ValueError, match=said):
        make(**wrong)


# A certificate


def certificate_of(
    plan: CertificateAlonePlan,
    measurements: Measurements,
    records: np.ndarray,
    compute: Compute = SERIAL,
) -> Certificate:
    return CertificateAlone().certify(
        plan,
        measurements,
        SyntheticMeasure(codes=records.astype(np.int32)),
        confidence=CONFIDENCE,
        rng=np.random.default_rng(81),
        execution=Execution(compute=compute),
    )


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_marginals_and_single_columns_are_bounded_jointly(adjacency) -> None:
    plan = make(adjacency=adjacency, cells=3)
    codes = np.random.default_rng(82).integers(0, 2, size=(300, 2))
    certificate = certificate_of(plan, measured(plan, codes, np.random.default_rng(83)), codes)
    assert [bound.target for bound in certificate.bounds] == ["x x c", "x", "c"]
    assert certificate.confidence == CONFIDENCE
    assert certificate.assumptions[-1] == ASSUMPTION


def test_all_parts_of_the_failure_probability_are_told_and_sum_to_it() -> None:
    plan = make(WIDE, cells=2)
    codes = np.random.default_rng(82).integers(0, 2, size=(300, 2))
    method = certificate_of(plan, measured(plan, codes, np.random.default_rng(83)), codes).method
    doubt = 0.05 * (1 - CONFIDENCE)
    groups = 1 - CONFIDENCE - doubt
    assert f"at confidence {1 - 0.8 * groups:g} and {1 - 0.2 * groups:g}" in method
    assert f"of their noise, at confidence {1 - doubt:g}." in method


def test_columns_are_certified_at_their_own_cells_whatever_the_grid() -> None:
    """As wide as the released cells, not as the widest cell that the grid merges them with."""
    plan = make(WIDE, cells=3, records=10**6)
    codes = np.zeros((10**6, 2), dtype=np.int32)
    certificate = certificate_of(plan, measured(plan, codes, np.random.default_rng(87)), codes)
    pair, column, _ = certificate.bounds
    assert column.terms["discretisation"] == pytest.approx(0.02)
    assert column.value < 0.03
    assert plan.measured.family.radius == pytest.approx(1 / 3)
    assert pair.terms["discretisation"] == pytest.approx(1 / 6, abs=0.001)


def test_records_further_off_have_larger_bounds() -> None:
    plan = make(cells=6, records=5000)
    codes = np.random.default_rng(84).integers(0, 2, size=(5000, 2))
    measurements = measured(plan, codes, np.random.default_rng(85))
    near, far = (certificate_of(plan, measurements, given) for given in (codes, codes[:1]))
    assert near.bounds[0].value < far.bounds[0].value


# Coverage


def misses(adjacency: Adjacency, *, understated: int = 1) -> int:
    """Certificates that are wrong for the records that fit the noisy answers best, or worst.

    The given records are chosen in view of the noise, among all constant tables: one event bounds
    all tables, so that must not cost confidence. All points of a flag lie at distance 1.
    """
    rng, epsilon = np.random.default_rng(86), Fraction(1)
    plan, claimed = (
        make(FLAGS, adjacency=adjacency, epsilon=times * epsilon, cells=2)
        for times in (1, understated)
    )
    codes = rng.integers(0, 2, size=(150, 2))
    missed = 0
    for _ in range(RELEASES):
        measurements = measured(plan, codes, rng)
        exceeded = False
        for record in ((0, 0), (0, 1), (1, 0), (1, 1)):
            bounds = certificate_of(claimed, measurements, np.tile(record, (5, 1))).bounds
            differs = codes != np.array(record)
            true = (differs.any(axis=1).mean(), *differs.mean(axis=0))
            exceeded |= any(t > b.value + 1e-9 for t, b in zip(true, bounds, strict=True))
        missed += exceeded
    return missed


def misses_at_ends(adjacency: Adjacency, folder: Path, *, understated: int = 1) -> int:
    """Certificates that are wrong for values at the ends of cells of unequal widths.

    Grid points merge these cells, so the column is measured by itself. Private values lie at one
    end of their cells, the given ones at an end of theirs, so that for the outermost cells nothing
    but the noise stands between the column's bound and the distance.
    """
    rng = np.random.default_rng(88)
    plan, claimed = (
        make(WIDE, adjacency=adjacency, epsilon=Fraction(times), cells=2, records=300)
        for times in (1, understated)
    )
    assert plan.measured.own is not None
    codes = np.stack([rng.choice(4, 300, p=[0.4, 0.3, 0.2, 0.1]), rng.choice(2, 300)], axis=1)
    ends = (EDGES[:-1], EDGES[1:])
    missed = 0
    for _ in range(RELEASES):
        measurements = measured(plan, codes, rng)
        exceeded = False
        for record in product((0, 3), (0, 1)):
            given = np.tile(record, (3, 1))
            bounds = certificate_of(claimed, measurements, given, Serial(folder)).bounds
            differs = codes[:, 1] != record[1]
            for private, released in product(ends, ends):
                values, value = private[codes[:, 0]], released[record[0]]
                away = np.abs(values - value)
                true = (
                    np.maximum(away, differs).mean(),
                    wasserstein_distance(values, [value]),
                    differs.mean(),
                )
                exceeded |= any(t > b.value + 1e-9 for t, b in zip(true, bounds, strict=True))
        missed += exceeded
    return missed


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_misses_are_as_rare_as_stated_for_records_chosen_in_view_of_the_noise(adjacency) -> None:
    missed = misses(adjacency)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_misses_are_as_rare_as_stated_for_values_at_the_ends_of_their_cells(
    adjacency, tmp_path
) -> None:
    missed = misses_at_ends(adjacency, tmp_path)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@pytest.mark.slow
def test_a_twin_that_understates_the_noise_is_found_out() -> None:
    missed = misses(REPLACE, understated=4)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE


@pytest.mark.slow
def test_a_twin_that_understates_the_columns_noise_is_found_out(tmp_path) -> None:
    missed = misses_at_ends(REPLACE, tmp_path, understated=4)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE
