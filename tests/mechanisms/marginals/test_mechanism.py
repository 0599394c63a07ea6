"""The family from plan to certificate: quality, edge cases, determinism, runs under the curator."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.datasets import randhie

from benchmarks.data import load
from hallmark.mechanisms.contract import SyntheticMeasure
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.marginals.mechanism import MarginalMeasurements
from hallmark.mechanisms.marginals.plan import MarginalPlan
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.utility.coded import by_column
from hallmark.mechanisms.utility.counting_queries import box_shares, draw_boxes, query_error
from hallmark.schemas.loading import load_spec
from hallmark.tasks.planning.coding import TableCodec
from tests.builders.codes import dependent_codes
from tests.mechanisms.marginals import domains

ROOT = Path(__file__).parents[3]
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
ADD = Adjacency(neighbours=Neighbours.ADD_REMOVE)
PERSON = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=3)
SHAPE = (6, 4, 2, 9)
PRIVPGD = MECHANISMS["privpgd"]
QUICK = {"members": 2, "classes": 10}
ATTRIBUTES = (
    (Kind.NUMERIC, False),
    (Kind.NOMINAL, False),
    (Kind.NOMINAL, False),
    (Kind.ORDINAL, True),
)


Real = Callable[[], tuple[np.ndarray, tuple[int, ...]]]
"""Codes of real records, and the cells of their columns."""


def domain(shape: tuple[int, ...] = SHAPE) -> Domain:
    kinds = ATTRIBUTES if shape == SHAPE else ((Kind.ORDINAL, False),) * len(shape)
    return Domain(
        tuple(
            Attribute(
                name=f"c{i}",
                kind=kind,
                positions=(np.arange(k - null) + 0.5) / (k - null),
                widths=np.zeros(k - null),
                has_null=null,
            )
            for i, (k, (kind, null)) in enumerate(zip(shape, kinds, strict=True))
        )
    )


def make(
    adjacency: Adjacency = REPLACE,
    shape: tuple[int, ...] = SHAPE,
    epsilon: str = "1",
    **generator: object,
) -> MarginalPlan:
    plan = PRIVPGD.plan(
        Request(
            domain=domain(shape),
            budget=Budget(epsilon=Fraction(epsilon), delta=Fraction(1, 100_000)),
            adjacency=adjacency,
            expected_records=2000,
            parameters={"generator": {"latent": QUICK, **generator}},
        )
    )
    assert isinstance(plan, MarginalPlan)
    return plan


def measured(plan: MarginalPlan, codes: np.ndarray, seed: int) -> MarginalMeasurements:
    return domains.measured(PRIVPGD, plan, codes, seed)


def generate(
    plan: MarginalPlan, measurements: MarginalMeasurements, rows: int | None = None, seed: int = 1
) -> SyntheticMeasure:
    return PRIVPGD.generate(plan, measurements, rows=rows, rng=np.random.default_rng(seed))


def total_variation(a: np.ndarray, b: np.ndarray, shape: tuple[int, ...]) -> float:
    """Mean over pairs."""

    def table(codes: np.ndarray, i: int, j: int) -> np.ndarray:
        flat = codes[:, i].astype(np.int64) * shape[j] + codes[:, j]
        return np.bincount(flat, minlength=shape[i] * shape[j]) / len(codes)

    return float(
        np.mean(
            [
                np.abs(table(a, i, j) - table(b, i, j)).sum() / 2
                for i, j in combinations(range(len(shape)), 2)
            ]
        )
    )


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSON])
@pytest.mark.parametrize("epochs", [0, 10])
def test_a_release_is_close_to_the_private_table(adjacency: Adjacency, epochs: int) -> None:
    codes = dependent_codes(SHAPE, 5000)
    plan = make(adjacency, descent={"epochs": epochs})
    synthetic = generate(plan, measured(plan, codes, 1))
    shuffled = np.random.default_rng(0).permuted(codes, axis=0)
    far = total_variation(codes, shuffled, SHAPE)
    assert total_variation(codes, synthetic.codes, SHAPE) < 0.3 * far
    assert len(synthetic.history.get("descent_loss", [])) == epochs
    if adjacency.total_is_public:
        assert len(synthetic.codes) == 5000
    else:
        assert 0 < abs(len(synthetic.codes) - 5000) < 500


@pytest.mark.parametrize("rows", [1, 7, 1234])
@pytest.mark.parametrize("particles", [50, 100_000])
def test_any_number_of_rows_can_be_asked_for(rows: int, particles: int) -> None:
    plan = make(descent={"epochs": 2}, particles=particles)
    synthetic = generate(plan, measured(plan, dependent_codes(SHAPE, 2000), 1), rows=rows)
    assert synthetic.codes.shape == (rows, len(SHAPE))
    assert (synthetic.codes >= 0).all()
    assert (synthetic.codes < SHAPE).all()
    with pytest.raises(ValueError, match=r"output\.rows: 0"):
        generate(plan, measured(plan, dependent_codes(SHAPE, 20), 1), rows=0)


@pytest.mark.parametrize("shape", [(5,), (1, 1), (1, 6, 2), (2, 2)])
@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize(
    ("adjacency", "denoiser"),
    [
        (REPLACE, "singular-values"),
        (ADD, "latent-classes"),
        pytest.param(REPLACE, "latent-classes", marks=pytest.mark.slow),
        pytest.param(ADD, "singular-values", marks=pytest.mark.slow),
    ],
)
def test_narrow_and_nearly_empty_tables_go_from_plan_to_certificate(
    shape: tuple[int, ...], adjacency: Adjacency, rows: int, denoiser: str
) -> None:
    codes = np.random.default_rng(0).integers(shape, size=(rows, len(shape)))
    plan = make(adjacency, shape, descent={"epochs": 1}, denoiser=denoiser)
    measurements = measured(plan, codes, 1)
    synthetic = generate(plan, measurements)
    assert len(synthetic.codes) >= 1
    assert (synthetic.codes < shape).all()
    certificate = PRIVPGD.certify(
        plan, measurements, synthetic, confidence=0.9, rng=np.random.default_rng(2)
    )
    assert len(certificate.bounds) == len(shape)
    assert all(0 <= bound.value <= 1 for bound in certificate.bounds)


def test_a_seed_gives_one_release() -> None:
    plan = make(descent={"epochs": 3})
    measurements = measured(plan, dependent_codes(SHAPE, 1000), 1)
    first, again, other = (generate(plan, measurements, seed=s).codes for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_progress_rises_to_one() -> None:
    plan = make(descent={"epochs": 3})
    seen: list[float] = []
    PRIVPGD.generate(
        plan,
        measured(plan, dependent_codes(SHAPE, 1000), 1),
        rows=None,
        rng=np.random.default_rng(0),
        execution=Execution(progress=lambda share, doing: seen.append(share)),
    )
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("adjacency", [REPLACE, pytest.param(ADD, marks=pytest.mark.slow)])
def test_certificates_miss_as_rarely_as_they_say(adjacency: Adjacency) -> None:
    codes, confidence, releases = dependent_codes(SHAPE, 400), 0.8, 150
    plan = make(adjacency)
    rng = np.random.default_rng(5)
    misses = noiseless = 0
    for seed in range(releases):
        measurements = measured(plan, codes, seed)
        synthetic = SyntheticMeasure(codes=rng.integers(SHAPE, size=(300, 4)).astype(np.int32))
        if seed == 0:
            synthetic = generate(plan, measurements)
        bounds = PRIVPGD.certify(
            plan, measurements, synthetic, confidence=confidence, rng=rng
        ).bounds
        losses = [
            float(
                w1(
                    attribute,
                    np.bincount(codes[:, a], minlength=k) / len(codes)
                    - np.bincount(synthetic.codes[:, a], minlength=k) / len(synthetic.codes),
                )
            )
            for a, (attribute, k) in enumerate(zip(plan.domain.attributes, SHAPE, strict=True))
        ]
        misses += any(loss > b.value for loss, b in zip(losses, bounds, strict=True))
        noiseless += any(
            loss > b.terms["projection"] for loss, b in zip(losses, bounds, strict=True)
        )
    assert binom.sf(misses - 1, releases, 1 - confidence) > 1e-6
    assert binom.sf(noiseless - 1, releases, 1 - confidence) < 1e-6  # the noise term is needed


@cache
def person_years() -> tuple[np.ndarray, tuple[int, ...]]:
    """Codes of the RAND Health Insurance Experiment, and the cells of its columns."""
    codec = TableCodec.of(load_spec(ROOT / "schemas/examples/rand-hie.yaml").columns)
    codes = codec.encode(randhie.load_pandas().data.astype(str))
    return np.asarray(codes, dtype=np.int64), codec.domain.shape


@cache
def census() -> tuple[np.ndarray, tuple[int, ...]]:
    """Codes of the benchmark's private part, and the cells of their columns."""
    table = load("acs_nat")
    return table.train, tuple(table.cells.values())


@cache
def made_of(real: Real, epsilon: str) -> np.ndarray:
    codes, shape = real()
    plan = make(ADD, shape, epsilon, latent={"members": 4})
    return generate(plan, measured(plan, codes, 1)).codes


@pytest.mark.parametrize(
    ("real", "epsilon", "most"),  # measured .0159, .0126, .0213 and .0509 with the defaults
    [
        pytest.param(person_years, "1", 0.0183, marks=pytest.mark.slow),
        pytest.param(census, "2.5", 0.0145, marks=pytest.mark.slow),
        pytest.param(census, "1", 0.0245, marks=pytest.mark.slow),
        pytest.param(census, "0.2", 0.0585, marks=pytest.mark.slow),
    ],
)
def test_quality_on_real_records_does_not_fall_behind(
    real: Real, epsilon: str, most: float
) -> None:
    codes, shape = real()
    found = total_variation(codes, made_of(real, epsilon), shape)
    assert found < most
    alone = make(ADD, shape, epsilon, denoiser="singular-values")
    by_pairs = generate(alone, measured(alone, codes, 1))
    assert total_variation(codes, by_pairs.codes, shape) > 1.04 * found


@pytest.mark.slow
def test_three_columns_depend_on_each_other_as_their_pairs_say() -> None:
    """Measured .0021; records that start as a sample of the latent classes err by .0029."""
    codes, shape = person_years()
    private, released = (by_column(t, shape) for t in (codes, made_of(person_years, "10")))
    boxes = draw_boxes(private, shape, rng=np.random.default_rng(0), queries=3000)
    found = query_error(box_shares(private, boxes), box_shares(released, boxes))
    assert found is not None
    assert found.relative is not None
    assert found.relative < 0.0025
