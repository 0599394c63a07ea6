"""PMM certificates: coverage over simulated releases, a broken twin, and what they state."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.contract import Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.wasserstein.pmm import PMM
from hallmark.mechanisms.wasserstein.pmm.mechanism import TreeMechanism
from hallmark.mechanisms.wasserstein.pmm.tree import transport_cost
from tests.builders.columns import line, nominal
from tests.builders.releases import ADD, RELATIONS, REPLACE
from tests.mechanisms.wasserstein.pmm.trees import each_mechanism, measured, planned

FALSE_POSITIVE_RATE = 1e-6
RELEASES = 400
CONFIDENCE = 0.9


BINARY = Domain((nominal("flag", 2),))
MIXED = Domain((line("x", 6, has_null=True, width=0.0), nominal("c", 3)))


def binary_misses(mechanism: TreeMechanism, adjacency: Adjacency, understated: int = 1) -> int:
    """Releases of one binary column in which the worst synthetic table exceeds some bound.

    All synthetic records lie in the one cell that the noise makes look better than it is, so that
    only the quantile of the noise stands between the distance and the bound.
    """
    plan = planned(BINARY, adjacency, mechanism=mechanism, depth=1)
    certifier = replace(plan, scales=tuple(scale / understated for scale in plan.scales))
    codes = np.repeat([[0], [1]], [150, 250], axis=0)
    rng = np.random.default_rng(21)
    missed = 0
    for _ in range(RELEASES):
        measurements = measured(plan, codes, rng)
        if mechanism.name == "pmm":
            noise = measurements.tables["levels"][-1] @ [1, -1] + 100
        else:
            noise = measurements.tables["levels"][-1][0] + 100
        end = int(noise < 0)  # fewer records seem to be on the other side
        synthetic = SyntheticMeasure(codes=np.full((1, 1), end, dtype=np.int32))
        certificate = PMM().certify(
            certifier, measurements, synthetic, confidence=CONFIDENCE, rng=rng
        )
        distance = (codes[:, 0] != end).mean()
        missed += any(distance > bound.value + 1e-12 for bound in certificate.bounds)
    return missed


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_misses_are_as_rare_as_stated_for_the_worst_synthetic_table(adjacency, mechanism) -> None:
    missed = binary_misses(mechanism, adjacency)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@each_mechanism
def test_a_twin_that_understates_the_noise_by_half_is_found_out(mechanism) -> None:
    missed = binary_misses(mechanism, REPLACE, understated=2)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_the_simulated_cost_of_the_joint_error_includes_a_wrong_total(adjacency, mechanism) -> None:
    plan = planned(MIXED, adjacency, mechanism=mechanism, depth=4)
    model = plan.noise_model()
    ((errors, statistics),) = model.simulate(50, np.random.default_rng(20))
    assert (errors.total == statistics[:, 1]).all()
    assert (errors.total == 0).all() == adjacency.total_is_public
    for counts in errors.counts:
        assert np.allclose(counts.sum(axis=1), errors.total)
    # Settling a column's errors, the surplus in its first cell, costs no more than stated jointly.
    for a, counts in enumerate(errors.counts):
        alone = w1(MIXED.attributes[a], counts - errors.total[:, None] * np.eye(counts.shape[1])[0])
        if plan.partition.coarsening(a) == 0:
            assert (alone <= statistics[:, 0] + 1e-9).all()


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("depth", [3, 5])
def test_bounds_hold_for_the_released_records_of_a_mixed_table(adjacency, depth, mechanism) -> None:
    """With coarse and with full partitions, fewer rows than records, values and nulls."""
    plan = planned(MIXED, adjacency, mechanism=mechanism, depth=depth)
    rng = np.random.default_rng(22)
    x = rng.choice(7, 300, p=[0.4, 0.2, 0.1, 0, 0, 0.1, 0.2])
    codes = np.stack([x, rng.integers(0, 2, 300)], axis=1)
    missed, releases = 0, 60
    for _ in range(releases):
        measurements = measured(plan, codes, rng)
        synthetic = PMM().generate(plan, measurements, rows=101, rng=rng)
        certificate = PMM().certify(plan, measurements, synthetic, confidence=CONFIDENCE, rng=rng)
        joint, *columns = certificate.bounds
        exceeded = False
        for a, bound in enumerate(columns):
            attribute = MIXED.attributes[a]
            private, released = (
                np.bincount(table[:, a], minlength=attribute.cells) / len(table)
                for table in (codes, synthetic.codes)
            )
            distance = float(w1(attribute, private - released))  # at most the joint distance
            exceeded |= distance > min(bound.value, joint.value)
        missed += exceeded
    assert binom.sf(missed - 1, releases, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@each_mechanism
def test_without_noise_the_joint_bound_is_transport_along_the_tree_plus_the_leaves(
    mechanism,
) -> None:
    domain = Domain((line("x", 8),))
    plan = planned(domain, REPLACE, mechanism=mechanism, depth=3)
    plan = replace(plan, scales=(Fraction(1, 1000),) * 3)  # the noise is 0
    rng = np.random.default_rng(23)
    codes = rng.integers(0, 8, size=(50, 1))
    other = rng.integers(0, 8, size=(20, 1)).astype(np.int32)
    certificate = PMM().certify(
        plan, measured(plan, codes, rng), SyntheticMeasure(codes=other), confidence=0.9, rng=rng
    )
    drift = np.bincount(codes[:, 0], minlength=8) / 50 - np.bincount(other[:, 0], minlength=8) / 20
    costs = [plan.partition.flow_costs(level) for level in range(3)]
    assert certificate.bounds[0].terms == pytest.approx(
        {
            "discretisation": 1 / 8,
            "privatisation": 0.0,
            "projection": float(transport_cost(drift, costs)),
        }
    )


def test_a_total_that_may_be_nothing_but_noise_leaves_the_bounds_vacuous() -> None:
    """Noise of scale 1 exceeds 1 record more often than the certificate may fail."""
    plan = planned(BINARY, ADD, depth=0)
    measurements = Measurements(tables={"levels": (np.array([1]),)}, total=None)
    synthetic = SyntheticMeasure(codes=np.zeros((4, 1), dtype=np.int32))
    certificate = PMM().certify(
        plan, measurements, synthetic, confidence=0.9, rng=np.random.default_rng(27)
    )
    for bound in certificate.bounds:
        assert bound.vacuous
        assert set(bound.terms) == {"discretisation"}


def test_the_certificate_names_all_columns_its_confidence_and_its_method() -> None:
    plan = planned(MIXED, ADD)
    rng = np.random.default_rng(24)
    measurements = measured(plan, np.zeros((200, 2), dtype=int), rng)
    synthetic = PMM().generate(plan, measurements, rows=None, rng=rng)
    certificate = PMM().certify(plan, measurements, synthetic, confidence=0.9, rng=rng)
    assert [bound.target for bound in certificate.bounds] == ["all columns jointly", "x", "c"]
    assert certificate.confidence == 0.9
    assert certificate.cost is None
    assert "each at confidence 0.95" in certificate.method
    for bound in certificate.bounds:
        assert 0 < bound.value < 1
        assert sum(bound.terms.values()) == pytest.approx(bound.value)


@each_mechanism
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_an_empty_table_gets_vacuous_bounds(adjacency, mechanism) -> None:
    plan = planned(MIXED, adjacency, mechanism=mechanism, depth=4)
    rng = np.random.default_rng(25)
    measurements = measured(plan, np.zeros((0, 2), dtype=int), rng)
    synthetic = PMM().generate(plan, measurements, rows=None, rng=rng)
    certificate = PMM().certify(plan, measurements, synthetic, confidence=0.9, rng=rng)
    assert all(bound.vacuous and bound.value == 1.0 for bound in certificate.bounds)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_outside_of_zero_and_one_is_refused(confidence) -> None:
    plan, rng = planned(BINARY, REPLACE), np.random.default_rng(26)
    measurements = measured(plan, np.zeros((3, 1), dtype=int), rng)
    synthetic = SyntheticMeasure(codes=np.zeros((3, 1), dtype=np.int32))
    with pytest.raises(ValueError, match=r"certificate\.confidence"):
        PMM().certify(plan, measurements, synthetic, confidence=confidence, rng=rng)
