"""Estimates by parts against the pseudoinverse of the whole."""

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.direct.linear_estimate import LinearEstimate
from tests.mechanisms.linear_queries.direct.cases import mixed, tables, written

ASKED = ((0, 2), (1, 2), (0, 1, 2), (2,))
PRECISIONS = np.array([1.0, 0.3, 2.0, 0.7])


def whole(estimate: LinearEstimate) -> tuple[np.ndarray, np.ndarray]:
    """Least squares on all cells: the matrix from tables to queries, and the stacked tables."""
    matrices = tables(estimate.universe, estimate.asked)
    weights = np.concatenate(
        [np.full(len(m), p) for m, p in zip(matrices, estimate.precisions, strict=True)]
    )
    stacked = np.concatenate(matrices)
    inverse = np.linalg.pinv(stacked.T @ (weights[:, None] * stacked), rcond=1e-10)
    return written(estimate.universe) @ inverse @ (stacked.T * weights), stacked


def test_the_estimate_is_that_of_least_squares() -> None:
    u = mixed()
    estimate = LinearEstimate(u, ASKED, PRECISIONS)
    rng = np.random.default_rng(0)
    matrix, stacked = whole(estimate)
    drawn = rng.normal(size=(5, len(stacked)))
    split = np.split(drawn, np.cumsum(estimate.cells)[:-1], axis=1)
    found = estimate.answers(estimate.pooled(split))
    np.testing.assert_allclose(found, drawn @ matrix.T, atol=1e-10)


def test_own_cells_are_estimated_by_themselves_but_for_the_common_total() -> None:
    u = mixed()
    estimate = LinearEstimate(u, (*ASKED, 3), np.append(PRECISIONS, 0.5))
    counts = np.random.default_rng(1).integers(0, 9, u.size).astype(float)
    exact = [(matrix @ counts)[None, :] for matrix in tables(u, estimate.asked)]
    pooled = estimate.pooled(exact)
    np.testing.assert_allclose(estimate.answers(pooled)[0], written(u) @ counts, rtol=1e-12)
    assert pooled[()][0, 0] == pytest.approx(counts.sum())
    exact[-1] = exact[-1] + np.array([[1.0, -1, 0, 0, 0, 0, 0]])  # the total stays
    moved = estimate.answers(estimate.pooled(exact))[0] - written(u) @ counts
    assert np.flatnonzero(np.abs(moved) > 1e-9).tolist() == [12]  # of the sum below 1 alone


def test_means_are_those_over_all_cells() -> None:
    u = mixed(sums=False)
    estimate = LinearEstimate(u, ASKED, PRECISIONS)
    np.testing.assert_allclose(estimate.means, written(u).mean(axis=1), rtol=1e-12)


def test_drawn_noise_has_the_covariance_of_the_estimate() -> None:
    u = mixed()
    estimate = LinearEstimate(u, ASKED, PRECISIONS)
    matrix, _ = whole(estimate)
    rng = np.random.default_rng(2)
    scale = np.concatenate(
        [np.full(k, p**-0.5) for k, p in zip(estimate.cells, PRECISIONS, strict=True)]
    )
    spread = matrix * scale
    spread -= estimate.means[:, None] * spread[:8].sum(axis=0)  # the first 8 queries add to n
    found = estimate.answers(estimate.drawn(rng, 8_000))
    expected = spread @ spread.T
    deviation = np.sqrt(np.outer(np.diag(expected), np.diag(expected)) * 2 / 8_000)
    # 324 entries: six standard deviations of a normal covariance are exceeded once in 1e6 tests.
    assert (np.abs(np.cov(found.T, bias=True) - expected) < 6 * deviation + 1e-9).all()
