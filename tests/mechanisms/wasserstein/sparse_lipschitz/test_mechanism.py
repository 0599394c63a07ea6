"""Sparse-Lipschitz from plan to records and certificate: invariants, coverage, edge cases."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.blocks.choose_noise import NoiseChoice
from hallmark.mechanisms.blocks.marginals import over
from hallmark.mechanisms.blocks.programs import Loss
from hallmark.mechanisms.compute import Serial
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.geometry.transport import transport
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.wasserstein.sparse_lipschitz import SparseLipschitz, SparseLipschitzPlan
from hallmark.mechanisms.wasserstein.sparse_lipschitz.mechanism import _tour
from tests.builders.columns import line, nominal
from tests.builders.curators import curator_of
from tests.mechanisms.wasserstein.single_histogram.runs import generated, measured
from tests.mechanisms.wasserstein.sparse_lipschitz.test_plan import MANY, make, public_table

FALSE_POSITIVE_RATE = 1e-6
RELATIONS = [
    Adjacency(neighbours=Neighbours.REPLACE_ONE),
    Adjacency(neighbours=Neighbours.ADD_REMOVE),
    Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2),
]
REPLACE, ADD = RELATIONS[:2]
# Four values without width: none is moved on 3 cells, so that distances are known exactly.
EXACT = 3
SMALL = Domain((line("x", 4, width=0.0), line("y", 4, width=0.0, has_null=True), nominal("c", 2)))
LEVEL = 0.8
MECHANISM = SparseLipschitz()


def certified(
    plan: SparseLipschitzPlan,
    measurements: Measurements,
    synthetic: SyntheticMeasure,
    confidence: float = 0.95,
    cache: Path | None = None,
) -> Certificate:
    return MECHANISM.certify(
        plan,
        measurements,
        synthetic,
        confidence=confidence,
        rng=np.random.default_rng(0),
        execution=Execution(compute=Serial(cache)),
    )


def losses(plan: SparseLipschitzPlan, codes: np.ndarray, made: np.ndarray) -> list[float]:
    """True distance of every block, in the order of the bounds: the largest of them first."""
    exact = over(plan.domain, [block.columns for block in plan.family.blocks], EXACT)
    assert exact.radius == 0
    found = []
    for block in exact.blocks:
        own, released = (
            np.bincount(block.cells(records), minlength=block.space.size) / len(records)
            for records in (codes, made)
        )
        found.append(transport(block.space, own - released))
    return found if len(found) == 1 else [max(found), *found]


def rows_of(codes: np.ndarray) -> set[tuple[int, ...]]:
    return set(map(tuple, codes.tolist()))


@pytest.mark.parametrize(
    ("noise", "adjacency"),
    [(noise, REPLACE) for noise in get_args(NoiseChoice) if noise != "two-level"]
    + [("haar", adjacency) for adjacency in RELATIONS[1:]],
    ids=str,
)
def test_a_release_through_the_curator_spends_its_budget(noise, adjacency, tmp_path) -> None:
    codes = public_table(SMALL, 2000)
    budget = Budget(epsilon=Fraction(2), delta=Fraction(1, 10**6))
    public = np.random.default_rng(2).permuted(codes, axis=0)[:300]
    plan = make(SMALL, adjacency, budget, 2000, public, cells=2, noise=noise)
    curator = curator_of(plan, codes, tmp_path)
    selection = MECHANISM.select(curator, plan)
    measurements = MECHANISM.measure(curator, plan, selection)
    assert curator.ledger.events("r1") == plan.events
    assert measurements.total == (2000 if adjacency is REPLACE else None)

    synthetic = generated(MECHANISM, plan, measurements)
    assert rows_of(synthetic.codes) <= rows_of(public)
    certificate = certified(plan, measurements, synthetic, cache=tmp_path)
    assert certificate.confidence == 0.95
    assert [bound.target for bound in certificate.bounds] == [
        "all 3 two-way marginals",
        "x x y",
        "x x c",
        "y x c",
        "x",
        "y",
        "c",
    ]
    largest, *blocks = certificate.bounds[:4]
    assert largest.value == max(bound.value for bound in blocks) < 1
    for bound, loss in zip(certificate.bounds, losses(plan, codes, synthetic.codes), strict=False):
        # Unseeded noise: exceeding the bound by half its value is far beyond its 5 percent.
        assert loss <= 1.5 * bound.value


@pytest.mark.parametrize("support", ["public", "grid"])
@pytest.mark.parametrize("loss", get_args(Loss))
def test_weights_lie_on_the_support_and_fit_no_worse_than_the_start(loss, support) -> None:
    rng = np.random.default_rng(3)
    codes, public = public_table(SMALL, 500), public_table(SMALL, 90)[::-1] % (2, 5, 2)
    plan = make(SMALL, records=500, public=public, cells=3, loss=loss, support=support)
    for _ in range(3):
        made = generated(MECHANISM, plan, measured(plan, codes, rng)[0])
        assert rows_of(made.codes) <= rows_of(plan.support)
        assert made.codes.dtype == np.int32
        history = made.history
        assert history["loss"] == loss
        assert history["support_points"] == len(rows_of(plan.support))
        assert history["misfit_of_weights"] < history["misfit_of_support"]
        assert history["no_weights_below"] == pytest.approx(history["misfit_of_weights"], abs=1e-6)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("noise", ["identity", "haar"])
def test_with_vanishing_noise_all_records_come_back(noise, adjacency) -> None:
    codes, ample = public_table(SMALL, 400), Budget(epsilon=Fraction(10**6))
    plan = make(SMALL, adjacency, ample, 400, marginals=3, cells=EXACT, noise=noise)
    measurements, _ = measured(plan, codes, np.random.default_rng(4))
    made = generated(MECHANISM, plan, measurements).codes
    assert (codes[np.lexsort(codes.T)] == made[np.lexsort(made.T)]).all()


@pytest.mark.parametrize("measure", [True, False], ids=["measured", "radius"])
@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_with_vanishing_noise_discretisation_and_rounding_remain(adjacency, measure) -> None:
    domain = Domain((line("x", 30), line("y", 30)))
    codes, ample = public_table(domain, 900), Budget(epsilon=Fraction(10**7))
    plan = make(domain, adjacency, ample, 900, codes, cells=3, measure_discretisation=measure)
    measurements, _ = measured(plan, codes, np.random.default_rng(5))
    synthetic = generated(MECHANISM, plan, measurements)
    bound = certified(plan, measurements, synthetic).bounds[0]
    (block,) = plan.family.blocks
    terms = dict(bound.terms)
    assert bound.value == pytest.approx(sum(terms.values()))
    mean = float(block.distances_to_points(codes).mean())
    expected = mean if measure else block.radius
    assert mean < 0.8 * block.radius
    assert terms.pop("discretisation") == pytest.approx(expected, abs=1e-5)
    rounding = float(block.distances_to_points(synthetic.codes).mean())
    assert terms.pop("rounding to records") == pytest.approx(rounding)
    assert sum(terms.values()) < 1e-4


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_measuring_the_distances_tightens_the_certificate_and_says_so(adjacency) -> None:
    codes = np.stack([np.repeat([1, 4, 7], 700)] * 2, axis=1)  # the middles of three cells
    domain, bounds = Domain((line("x", 9), line("y", 9))), {}
    for measure in (True, False):
        plan = make(
            domain,
            adjacency,
            Budget(epsilon=Fraction(4)),
            MANY,  # than there are
            cells=3,
            noise="identity",
            measure_discretisation=measure,
        )
        assert (plan.discretisation is not None) == measure
        measurements, _ = measured(plan, codes, np.random.default_rng(6))
        certificate = certified(plan, measurements, generated(MECHANISM, plan, measurements))
        assert ("mean distances from their points were measured" in certificate.method) == measure
        assert certificate.confidence == 0.95
        bounds[measure] = certificate.bounds[0]
    assert bounds[False].terms["discretisation"] == pytest.approx(1 / 6)
    assert bounds[True].terms["discretisation"] < 1 / 12
    assert bounds[True].value < bounds[False].value


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_as_many_records_come_out_as_were_measured_or_asked_for(adjacency) -> None:
    plan = make(SMALL, adjacency, records=300, cells=2)
    measurements, _ = measured(plan, public_table(SMALL, 300), np.random.default_rng(7))
    total = plan.estimator.estimate(
        measurements.tables["blocks"][: len(plan.estimator.queries)], measurements.total
    ).total
    assert (float(total) == 300) == adjacency.total_is_public
    made = generated(MECHANISM, plan, measurements)
    assert len(made.codes) == round(float(total)) == made.history["measured_records"]
    for rows in (1, 1000):
        codes = generated(MECHANISM, plan, measurements, rows).codes
        assert codes.shape == (rows, 3)
        assert rows_of(codes) <= rows_of(plan.support)
    with pytest.raises(ValueError, match=r"output\.rows: 0; ask for at least 1"):
        generated(MECHANISM, plan, measurements, 0)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_an_empty_table_becomes_one_public_record_that_nothing_is_certified_of(adjacency) -> None:
    plan = make(SMALL, adjacency, records=300, cells=2, noise="identity")
    measurements, _ = measured(plan, np.zeros((0, 3), dtype=int), np.random.default_rng(8))
    if not adjacency.total_is_public:  # as little as noise makes of it
        tables = [np.minimum(table, 0) for table in measurements.tables["blocks"]]
        measurements = measurements.with_call("blocks", tables)
    made = generated(MECHANISM, plan, measurements)
    assert made.codes.tolist() == [[2, 2, 1]]
    assert made.history["measured_records"] <= 0
    assert generated(MECHANISM, plan, measurements, 3).codes.tolist() == [[2, 2, 1]] * 3
    certificate = certified(plan, measurements, made)
    assert all(bound.value == 1 and bound.vacuous for bound in certificate.bounds[:4])


def test_progress_is_told_from_start_to_end() -> None:
    plan, told = make(SMALL, records=100, cells=2), []
    MECHANISM.generate(
        plan,
        measured(plan, public_table(SMALL, 100), np.random.default_rng(9))[0],
        rows=None,
        rng=np.random.default_rng(0),
        execution=Execution(progress=lambda share, what: told.append((share, what))),
    )
    assert told[0][0] == 0
    assert told[-1][0] == 1
    assert all(before[0] <= after[0] for before, after in pairwise(told))
    assert told[1][1] == "seeking weights on 12 points"


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_confidence_that_is_none_is_refused(confidence) -> None:
    plan = make(SMALL, records=60, cells=2, measure_discretisation=False)
    measurements, _ = measured(plan, public_table(SMALL, 60), np.random.default_rng(10))
    with pytest.raises(ValueError, match=r"certificate\.confidence"):
        certified(plan, measurements, generated(MECHANISM, plan, measurements), confidence)


@pytest.mark.parametrize(
    ("adjacency", "measure"), [*zip(RELATIONS, [True, False, True], strict=True)], ids=str
)
def test_the_bounds_hold_in_as_many_releases_as_stated(adjacency, measure, tmp_path) -> None:
    rng, missed = np.random.default_rng(11), 0
    codes = public_table(SMALL, 200)
    plan = make(
        SMALL,
        adjacency,
        Budget(epsilon=Fraction(4)),
        MANY,  # than there are
        cells=2,
        noise="identity",
        measure_discretisation=measure,
    )
    assert (plan.discretisation is not None) == measure
    for _ in range(40):
        measurements, _ = measured(plan, codes, rng)
        synthetic = generated(MECHANISM, plan, measurements)
        certificate = certified(plan, measurements, synthetic, LEVEL, tmp_path)
        true = losses(plan, codes, synthetic.codes)
        missed += any(
            loss > bound.value + 1e-12
            for loss, bound in zip(true, certificate.bounds, strict=False)
        )
    assert binom.sf(missed - 1, 40, 1 - LEVEL) > FALSE_POSITIVE_RATE


def misses(adjacency: Adjacency, understated: int, folder: Path, releases: int = 40) -> int:
    """Releases of two flags with a bound that the worst synthetic table exceeds.

    All synthetic records have the flags that the noise makes look more frequent than they are, so
    that only the quantile of the noise stands between the distances and the bounds.
    """
    domain, rng = Domain((nominal("a", 2), nominal("b", 2))), np.random.default_rng(12)
    codes = np.stack([np.repeat([0, 1], [150, 250]), np.repeat([0, 1], [230, 170])], axis=1)
    plan, certifier = (
        make(domain, adjacency, Budget(epsilon=Fraction(times)), 400, marginals=1, noise="identity")
        for times in (1, understated)
    )
    missed = 0
    for _ in range(releases):
        measurements, _ = measured(plan, codes, rng)
        estimate = plan.estimator.estimate(measurements.tables["blocks"], measurements.total)
        own = [np.bincount(codes[:, column], minlength=2) for column in (0, 1)]
        ends = [
            int(np.argmax(table / float(estimate.total) - counts / 400))
            for table, counts in zip(estimate.tables, own, strict=True)
        ]
        made = SyntheticMeasure(codes=np.array([ends], dtype=np.int32))
        certificate = certified(certifier, measurements, made, LEVEL, folder)
        far = [1 - counts[end] / 400 for counts, end in zip(own, ends, strict=True)]
        bounds = {bound.target: bound.value for bound in certificate.bounds}
        assert set(bounds) == {"all 2 one-way marginals", "a", "b"}
        missed += any(
            distance > bound.value + 1e-12
            for name, distance in zip("ab", far, strict=True)
            for bound in certificate.bounds
            if bound.target in (name, "all 2 one-way marginals")
        )
    return missed


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_misses_are_as_rare_as_stated_for_the_worst_synthetic_table(adjacency, tmp_path) -> None:
    assert binom.sf(misses(adjacency, 1, tmp_path) - 1, 40, 1 - LEVEL) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_is_found_out(tmp_path) -> None:
    assert binom.sf(misses(REPLACE, 8, tmp_path) - 1, 40, 1 - LEVEL) < FALSE_POSITIVE_RATE


def test_the_tour_leads_from_cell_to_near_cell() -> None:
    """Along interleaved bits a step on a 16 x 16 grid goes 1.4 cells on average, at random 7.7."""
    domain = Domain((line("x", 16), line("y", 16)))
    codes = np.random.default_rng(13).permutation(np.argwhere(np.ones(domain.shape)))
    tour = codes[_tour(codes, domain)]
    assert np.abs(np.diff(tour, axis=0)).max(axis=1).mean() < 2
