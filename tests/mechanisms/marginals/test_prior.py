"""A public table as a prior: what it gains where it fits, and that a wrong one costs nothing."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Kind
from hallmark.mechanisms.marginals.binning.bins import Bins, on_bins
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.marginals.prior import LEANED
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.request import Request
from tests.mechanisms.marginals.domains import domain_of, marginal_of, measured
from tests.mechanisms.marginals.selection.runs import REPLACE

SHAPE = (12, 8, 5, 9, 6, 4)
ROWS = 5000


def table(seed: int, rows: int = ROWS) -> np.ndarray:
    """Records of a population in which all columns depend on two hidden ones."""
    rng = np.random.default_rng(seed)
    hidden = rng.beta(0.7, 0.9, size=(rows, 2))
    loads = np.linspace(0, 1, len(SHAPE))
    levels = hidden[:, :1] * loads + hidden[:, 1:] * (1 - loads)
    levels = 0.85 * levels + 0.15 * rng.random((rows, len(SHAPE)))
    return np.floor(levels * SHAPE).astype(np.int32)


def variation(a: np.ndarray, b: np.ndarray) -> float:
    """Mean over pairs."""
    pairs = combinations(range(len(SHAPE)), 2)
    gaps = [marginal_of(a, pair, SHAPE) - marginal_of(b, pair, SHAPE) for pair in pairs]
    return float(np.mean([np.abs(gap).sum() / 2 for gap in gaps]))


def request(public: np.ndarray | None, **parameters: object) -> Request:
    return Request(
        domain=domain_of(SHAPE, kind=Kind.NUMERIC),
        budget=Budget(epsilon=Fraction(1, 5), delta=Fraction(1, 100_000)),
        adjacency=REPLACE,
        expected_records=ROWS,
        parameters={"generator": {"latent": {"members": 4, "classes": 20}}, **parameters},
        public=public,
    )


def error(public: np.ndarray | None, mechanism: Marginals | Binned | None = None) -> float:
    """Of records with one noise, whatever is public."""
    mechanism, private = mechanism or MECHANISMS["privpgd"], table(1)
    plan = mechanism.plan(request(public))
    told = measured(mechanism, plan, private)
    made = mechanism.generate(plan, told, rows=None, rng=np.random.default_rng(3))
    assert (LEANED in made.history) == (public is not None)
    return variation(private, made.codes)


@cache
def plain() -> float:
    """The error without a public table."""
    return error(None)


def shuffled(codes: np.ndarray) -> np.ndarray:
    """Right margins, and no dependence."""
    rng = np.random.default_rng(5)
    return np.column_stack([rng.permutation(column) for column in codes.T])


def backwards(codes: np.ndarray) -> np.ndarray:
    """Every other column turned round: what went together goes apart."""
    turned = np.array(SHAPE) - 1 - codes
    return np.where(np.arange(len(SHAPE)) % 2, turned, codes).astype(np.int32)


def senseless(codes: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(6)
    return np.column_stack([rng.integers(0, k, len(codes)) for k in SHAPE]).astype(np.int32)


def one_record(codes: np.ndarray) -> np.ndarray:
    return codes[:1]


def test_another_sample_of_the_population_takes_almost_half_the_error():
    assert error(table(9)) < 0.6 * plain()


@pytest.mark.parametrize("poison", [shuffled, backwards, senseless, one_record])
def test_a_poisoned_prior_costs_no_more_than_three_percent(
    poison: Callable[[np.ndarray], np.ndarray],
):
    assert error(poison(table(9))) <= 1.03 * plain()


def test_bins_have_the_priors_records_in_bins():
    bins = Bins(0, tuple(np.repeat(np.arange(4), 3).tolist()), False)
    coarse = on_bins(request(table(9)), [bins])
    assert coarse.public is not None
    assert np.array_equal(coarse.public[:, 0], table(9)[:, 0] // 3)
    assert np.array_equal(coarse.public[:, 1:], table(9)[:, 1:])
    assert coarse.domain.shape == (4, *SHAPE[1:])


@pytest.mark.parametrize(
    "bins", [pytest.param(6, marks=pytest.mark.slow), (tuple(np.repeat(np.arange(6), 2).tolist()),)]
)
def test_a_prior_helps_on_bins_as_it_does_on_cells(bins: object):
    inner = MECHANISMS["privpgd"]
    assert isinstance(inner, Marginals)
    binned = Binned(inner, Fraction(1, 10), {"c0": bins})  # type: ignore[dict-item]
    assert error(table(9), binned) < 0.6 * error(None, binned)


def test_what_is_asked_does_not_depend_on_it():
    plans = [MECHANISMS["privpgd"].plan(request(public)) for public in (None, table(9))]
    assert plans[0].events == plans[1].events
    assert plans[0].design.first == plans[1].design.first


def test_marginals_that_were_not_measured_lean_as_the_others_do():
    mechanism, private = MECHANISMS["privpgd"], table(1)
    chain = [{"columns": [f"c{a}", f"c{a + 1}"]} for a in range(len(SHAPE) - 1)]
    plan = mechanism.plan(request(table(9), selection={"workload": chain}))
    told = measured(mechanism, plan, private)
    model = mechanism.fit(plan, told, rng=np.random.default_rng(3)).model
    left = sorted({*combinations(range(len(SHAPE)), 2)} - set(model.targets))
    assert len(left) == 10
    alone = replace(model, evidence=replace(model.evidence, prior=None))
    for pair in left:
        truth = marginal_of(private, pair, SHAPE)
        gaps = [np.abs(one.wanted(pair) - truth).sum() for one in (model, alone)]
        assert gaps[0] < gaps[1]


def test_a_generator_without_use_for_it_refuses():
    for generator in ("graphical-model", {"latent": {"members": 1}}):
        with pytest.raises(ValueError, match="public_data: is not used by the generator"):
            MECHANISMS["privpgd"].plan(request(table(9), generator=generator))
