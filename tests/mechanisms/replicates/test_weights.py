"""Weights against nonnegative least squares of another library, and against moments asked for."""

import numpy as np
import pytest
from scipy.optimize import nnls

from hallmark.mechanisms.replicates.pairs import PairTables
from hallmark.mechanisms.replicates.weights import (
    LANES,
    Weighing,
    _least_squares,
    drawn,
    with_sampling,
)
from tests.builders.codes import dependent_codes, random_codes

FALSE_POSITIVE_RATE = 1e-6
SHAPE = (4, 5, 3)
PAIRS = PairTables((0, 1, 2), SHAPE)
CODES = dependent_codes(SHAPE, 400)
OTHER = random_codes(SHAPE, 400, seed=3)  # no dependence at all, and cells that CODES lack


def weighing(codes=CODES, weight=1.0):
    return Weighing.of(PAIRS, codes, weight=weight, urgent=np.ones(3))


def weighed(tables, codes=CODES, weight=1.0):
    """Weights that start from equal ones."""
    return weighing(codes, weight).weights(tables, np.ones((len(codes), len(tables))))


def design(codes):
    """The 0/1 matrix from records to cells."""
    dense = np.zeros((PAIRS.size, len(codes)))
    for row, start in zip(PAIRS.positions(codes), PAIRS.starts, strict=False):
        dense[start + row, np.arange(len(codes))] = 1
    return dense


@pytest.mark.parametrize("weight", [pytest.param(1.0, marks=pytest.mark.slow), 2.5])
def test_the_records_own_tables_leave_every_weight_as_it_is(weight):
    own = weight * PAIRS.counts(CODES)
    np.testing.assert_allclose(weighed([own], weight=weight), weight, rtol=1e-9)


def test_least_squares_end_where_those_of_scipy_do():
    target, matrix = PAIRS.counts(OTHER), design(CODES)
    one = weighing()
    targets = np.column_stack([target] + [PAIRS.counts(CODES)] * (LANES - 1))
    first = np.random.default_rng(2).gamma(1.0, size=(400, LANES))
    found = _least_squares(one.positions, PAIRS.starts, targets, first, one.bounds, 20_000)[:, 0]
    best = nnls(matrix, target)[1] ** 2
    assert (found >= 0).all()
    assert np.square(matrix @ found - target).sum() == pytest.approx(best, rel=1e-6)


def test_weights_have_the_means_variances_and_covariances_of_the_tables():
    mixed = np.concatenate([CODES[:300], OTHER[:100]])
    found = weighed([PAIRS.counts(mixed)])[:, 0]
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(len(mixed))
    weighted = np.cov(CODES, rowvar=False, aweights=found, ddof=0)
    wanted, before = (np.cov(codes, rowvar=False, ddof=0) for codes in (mixed, CODES))
    assert np.abs(weighted - wanted).max() < 0.15 * np.abs(before - wanted).max()
    means = np.average(CODES, axis=0, weights=found)
    np.testing.assert_allclose(means, mixed.mean(axis=0), atol=0.01)


def test_sets_side_by_side_are_those_of_one_after_the_other():
    tables = [PAIRS.counts(random_codes(SHAPE, 400, seed)) for seed in range(LANES + 3)]
    starts = np.random.default_rng(8).gamma(1.0, size=(400, LANES + 3))
    together = weighing().weights(tables, starts)
    assert together.shape == (400, LANES + 3)
    for number, one in enumerate(tables):
        alone = weighing().weights([one], starts[:, [number]])[:, 0]
        np.testing.assert_allclose(together[:, number], alone, rtol=1e-9, atol=1e-12)


def test_a_column_with_one_value_is_no_obstacle():
    codes = CODES.copy()
    codes[:, 2] = 1
    found = weighed([PAIRS.counts(OTHER)], codes)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


@pytest.mark.parametrize("records", [400, 100, 1600])
def test_sampling_varies_as_a_sample_of_so_many_private_records(records):
    """The variance of a mean is that of the values over the number of private records."""
    values, runs = CODES[:, 0].astype(float), 4000
    rng, weights = np.random.default_rng(7), np.full(400, records / 400)
    means = []
    for _ in range(runs):
        drawn = with_sampling(weights, records, rng)
        assert drawn.sum() == pytest.approx(records)
        means.append(np.average(values, weights=drawn))
    expected = values.var() / (records + 1)  # of Dirichlet weights, exactly
    spread = np.var(means, ddof=1) / expected
    # Nearly normal means: their variance has a relative deviation of sqrt(2 / runs).
    assert abs(spread - 1) < 5.2 * np.sqrt(2 / runs)  # 2e-7 by the normal law


def test_what_pairs_do_not_tell_varies_as_two_samples_do_and_what_they_tell_does_not():
    """Parity of three independent fair columns: its variance, with every pair's table held."""
    size, runs, private = 600, 200, 1200
    rng = np.random.default_rng(9)
    codes = rng.integers(2, size=(size, 3))
    pairs = PairTables((0, 1, 2), (2, 2, 2))
    one = Weighing.of(pairs, codes, weight=private / size, urgent=np.ones(3))
    own = private / size * pairs.counts(codes)
    starts = np.column_stack([drawn(private, size, rng) for _ in range(runs)])
    found = one.weights([own] * runs, starts)
    for (a, b), number in zip(pairs.pairs, range(3), strict=True):
        for cell in range(4):
            there = 2 * codes[:, a] + codes[:, b] == cell
            wanted = pairs.table(own, number).ravel()[cell]
            assert found[there].sum(axis=0) == pytest.approx(wanted, abs=0.002 * private)
    even = (codes.sum(axis=1) % 2 == 0).astype(float)
    shares = (found * even[:, None]).sum(axis=0) / private
    expected = 0.25 * (1 / size + 1 / private)
    spread = np.var(shares, ddof=1) / expected
    assert abs(spread - 1) < 5.2 * np.sqrt(2 / runs)  # 2e-7 by the normal law


@pytest.mark.parametrize("records", [100, 400, 1600])
def test_starts_vary_as_a_private_and_a_released_sample_together(records):
    rng = np.random.default_rng(10)
    found = np.concatenate([drawn(records, 400, rng) for _ in range(1000)])
    assert (found >= 0).all()
    variance = 1 + 400 / records
    assert found.mean() == pytest.approx(1, abs=5.2 * (variance / len(found)) ** 0.5)  # 2e-7
    # The fourth central moment of a gamma law of mean 1 is 3 v^2 (1 + 2 v).
    error = (variance**2 * (2 + 6 * variance) / len(found)) ** 0.5
    assert found.var() == pytest.approx(variance, abs=5.2 * error)
