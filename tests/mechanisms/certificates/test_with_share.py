"""Certificates with a share of the budget: what it costs, what it promises, and that it holds."""

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.blocks import marginals as families
from hallmark.mechanisms.blocks.marginals import CANDIDATES, noisy_counts
from hallmark.mechanisms.blocks.strategies.haar import haar
from hallmark.mechanisms.certificates import measured_marginals as module
from hallmark.mechanisms.certificates.with_share import PlanWithShare, WithShare
from hallmark.mechanisms.compute import Serial
from hallmark.mechanisms.contract import Certificate, Measurements, Mechanism, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteLaplace
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.wasserstein.pmm import PMM
from hallmark.mechanisms.wasserstein.psmm import PSMM
from hallmark.mechanisms.wasserstein.superregular import Superregular
from tests.builders.columns import line, nominal
from tests.builders.curators import curator_of
from tests.builders.releases import (
    ADD,
    PERSONS,
    REPLACE,
    WITH_PERSONS,
    request,
    simulated,
)
from tests.mechanisms.certificates.test_distances import EDGES, uneven
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost

FALSE_POSITIVE_RATE = 1e-6
RELEASES = 200
CONFIDENCE = 0.8
DOMAIN = Domain((line("x", 6, width=0.0), nominal("c", 2, has_null=True)))
FLAGS = Domain((nominal("a", 2), nominal("b", 2)))
TENTH = Fraction(1, 10)


def make(
    inner: Mechanism = PMM(),  # noqa: B008  # stateless
    *,
    domain: Domain = DOMAIN,
    adjacency: Adjacency = REPLACE,
    share: Fraction = TENTH,
    marginals: int = 2,
    cells: int | None = None,
    records: int = 200,
    **asked: Any,
) -> PlanWithShare:
    wrapped = WithShare(inner, share, marginals, cells)
    return wrapped.plan(request(domain, adjacency, records=records, **asked))


# What it costs


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
@pytest.mark.parametrize("inner", [PMM(), PSMM(), Superregular()], ids=lambda m: m.name)
def test_pure_costs_add_up_to_the_budget_exactly(inner, adjacency) -> None:
    plan = make(inner, adjacency=adjacency, epsilon=Fraction(3, 7))
    assert pure_epsilon(plan.events) == Fraction(3, 7)
    assert pure_epsilon(plan.inner.events) == Fraction(9, 10) * Fraction(3, 7)
    assert plan.share_budget == Budget(epsilon=Fraction(3, 70))


@pytest.mark.parametrize(
    ("share", "adjacency"),
    [
        pytest.param(Fraction(1, 100), REPLACE, marks=pytest.mark.slow),
        (Fraction(1, 2), ADD),
        pytest.param(Fraction(9, 10), REPLACE, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_gaussian_mechanisms_fit_the_budget_together_with_the_share(share, adjacency) -> None:
    delta = Fraction(1, 10**5)
    plan = make(MECHANISMS["privpgd"], adjacency=adjacency, share=share, delta=delta)
    assert fits(plan.events, plan.budget)
    assert plan.inner.budget == Budget(epsilon=1 - share, delta=delta)
    assert plan.share_budget == Budget(epsilon=share)


def test_what_the_accountant_cannot_prove_to_fit_is_refused() -> None:
    """For persons it knows Gaussian noise in zCDP alone, which adds badly to pure epsilon."""
    with pytest.raises(ValueError, match=r"certificate\.share: 1/2, but .* cannot be proved"):
        make(
            MECHANISMS["privpgd"],
            adjacency=PERSONS,
            share=Fraction(1, 2),
            delta=Fraction(1, 10**5),
        )


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_no_neighbours_of_tiny_tables_lose_more_to_the_marginals_than_the_share(
    adjacency,
) -> None:
    plan = make(domain=FLAGS, adjacency=adjacency, marginals=1, cells=2)
    lost = most_lost(plan.measured.queries, FLAGS.shape, adjacency)
    if adjacency.neighbours is Neighbours.REPLACE_ONE and not adjacency.total_is_public:
        # Who changes the number of records by m moves the rest by no more than m.
        assert TENTH / 2 < lost <= TENTH
    else:
        assert lost == TENTH  # attained


def test_the_noise_table_has_the_mechanisms_lines_and_the_certificates() -> None:
    plan = make(cells=3)
    (own,) = plan.noise[len(plan.inner.noise) :]
    assert plan.noise[: len(plan.inner.noise)] == plan.inner.noise
    assert own.query == "identity noise on x x c, for the certificate"
    assert own.cells == plan.measured.family.cells
    assert own.parameter == f"scale = {2 / TENTH} records"


def test_a_noise_table_tells_every_scale_and_counts_every_entry() -> None:
    """Sibling differences have a scale for each level, and the number of records one more."""
    domain = Domain((line("x", 64), line("y", 64)))
    plan = make(domain=domain, adjacency=ADD, marginals=1, cells=64)
    tree = plan.measured.family.blocks[0].space.tree
    along_tree = haar(tree, epsilon=TENTH / 2, adjacency=ADD)
    estimator = replace(plan.measured.estimator, strategies=(along_tree, along_tree))
    plan = replace(plan, measured=replace(plan.measured, estimator=estimator))
    lines = plan.noise[len(plan.inner.noise) :]
    scales = {(query.transform.__class__, query.noise) for query in plan.measured.queries}
    assert len(lines) == len(scales) == 7
    assert sum(own.cells for own in lines) == 2 * 64
    assert {own.query for own in lines} == {
        "haar-diameter noise on all 2 one-way marginals, for the certificate"
    }
    of_two_tables = f"L1 = {2 * ADD.l1} records"
    assert {own.sensitivity for own in lines} == {of_two_tables}


def test_events_of_the_mechanism_and_the_marginals_are_merged() -> None:
    plan = make(marginals=1, cells=3)
    assert DiscreteLaplace(l1=2, scale=2 * 2 / TENTH, times=2) in plan.events


# What is planned


def test_the_plan_tells_what_the_share_is_spent_on() -> None:
    plan = make(cells=3)
    assert plan.parameters["certificate"] == {
        "epsilon": "1/10",
        "marginals": ["x x c"],
        "cells": 3,
        "noise": ["identity"],
    }
    assert {**plan.inner.parameters}.items() <= plan.parameters.items()
    assert (plan.mechanism, plan.source) == ("pmm", plan.inner.source)
    assert plan.domain is DOMAIN
    assert plan.expected_records == 200
    assert plan.forecast().memory_bytes > plan.inner.forecast().memory_bytes
    assert plan.forecast().expected_error == plan.inner.forecast().expected_error


@pytest.mark.slow
def test_more_records_or_more_budget_choose_finer_grids() -> None:
    domain = Domain((line("x", 40), line("y", 40)))
    chosen = [make(domain=domain, records=records).measured.k for records in (10**2, 10**4, 10**5)]
    assert chosen == sorted(set(chosen))
    assert chosen[-1] > make(domain=domain, records=10**5, epsilon=Fraction(1, 1000)).measured.k


def test_points_for_all_codes_are_not_refined_any_further() -> None:
    plan = make(records=10**9)
    assert plan.measured.family.radius == 0 or plan.measured.k == module.FINEST
    domain = Domain((nominal("c", 3), nominal("d", 2)))
    assert make(domain=domain, records=10**9).measured.k == CANDIDATES[0]


@pytest.mark.slow
def test_single_columns_may_have_finer_grids_than_pairs() -> None:
    domain = Domain((line("x", 512), line("y", 512)))
    assert make(domain=domain, marginals=2, records=10**9).measured.k == module.FINEST
    assert make(domain=domain, marginals=1, records=10**9).measured.k > module.FINEST


def test_a_grid_that_nobody_asked_for_stays_small(monkeypatch) -> None:
    domain = Domain((line("x", 64), line("y", 64), line("z", 64)))
    pairs = tuple(combinations(range(3), 2))
    monkeypatch.setattr(families, "MOST_CHOSEN_COUNTS", noisy_counts(domain, pairs, 10))
    assert make(domain=domain, records=10**9).measured.k == 10
    assert make(domain=domain, records=10**9, cells=12).measured.k == 12


def test_more_columns_than_there_are_cannot_be_certified_jointly() -> None:
    with pytest.raises(ValueError, match="marginals: 3, but there are only 2 columns"):
        make(marginals=3)


def test_the_mechanisms_own_refusals_come_through() -> None:
    with pytest.raises(ValueError, match="marginals with Gaussian noise, which needs delta"):
        make(MECHANISMS["privpgd"])


@pytest.mark.parametrize("inner", [PMM(), PSMM()], ids=lambda m: m.name)
def test_mechanism_and_plan_pickle(inner) -> None:
    wrapped = WithShare(inner, TENTH, 2, 3)
    assert pickle.loads(pickle.dumps(wrapped)).name == inner.name
    plan = make(inner, cells=3)
    again = pickle.loads(pickle.dumps(plan))
    assert again.events == plan.events
    assert again.measured.estimator.digest == plan.measured.estimator.digest


# A release


def released(
    inner: Mechanism, plan: PlanWithShare, codes: np.ndarray, rng: np.random.Generator
) -> tuple[Measurements, SyntheticMeasure]:
    """Noisy answers as the curator gives them, with noise that a seed fixes, and the records."""
    wrapped = WithShare(inner, TENTH)
    measurements = simulated(wrapped, plan, codes, rng)
    return measurements, wrapped.generate(plan, measurements, rows=None, rng=rng)


def certificate_of(
    inner: Mechanism,
    plan: PlanWithShare,
    measurements: Measurements,
    synthetic: SyntheticMeasure,
    cache: Path | None = None,
) -> Certificate:
    return WithShare(inner, TENTH).certify(
        plan,
        measurements,
        synthetic,
        confidence=CONFIDENCE,
        rng=np.random.default_rng(81),
        execution=Execution(compute=Serial(cache)),
    )


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
@pytest.mark.parametrize("inner", [PMM(), PSMM()], ids=lambda m: m.name)
def test_the_certificate_has_both_groups_of_bounds_and_its_price(inner, adjacency) -> None:
    plan = make(inner, adjacency=adjacency, share=Fraction(1, 2), marginals=1, cells=3)
    codes = np.random.default_rng(82).integers(0, 2, size=(300, 2))
    measurements, synthetic = released(inner, plan, codes, np.random.default_rng(83))
    certificate = certificate_of(inner, plan, measurements, synthetic)
    targets = [bound.target for bound in certificate.bounds]
    assert targets[:3] == ["all 2 one-way marginals", "x", "c"]
    assert len(targets) > 3
    assert certificate.confidence == CONFIDENCE
    assert certificate.cost == Budget(epsilon=Fraction(1, 2))
    assert "each at confidence 0.9, so that all hold jointly at 0.8" in certificate.method


def test_records_are_made_from_the_mechanisms_own_measurements_alone() -> None:
    plan = make(cells=3)
    codes = np.random.default_rng(84).integers(0, 2, size=(300, 2))
    measurements, _ = released(PMM(), plan, codes, np.random.default_rng(85))
    others = [table + 99 for table in measurements.tables["certificate"]]
    changed = measurements.with_call("certificate", others)
    made = [
        WithShare(PMM(), TENTH).generate(plan, answers, rows=50, rng=np.random.default_rng(0))
        for answers in (measurements, changed)
    ]
    assert (made[0].codes == made[1].codes).all()


def test_the_curator_is_asked_twice_and_charged_the_whole_budget(tmp_path) -> None:
    plan = make(cells=3)
    curator = curator_of(plan, np.zeros((20, 2), dtype=np.int32), tmp_path)
    wrapped = WithShare(PMM(), TENTH, 2, 3)
    selection = wrapped.select(curator, plan)
    measurements = wrapped.measure(curator, plan, selection)
    calls = {"levels": len(plan.inner.queries), "certificate": len(plan.measured.queries)}
    assert {call: len(tables) for call, tables in measurements.tables.items()} == calls
    assert [len(table) for table in measurements.tables["certificate"][-1:]] == [
        plan.measured.family.blocks[0].space.size
    ]
    assert measurements.total == 20
    assert pure_epsilon(curator.ledger.events("r1")) == plan.budget.epsilon
    again = wrapped.measure(curator, plan, selection)  # read back, not drawn again
    np.testing.assert_equal(again.tables, measurements.tables)
    assert pure_epsilon(curator.ledger.events("r1")) == plan.budget.epsilon


# Coverage


def misses(adjacency: Adjacency, *, understated: int = 1, epsilon: Fraction = Fraction(10)) -> int:
    """Releases in which some bound is exceeded, for the worst constant synthetic table.

    All points of a flag lie at distance 1, so a constant table makes every error of its point's
    count one of the distance.
    """
    rng = np.random.default_rng(86)
    plan = make(PMM(), domain=FLAGS, adjacency=adjacency, epsilon=epsilon, cells=2)
    claimed = plan
    if understated > 1:
        finer = make(domain=FLAGS, adjacency=adjacency, epsilon=understated * epsilon, cells=2)
        claimed = replace(plan, measured=finer.measured)
    codes = rng.integers(0, 2, size=(150, 2))
    missed = 0
    for _ in range(RELEASES):
        measurements, _ = released(PMM(), plan, codes, rng)
        exceeded = False
        for record in ((0, 0), (0, 1), (1, 0), (1, 1)):
            synthetic = SyntheticMeasure(codes=np.tile(np.array(record, dtype=np.int32), (5, 1)))
            bounds = certificate_of(PMM(), claimed, measurements, synthetic).bounds
            distance = (codes != np.array(record)).any(axis=1).mean()
            exceeded |= any(distance > bound.value + 1e-9 for bound in bounds[:2])
        missed += exceeded
    return missed


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_misses_are_as_rare_as_stated_for_the_worst_synthetic_table(adjacency) -> None:
    missed = misses(adjacency)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_misses_are_as_rare_as_stated_where_columns_tell_how_far_records_lie_from_points(
    adjacency, tmp_path
) -> None:
    """Private values at one end of cells that the grid merges, released ones at one of theirs."""
    rng = np.random.default_rng(87)
    domain = Domain((uneven("x"), nominal("c", 2)))
    plan = make(domain=domain, adjacency=adjacency, epsilon=Fraction(80), cells=2, records=10**4)
    assert plan.measured.own is not None
    codes = np.stack([rng.choice(6, 150), rng.choice(2, 150)], axis=1)
    missed = 0
    for _ in range(RELEASES):
        measurements, _ = released(PMM(), plan, codes, rng)
        exceeded = False
        for record in ((0, 0), (5, 0), (0, 1), (5, 1)):
            synthetic = SyntheticMeasure(codes=np.tile(np.array(record, dtype=np.int32), (5, 1)))
            bound = certificate_of(PMM(), plan, measurements, synthetic, tmp_path).bounds[0]
            assert bound.terms["discretisation"] < plan.measured.family.radius
            for private, drawn in product((EDGES[:-1], EDGES[1:]), repeat=2):
                away = np.abs(private[codes[:, 0]] - drawn[record[0]])
                distance = np.maximum(away, codes[:, 1] != record[1]).mean()
                exceeded |= distance > bound.value + 1e-9
        missed += exceeded
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@pytest.mark.slow
def test_a_twin_that_understates_the_shares_noise_is_found_out() -> None:
    missed = misses(REPLACE, understated=4)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE
