"""Evidence: repeated marginals, groups of cells, and what all together say of one attribute."""

import numpy as np
import pytest

from hallmark.mechanisms.marginals.cell_groups import merge
from hallmark.mechanisms.marginals.evidence import (
    Coarse,
    Evidence,
    NoisyMarginal,
    pooled,
    with_groups,
)
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.test_cell_groups import matrix

SHAPE = (3, 4, 2)


def marginal(clique: tuple[int, ...], sigma: float, seed: int = 0) -> NoisyMarginal:
    shape = [SHAPE[a] for a in clique]
    return NoisyMarginal(clique, np.random.default_rng(seed).normal(size=shape), sigma)


def evidence(*marginals: NoisyMarginal) -> Evidence:
    return Evidence(domain_of(SHAPE), marginals, 100.0, total_is_public=True)


def test_a_margin_has_the_noise_of_all_cells_that_it_adds_up() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(scale=2.0, size=(20_000, 3, 4, 2))
    margin = NoisyMarginal((0, 1, 2), noise[0], 2.0).margin(1)
    np.testing.assert_allclose(margin.counts, noise[0].sum(axis=(0, 2)))
    assert margin.clique == (1,)
    # The deviation of 80,000 sums is known to .25 %; a factor of sqrt(k) would be 40 % off.
    assert margin.sigma == pytest.approx(noise.sum(axis=(1, 3)).std(), rel=0.02)


def test_one_ways_are_the_best_linear_estimates_from_all_marginals() -> None:
    first, second, alone = marginal((0, 1), 3.0), marginal((0, 2), 5.0, 1), marginal((0,), 2.0, 2)
    found = evidence(first, second, alone).single_columns
    assert set(found) == {0, 1, 2}
    seen = np.stack([first.counts.sum(axis=1), second.counts.sum(axis=1), alone.counts])
    variances = np.array([9.0 * 4, 25.0 * 2, 4.0])
    # Generalised least squares, cell by cell, with the identity repeated as its design.
    weights = (1 / variances) / (1 / variances).sum()
    np.testing.assert_allclose(found[0].counts, weights @ seen)
    assert found[0].sigma == pytest.approx((1 / variances).sum() ** -0.5)
    np.testing.assert_allclose(found[1].counts, first.counts.sum(axis=0))
    assert found[1].sigma == pytest.approx(3.0 * 3**0.5)


def test_a_public_marginal_stands_alone_and_an_attribute_of_none_is_left_out() -> None:
    public, noisy = marginal((0,), 0.0), marginal((0, 1), 1.0, 1)
    found = evidence(noisy, public).single_columns
    np.testing.assert_array_equal(found[0].counts, public.counts)
    assert found[0].sigma == 0
    assert 2 not in found


def test_repetitions_are_merged_by_precision() -> None:
    first, again = marginal((0, 1), 1.0), marginal((0, 1), 2.0, 1)
    (merged,) = pooled([first, again])
    np.testing.assert_allclose(merged.counts, 0.8 * first.counts + 0.2 * again.counts)
    assert merged.sigma == pytest.approx(0.8**0.5)


LARGE, SIZES = (7, 5), (3, 2)  # cells of a table, and its groups, which are not equally large
ADDS = matrix(LARGE, SIZES)


def grouped(sigma: float, coarse: float, seed: int = 0) -> tuple[NoisyMarginal, np.ndarray]:
    """A table measured in cells and in groups, with the precision matrix of both."""
    rng = np.random.default_rng(seed)
    cells = NoisyMarginal((0, 1), rng.normal(size=LARGE), sigma)
    both = with_groups(cells, rng.normal(size=SIZES), Coarse(SIZES, coarse))
    return both, np.eye(ADDS.shape[1]) / sigma**2 + ADDS.T @ ADDS / coarse**2


def test_cells_and_groups_together_are_the_least_squares_estimate() -> None:
    rng = np.random.default_rng(3)
    cells, sums = rng.normal(size=LARGE), rng.normal(size=SIZES)
    found = with_groups(NoisyMarginal((0, 1), cells, 2.0), sums, Coarse(SIZES, 3.0))
    design = np.concatenate([np.eye(35) / 2.0, ADDS / 3.0])
    seen = np.concatenate([cells.ravel() / 2.0, sums.ravel() / 3.0])
    best, *_ = np.linalg.lstsq(design, seen)
    np.testing.assert_allclose(found.counts.ravel(), best)


def test_the_noise_of_cells_and_groups_is_as_told() -> None:
    found, precision = grouped(2.0, 3.0)
    covariance = np.linalg.inv(precision)
    for direction in np.random.default_rng(4).normal(size=(5, *LARGE)):
        expected = direction.ravel() @ covariance @ direction.ravel()
        assert found.deviation(direction) == pytest.approx(expected**0.5)
        assert found.share(10.0).deviation(direction) == pytest.approx(expected**0.5 / 10)
    variances = np.diag(ADDS @ covariance @ ADDS.T)
    np.testing.assert_allclose(found.group_variances(SIZES).ravel(), variances)
    rng = np.random.default_rng(5)
    draws = np.stack([found.noise(rng).ravel() for _ in range(20_000)])
    # Entries have deviation 4 / sqrt(20,000) = .03 at most; five of these and more.
    np.testing.assert_allclose(draws.T @ draws / len(draws), covariance, atol=0.2)


def test_margins_and_groups_of_a_table_have_the_noise_that_adds_up() -> None:
    found, precision = grouped(2.0, 3.0)
    covariance = np.linalg.inv(precision)
    rows = np.kron(np.eye(7), np.ones((1, 5)))
    margin = found.margin(0)
    np.testing.assert_allclose(margin.counts, found.counts.sum(axis=1))
    assert margin.coarse is not None
    assert margin.coarse.sizes == (3,)
    # Groups are of two and three cells, and share a mean.
    for direction in (np.r_[1.0, -1, 0, 0, 0, 0, 0], np.ones(7), np.arange(7.0)):
        along = direction @ rows
        expected = (along @ covariance @ along) ** 0.5
        assert margin.deviation(direction) == pytest.approx(expected, rel=0.02)
    few = NoisyMarginal((0, 1), np.ones((7, 2)), 2.0, Coarse((3, 2), 3.0)).margin(1)
    assert few.coarse is None  # its cells are groups
    own = 4.0 * np.array([3, 2, 2])
    assert few.sigma == pytest.approx((1 / (1 / own + 1 / 9)).sum() ** 0.5)
    sums = found.grouped()
    np.testing.assert_allclose(sums.counts, merge(found.counts, SIZES))
    assert sums.sigma == pytest.approx(found.group_variances(SIZES).mean() ** 0.5)


def test_repetitions_with_groups_are_merged_by_precision() -> None:
    (first, p), (again, q) = grouped(2.0, 3.0), grouped(1.0, 5.0, seed=1)
    plain = NoisyMarginal((0, 1), np.random.default_rng(2).normal(size=LARGE), 4.0)
    (found,) = pooled([first, plain, again])
    r = np.eye(35) / 16
    pairs = ((p, first), (r, plain), (q, again))
    best = np.linalg.solve(p + q + r, sum(m @ one.counts.ravel() for m, one in pairs))
    np.testing.assert_allclose(found.counts.ravel(), best)
    direction = np.arange(35.0).reshape(LARGE)
    expected = direction.ravel() @ np.linalg.inv(p + q + r) @ direction.ravel()
    assert found.deviation(direction) == pytest.approx(expected**0.5)
