"""The linear one-way estimator, and the simulated law of its error."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from scipy.stats import chi2

from hallmark.mechanisms.marginals.selection.design import Asked
from hallmark.mechanisms.marginals.single_columns import (
    combine,
    gaussian_margins,
    margins,
    simulate_errors,
)
from hallmark.mechanisms.privacy.cells import count_codes

SHAPE = (4, 3, 2)
PAIRS = tuple(combinations(range(3), 2))
FALSE_POSITIVE_RATE = 1e-6
ONE = Fraction(1)
FINE = tuple(Asked(pair, ONE) for pair in PAIRS)
# The first attribute has groups, the second has as many as cells.
COARSE = (*FINE, Asked((0, 1), Fraction(2), groups=3), Asked((0, 2), Fraction(1, 2), groups=3))
BOTH = pytest.mark.parametrize("every", [FINE, COARSE], ids=["cells", "groups"])


def sizes(every: Sequence[Asked]) -> list[int]:
    return [prod(asked.sizes(SHAPE)) for asked in every]


def flat(every: Sequence[Asked], tables: Sequence[np.ndarray], total: float | None) -> np.ndarray:
    """All estimates and the total in one vector, per leading axis."""
    found = [margins(asked, SHAPE, table) for asked, table in zip(every, tables, strict=True)]
    counts, records = combine(SHAPE, found, total=total)
    return np.concatenate([*counts, records[..., None]], axis=-1)


def matrix(every: Sequence[Asked], total: float | None) -> np.ndarray:
    """The estimator as a matrix (cells of all tables, estimates), by its unit vectors."""
    cells = sizes(every)
    unit = np.split(np.eye(sum(cells), dtype=np.int64), np.cumsum(cells)[:-1], axis=1)
    return flat(every, unit, total)


def normal_sampler(rng: np.random.Generator, sigma2: Fraction, size: tuple[int, ...]) -> np.ndarray:
    return np.rint(rng.normal(scale=float(sigma2) ** 0.5, size=size)).astype(np.int64)


@BOTH
@pytest.mark.parametrize("public", [True, False])
def test_without_noise_the_estimates_are_the_counts(public: bool, every: Sequence[Asked]) -> None:
    codes = np.random.default_rng(0).integers(SHAPE, size=(500, 3))
    tables = count_codes(codes, [asked.query(SHAPE).cells for asked in every])
    truth = [np.bincount(codes[:, a], minlength=k) for a, k in enumerate(SHAPE)]
    np.testing.assert_allclose(
        flat(every, tables, 500 if public else None), np.concatenate([*truth, [500]])
    )


@BOTH
@pytest.mark.parametrize("public", [True, False])
def test_all_attributes_agree_on_the_total(public: bool, every: Sequence[Asked]) -> None:
    rng = np.random.default_rng(1)
    tables = [rng.integers(-50, 100, size=cells) for cells in sizes(every)]
    estimate = flat(every, tables, 600 if public else None)
    ends = np.cumsum(SHAPE)
    for part in np.split(estimate[:-1], ends[:-1]):
        assert part.sum() == pytest.approx(estimate[-1])
    if public:
        assert estimate[-1] == 600


@BOTH
def test_no_reweighting_of_the_tables_gives_a_better_total(every: Sequence[Asked]) -> None:
    variances = [float(a.sigma2) * c for a, c in zip(every, sizes(every), strict=True)]
    noise = np.repeat([float(asked.sigma2) for asked in every], sizes(every))
    variance = (noise * matrix(every, None)[:, -1] ** 2).sum()
    best = 1 / sum(1 / v for v in variances)  # inverse-variance mean of independent sums
    assert variance == pytest.approx(best)
    assert variance < sum(variances) / len(variances) ** 2  # the plain mean


def test_groups_lower_the_variance_of_their_sums_and_raise_none() -> None:
    noise = np.repeat([float(asked.sigma2) for asked in COARSE], sizes(COARSE))
    fine, both = matrix(FINE, 0.0), matrix(COARSE, 0.0)
    first = np.r_[1.0, 1.0, 0, 0, np.zeros(6)]  # a group of the first attribute
    assert (noise * (both @ first) ** 2).sum() < 0.7 * ((fine @ first) ** 2).sum()
    every_cell = (noise[:, None] * both[:, :4] ** 2).sum(axis=0)
    assert (every_cell <= (fine[:, :4] ** 2).sum(axis=0)).all()


@BOTH
@pytest.mark.parametrize("public", [True, False])
def test_simulated_errors_have_the_covariance_of_the_linear_map(
    public: bool, every: Sequence[Asked]
) -> None:
    draws, scale = 20_000, 50
    asked = [replace(one, sigma2=scale * one.sigma2) for one in every]
    counts, totals = simulate_errors(
        SHAPE,
        asked,
        normal_sampler,
        total_is_public=public,
        draws=draws,
        rng=np.random.default_rng(2),
    )
    errors = np.concatenate([*counts, totals[:, None]], axis=1)
    linear = matrix(every, 0.0 if public else None)
    noise = np.repeat([float(one.sigma2) + 1 / 12 for one in asked], sizes(every))  # rounded
    if public:
        assert not totals.any()
    # Along any direction the sum of squares is chi-squared; probes cover rows against columns.
    probes = np.random.default_rng(3).normal(size=(20, errors.shape[1]))
    edges = chi2.ppf([FALSE_POSITIVE_RATE / 40, 1 - FALSE_POSITIVE_RATE / 40], draws)
    for probe in probes:
        variance = (noise * (linear @ probe) ** 2).sum()
        statistic = ((errors @ probe) ** 2).sum() / variance
        assert edges[0] < statistic < edges[1]
        assert not edges[0] < 1.15 * statistic < edges[1]  # a variance 15 % off is seen


def test_margins_drawn_separately_would_be_seen() -> None:
    """A wrong twin: independent row and column sums of one table."""
    rng = np.random.default_rng(4)
    table = normal_sampler(rng, Fraction(50), (20_000, 12))
    true = margins(Asked((0, 1), ONE), SHAPE, table)
    twin = margins(Asked((0, 1), ONE), SHAPE, normal_sampler(rng, Fraction(50), (20_000, 12)))
    for columns, same in ((true.sums[1], True), (twin.sums[1], False)):
        assert np.allclose(true.sums[0].sum(axis=1), columns.sum(axis=1)) == same


def test_the_batches_and_threads_of_a_simulation_leave_no_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run() -> np.ndarray:
        counts, totals = simulate_errors(
            SHAPE,
            [Asked(pair, Fraction(9)) for pair in PAIRS],
            normal_sampler,
            total_is_public=False,
            draws=50,
            rng=np.random.default_rng(5),
        )
        return np.concatenate([*counts, totals[:, None]], axis=1)

    whole = run()
    monkeypatch.setattr("hallmark.mechanisms.marginals.single_columns._THREADS", 1)
    np.testing.assert_array_equal(run(), whole)
    monkeypatch.setattr("hallmark.mechanisms.marginals.single_columns._BATCH", 7 * max(sizes(FINE)))
    np.testing.assert_array_equal(run(), whole)


@pytest.mark.parametrize("groups", [None, 2])
def test_gaussian_margins_have_the_covariance_of_those_of_a_table(groups: int | None) -> None:
    draws, asked = 40_000, Asked((0, 1), Fraction(4), groups=groups)
    found = gaussian_margins(asked, SHAPE, draws, np.random.default_rng(6))
    unit = margins(asked, SHAPE, np.eye(prod(asked.sizes(SHAPE)), dtype=np.int64))
    linear = np.concatenate(unit.sums, axis=1)
    sample = np.concatenate(found.sums, axis=1)
    covariance = sample.T @ sample / draws
    # Entries of variance at most 16 stray by 16 sqrt(2 / 40,000) = .11; five of these and more.
    np.testing.assert_allclose(covariance, 4 * linear.T @ linear, atol=0.65)


def test_a_single_attribute_is_its_own_table() -> None:
    table = np.array([5, -2, 9], dtype=np.int64)
    counts, total = combine((3,), [margins(Asked((0,), ONE), (3,), table)], total=None)
    np.testing.assert_allclose(counts[0], table)
    assert total == 12
    counts, total = combine((3,), [margins(Asked((0,), ONE), (3,), table)], total=15)
    np.testing.assert_allclose(counts[0], table + 1)
    errors, _ = simulate_errors(
        (3,),
        [Asked((0,), Fraction(4))],
        normal_sampler,
        total_is_public=True,
        draws=10,
        rng=np.random.default_rng(0),
    )
    assert errors[0].shape == (10, 3)
