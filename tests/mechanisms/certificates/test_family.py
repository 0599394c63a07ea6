"""Certificates of families: coverage against an adversary, a broken twin, every term by hand."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import ot
import pytest
from scipy.stats import binom

from hallmark.mechanisms.blocks.estimate import FamilyEstimate, FamilyEstimator
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import marginals, over
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.certificates import family as certificates
from hallmark.mechanisms.certificates.family import (
    GOOD_DRAWS,
    affordable_draws,
    certify_family,
    certify_family_and_columns,
    noise_quantiles,
)
from hallmark.mechanisms.certificates.quantiles import least_draws
from hallmark.mechanisms.compute import SERIAL, Compute, Serial
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.line import tree_loss
from hallmark.mechanisms.geometry.transport import (
    hub_transport,
    transport,
    transport_cost,
)
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.builders.codes import random_codes
from tests.builders.columns import line, nominal, places
from tests.builders.releases import RELATIONS

FALSE_POSITIVE_RATE = 1e-6
FLOW_POINTS = "hallmark.mechanisms.geometry.transport.MOST_FLOW_POINTS"
RELEASES = 200
CONFIDENCE = 0.8
PUBLIC, PRIVATE = RELATIONS
FLAGS = Domain((nominal("a", 2), nominal("b", 2)))
MIXED = Domain((line("x", 9, has_null=True), nominal("c", 3), line("y", 4)))


def made(family: Family, adjacency: Adjacency, epsilon: Fraction = Fraction(1)) -> FamilyEstimator:
    """Independent noise on all points, epsilon for all blocks together."""
    each = epsilon / len(family)
    strategies = [
        identity(block.space.size, epsilon=each, adjacency=adjacency) for block in family.blocks
    ]
    return FamilyEstimator(family, tuple(strategies), adjacency)


def measured(
    estimator: FamilyEstimator, codes: np.ndarray, rng: np.random.Generator
) -> FamilyEstimate:
    """The estimate from noisy answers as the curator gives them, with noise that a seed fixes."""
    curator = SimulatedCurator(codes=codes, adjacency=estimator.adjacency, rng=rng)
    return estimator.estimate(curator.histograms("family", estimator.queries), curator.total())


# Coverage


def misses(
    order: int, adjacency: Adjacency, cache: Path, *, understated: int = 1, records: int = 60
) -> int:
    """Releases in which some block's W1 exceeds its bound for the worst constant synthetic table.

    Points of the blocks lie at distance 1 of each other, so to have all synthetic records in one
    point turns every error of that point's count into an error of the distance. The adversary
    tries all of them.
    """
    rng = np.random.default_rng(41)
    family = marginals(FLAGS, order, 2)
    estimator = made(family, adjacency)
    claimed = made(family, adjacency, understated * Fraction(1))
    codes = rng.integers(0, 2, size=(records, 2))
    missed = 0
    for _ in range(RELEASES):
        estimate = measured(estimator, codes, rng)
        exceeded = False
        for record in product((0, 1), repeat=2):
            synthetic = np.tile(record, (5, 1))
            certificate = certify_family(
                claimed, estimate, synthetic, confidence=CONFIDENCE, compute=Serial(cache)
            )
            bounds = certificate.bounds[-len(family) :]
            for block, bound in zip(family.blocks, bounds, strict=True):
                columns = list(block.columns)
                distance = (codes[:, columns] != synthetic[0, columns]).any(axis=1).mean()
                exceeded |= distance > bound.value + 1e-9
        missed += exceeded
    return missed


@pytest.mark.parametrize(
    ("order", "adjacency"),
    [
        (1, PUBLIC),
        (2, PRIVATE),
        pytest.param(1, PRIVATE, marks=pytest.mark.slow),
        pytest.param(2, PUBLIC, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_misses_are_as_rare_as_stated_for_the_worst_synthetic_table(
    order, adjacency, tmp_path
) -> None:
    missed = misses(order, adjacency, tmp_path)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@pytest.mark.parametrize(
    ("order", "adjacency", "understated"),  # a private number of records makes bounds wider
    [
        (1, PUBLIC, 3),
        (2, PRIVATE, 6),
        pytest.param(1, PRIVATE, 6, marks=pytest.mark.slow),
        pytest.param(2, PUBLIC, 3, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_twin_that_understates_the_noise_is_found_out(
    order, adjacency, understated, tmp_path
) -> None:
    missed = misses(order, adjacency, tmp_path, understated=understated, records=200)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE


def distance_of_records(domain: Domain, columns: Sequence[int], *tables: np.ndarray) -> float:
    """W1 between two tables' columns, values at their cells' centres, by POT."""
    apart = []
    for column in columns:
        attribute = domain.attributes[column]
        points = np.eye(attribute.cells)
        differences = points[:, None] - points[None]
        apart.append(w1(attribute, differences))
    one, other = (table[:, list(columns)] for table in tables)
    costs = np.max(
        [apart[i][one[:, None, i], other[None, :, i]] for i in range(len(columns))], axis=0
    )
    return float(ot.emd2([], [], np.ascontiguousarray(costs)))


def mixed_misses(family: Family, adjacency: Adjacency, releases: int, cache: Path) -> int:
    """Releases of a mixed table with nulls in which some block's bound is exceeded.

    The synthetic records are the private ones with some columns drawn anew.
    """
    rng = np.random.default_rng(42)
    estimator = made(family, adjacency, Fraction(4))
    codes = np.stack([rng.binomial(n - 1, 0.4, size=80) for n in MIXED.shape], axis=1)
    codes[:8, 0] = 9  # null
    missed = 0
    for _ in range(releases):
        synthetic = codes[rng.integers(0, 80, size=50)].copy()
        synthetic[:, 0] = rng.permutation(synthetic[:, 0])
        certificate = certify_family(
            estimator,
            measured(estimator, codes, rng),
            synthetic,
            confidence=CONFIDENCE,
            compute=Serial(cache),
        )
        exceeded = False
        for block, bound in zip(family.blocks, certificate.bounds[-len(family) :], strict=True):
            exceeded |= distance_of_records(MIXED, block.columns, codes, synthetic) > bound.value
        missed += exceeded
    return missed


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize(("order", "k"), [(1, 5), (2, 4)])
def test_bounds_hold_for_records_of_a_mixed_table(order, k, adjacency, tmp_path) -> None:
    missed = mixed_misses(marginals(MIXED, order, k), adjacency, 60, tmp_path)
    assert binom.sf(missed - 1, 60, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_bounds_along_trees_hold_as_well(adjacency, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(FLOW_POINTS, 0)
    missed = mixed_misses(marginals(MIXED, 2, 4), adjacency, 60, tmp_path)
    assert binom.sf(missed - 1, 60, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


# The terms


def exact(family: Family, adjacency: Adjacency = PUBLIC) -> FamilyEstimator:
    """An estimator whose noise is 0 but for a probability of 1e-300."""
    return made(family, adjacency, Fraction(10_000))


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_without_noise_the_terms_are_distances_that_can_be_computed(adjacency) -> None:
    family = marginals(MIXED, 2, 3)
    estimator = exact(family, adjacency)
    private, synthetic = random_codes(MIXED.shape, 40, 43), random_codes(MIXED.shape, 30, 44)
    estimate = measured(estimator, private, np.random.default_rng(0))
    _, *bounds = certify_family(
        estimator, estimate, synthetic, confidence=0.9, compute=SERIAL
    ).bounds
    for block, bound in zip(family.blocks, bounds, strict=True):
        one, other = (
            np.bincount(block.cells(codes), minlength=block.space.size) / len(codes)
            for codes in (private, synthetic)
        )
        assert dict(bound.terms) == pytest.approx(
            {
                "discretisation": block.radius,
                "privatisation": 0.0,
                "projection": float(transport(block.space, one - other)),
                "rounding to records": block.distances_to_points(synthetic).mean(),
            }
        )
        assert list(bound.terms) == [
            "discretisation",
            "privatisation",
            "projection",
            "rounding to records",
        ]


def test_without_noise_on_points_alone_the_bound_is_the_distance() -> None:
    domain = Domain((nominal("c", 3), places("p", np.array([[0.0], [0.3], [1.0]]))))
    estimator = exact(marginals(domain, 2, 4))
    private, synthetic = random_codes(domain.shape, 40, 45), random_codes(domain.shape, 30, 46)
    estimate = measured(estimator, private, np.random.default_rng(0))
    (bound,) = certify_family(estimator, estimate, synthetic, confidence=0.9, compute=SERIAL).bounds
    assert bound.value == pytest.approx(
        distance_of_records(domain, (0, 1), private, synthetic), abs=1e-5
    )


def certify_mixed(adjacency: Adjacency = PUBLIC, **options: object) -> tuple:
    family = marginals(MIXED, 2, 3)
    estimator = made(family, adjacency, Fraction(10))
    estimate = measured(estimator, random_codes(MIXED.shape, 300, 47), np.random.default_rng(1))
    arguments = {"confidence": 0.9, "compute": SERIAL} | options
    return certify_family(
        estimator, estimate, random_codes(MIXED.shape, 50, 48), **arguments
    ).bounds


def test_the_largest_block_comes_first_and_then_all_by_name() -> None:
    largest, *bounds = certify_mixed()
    assert largest.target == "all 3 two-way marginals"
    assert [bound.target for bound in bounds] == ["x x c", "x x y", "c x y"]
    assert largest.value == max(bound.value for bound in bounds)
    for bound in (largest, *bounds):
        assert 0 < bound.value < 1
        assert sum(bound.terms.values()) == pytest.approx(bound.value)


def test_measured_distances_stand_for_the_radius_where_they_are_less() -> None:
    _, *plain = certify_mixed()
    _, *bounds = certify_mixed(distances=np.array([6.0, 1e9, 0.0]))
    terms = [bound.terms["discretisation"] for bound in bounds]
    assert terms == pytest.approx([6.0 / 300, plain[1].terms["discretisation"], 0.0])


def test_a_private_number_of_records_is_bounded_from_below() -> None:
    family = marginals(MIXED, 2, 3)
    estimator = made(family, PRIVATE, Fraction(10))
    estimate = measured(estimator, random_codes(MIXED.shape, 300, 47), np.random.default_rng(1))
    noise = noise_quantiles(estimator, confidence=0.9, compute=SERIAL)
    assert noise.total > 0
    _, *bounds = certify_mixed(PRIVATE)
    records = float(estimate.total) - noise.total
    for bound, quantile in zip(bounds, noise.blocks, strict=True):
        assert bound.terms["privatisation"] == pytest.approx(quantile / records)
    public = made(family, PUBLIC, Fraction(10))
    assert noise_quantiles(public, confidence=0.9, compute=SERIAL).total == 0.0


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_the_noise_term_is_what_simulated_errors_cost(adjacency) -> None:
    """Of one block with noise that is kept: the rank of costs worked out here."""
    family = over(MIXED, [(0, 2)], 3)
    estimator = made(family, adjacency)
    space = family.blocks[0].space
    rng = np.random.default_rng(49)
    errors = estimator.simulate(4000, rng)
    costs = hub_transport(space, errors.tables[0]) + np.abs(errors.total) / 2
    found = noise_quantiles(estimator, confidence=0.9, compute=SERIAL)
    # The rank lies above the level by its doubt and by how few draws there are.
    above = float((costs > found.blocks[0]).mean())
    assert 0.01 < above < 0.1


@pytest.mark.parametrize("total", [-3.0, 0.0, 1.0])
def test_too_few_records_leave_all_bounds_vacuous(total) -> None:
    family = marginals(FLAGS, 1, 2)
    estimator = made(family, PRIVATE)
    tables = tuple(np.full(block.space.size, total / 2) for block in family.blocks)
    estimate = FamilyEstimate(tables=tables, total=np.array(total))
    bounds = certify_family(
        estimator, estimate, np.zeros((3, 2), dtype=int), confidence=0.9, compute=SERIAL
    ).bounds
    assert len(bounds) == 3
    for bound in bounds:
        assert bound.vacuous
        assert bound.value == 1.0
        assert set(bound.terms) == {"discretisation", "rounding to records"}


def test_no_synthetic_record_is_refused() -> None:
    family = marginals(FLAGS, 1, 2)
    estimator = made(family, PUBLIC)
    estimate = measured(estimator, random_codes(FLAGS.shape, 9, 50), np.random.default_rng(2))
    with pytest.raises(ValueError, match="no synthetic record"):
        certify_family(
            estimator, estimate, np.zeros((0, 2), dtype=int), confidence=0.9, compute=SERIAL
        )


# The cost, and how often it is simulated


def test_the_cost_is_exact_transport_with_a_surplus_settled_at_half_the_diameter() -> None:
    space = marginals(MIXED, 2, 3).blocks[0].space
    rng = np.random.default_rng(52)
    masses = rng.normal(size=(4, space.size))
    assert transport_cost(space, masses) == pytest.approx(hub_transport(space, masses))
    shares = rng.dirichlet(np.ones(space.size), size=2)
    assert (transport_cost(space, shares) <= 0.5 + 1e-9).all()
    moved = shares[:1] - shares[1:]
    assert transport_cost(space, moved) == pytest.approx(transport(space, moved))


def test_along_trees_the_cost_is_a_bound_on_transport(monkeypatch) -> None:
    space = marginals(MIXED, 2, 3).blocks[0].space
    masses = np.random.default_rng(53).normal(size=(20, space.size))
    flows = transport_cost(space, masses)
    monkeypatch.setattr(FLOW_POINTS, space.size - 1)
    trees = transport_cost(space, masses)
    assert trees == pytest.approx(tree_loss(space, masses, surplus_cost=0.5))
    assert (trees >= flows - 1e-9).all()
    shares = np.random.default_rng(54).dirichlet(np.ones(space.size), size=5)
    assert (transport_cost(space, shares) <= 0.5 + 1e-9).all()


class Counting(Serial):
    """Remembers what it was asked to do."""

    def __init__(self, cache: Path | None) -> None:
        super().__init__(cache)
        self.done: list[str] = []

    def map(self, function: Callable, items: Sequence, *, doing: str) -> Iterator:
        self.done.append(doing)
        return map(function, items)


def quantiles(compute: Compute, **changed: object) -> np.ndarray:
    arguments = {"order": 2, "adjacency": PUBLIC, "epsilon": Fraction(1)} | changed
    family = marginals(FLAGS, arguments["order"], 2)
    estimator = made(family, arguments["adjacency"], arguments["epsilon"])
    return noise_quantiles(estimator, confidence=0.9, compute=compute).blocks


def test_a_design_is_simulated_once(tmp_path) -> None:
    compute = Counting(tmp_path)
    first = quantiles(compute)
    assert (quantiles(compute) == first).all()
    assert len(compute.done) == 1
    assert "simulating noise on 1 tables" in compute.done[0]
    assert (quantiles(SERIAL) == first).all()


@pytest.mark.parametrize(
    "changed", [{"order": 1}, {"adjacency": PRIVATE}, {"epsilon": Fraction(1, 2)}]
)
def test_another_design_is_another_simulation(tmp_path, changed) -> None:
    compute = Counting(tmp_path)
    quantiles(compute)
    quantiles(compute, **changed)
    assert len(compute.done) == 2


def test_bounding_along_trees_is_another_simulation(tmp_path, monkeypatch) -> None:
    compute = Counting(tmp_path)
    quantiles(compute)
    monkeypatch.setattr(certificates, "MOST_FLOW_POINTS", 2)  # of the digest
    monkeypatch.setattr(FLOW_POINTS, 2)
    quantiles(compute)
    assert len(compute.done) == 2


def test_simulations_fit_into_memory_whatever_the_size_of_the_tables(monkeypatch) -> None:
    asked = []
    simulate = FamilyEstimator.simulate

    def watched(self: FamilyEstimator, draws: int, rng: np.random.Generator) -> FamilyEstimate:
        asked.append(draws)
        return simulate(self, draws, rng)

    monkeypatch.setattr(FamilyEstimator, "simulate", watched)
    monkeypatch.setattr(certificates, "BATCH", 11)
    quantiles(SERIAL)  # one table of 4 points
    assert max(asked) == 2


def test_large_tables_get_just_as_many_draws_as_the_confidence_needs(monkeypatch) -> None:
    family = marginals(MIXED, 2, 4)
    assert affordable_draws(family, 0.9) == GOOD_DRAWS
    monkeypatch.setattr(certificates, "SECONDS", 1e-9)
    assert affordable_draws(family, 0.9) == least_draws(0.9) < GOOD_DRAWS
    assert affordable_draws(family, 0.999) == least_draws(0.999) > GOOD_DRAWS


# Words


@pytest.mark.parametrize(
    ("column_sets", "words"),
    [
        ([(0, 1), (0, 2), (1, 2)], "all 3 two-way marginals"),
        ([(0, 1), (0, 2)], "2 two-way marginals"),
        ([(0,), (1,), (2,)], "all 3 one-way marginals"),
        ([(0, 1), (2,)], "2 marginals"),
        ([(0, 1, 2)], "x x c x y"),
    ],
)
def test_a_family_is_described_by_what_it_holds(column_sets, words) -> None:
    assert over(MIXED, column_sets, 2).title == words


def test_tables_of_many_columns_are_described_by_their_number() -> None:
    domain = Domain(tuple(nominal(name, 2) for name in "abcde"))
    assert marginals(domain, 4, 1).title == "all 5 4-way marginals"


# With the columns


def whole_certificate(adjacency: Adjacency, **options: object) -> object:
    family = marginals(MIXED, 2, 3)
    estimator = made(family, adjacency, Fraction(20))
    estimate = measured(estimator, random_codes(MIXED.shape, 500, 55), np.random.default_rng(5))
    arguments = {"confidence": 0.9} | options
    return certify_family_and_columns(
        MIXED,
        estimator,
        estimate,
        random_codes(MIXED.shape, 100, 56),
        compute=SERIAL,
        rng=np.random.default_rng(6),
        **arguments,
    )


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_a_whole_certificate_has_blocks_and_columns_that_hold_together(adjacency) -> None:
    certificate = whole_certificate(adjacency)
    assert [bound.target for bound in certificate.bounds] == [
        "all 3 two-way marginals",
        "x x c",
        "x x y",
        "c x y",
        "x",
        "c",
        "y",
    ]
    assert certificate.confidence == 0.9
    assert "at confidence 0.92 and 0.98" in certificate.method
    assert set(certificate.measured) == {"x", "c", "y"}
    assert all(0 < bound.value < 1 for bound in certificate.bounds)


def test_measured_distances_take_their_part_of_the_failures() -> None:
    certificate = whole_certificate(
        PUBLIC, confidence=0.91, stated=0.9, distances=np.array([1.0, 1.0, 1.0])
    )
    assert certificate.confidence == 0.9
    assert "measured with noise of their own, at confidence 0.99" in certificate.method


@pytest.mark.parametrize("confidence", [0.0, 1.0, 90.0])
def test_a_confidence_outside_of_zero_and_one_is_refused(confidence) -> None:
    with pytest.raises(ValueError, match=r"certificate\.confidence"):
        whole_certificate(PUBLIC, confidence=confidence)
