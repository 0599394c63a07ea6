"""The smoothing's covariance, the step's sign, and the optimum without noise."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from hallmark.mechanisms.linear_queries.dpam.iteration import iterate, normal
from tests.mechanisms.linear_queries.adaptive_runs import ways
from tests.mechanisms.linear_queries.direct.cases import histogram, records, written

U = ways((2,) * 4, 2)
SHARES = histogram(records((2,) * 4, 500), (2,) * 4) / 500


def largest(shares: np.ndarray) -> float:
    return float(np.abs(U.answers(SHARES - shares)).max())


def test_points_of_one_histogram_are_in_law_independent_releases() -> None:
    """The specification's oracle 6: y + sigma (z_t - zbar) has covariance sigma^2 I over t."""
    steps, sigma, cells = 4, 3.0, 50_000
    z = np.stack([normal(cells, step) for step in range(steps)])
    y = np.random.default_rng(1).normal(size=cells) * sigma / np.sqrt(steps)
    points = y + sigma * (z - z.mean(axis=0))
    covariance = points @ points.T / cells
    # Six standard deviations of 16 entries: false once in 1e7.
    assert np.abs(covariance - sigma**2 * np.eye(steps)).max() < 6 * sigma**2 * np.sqrt(2 / cells)
    without_mean = sigma * z + y
    twin = without_mean @ without_mean.T / cells
    assert np.abs(twin - sigma**2 * np.eye(steps)).max() > 6 * sigma**2 * np.sqrt(2 / cells)


@pytest.mark.parametrize(("printed", "falls"), [(False, True), (True, False)])
def test_one_step_lowers_the_error_and_the_printed_one_raises_it(
    printed: bool, falls: bool
) -> None:
    after = largest(iterate(U, SHARES, steps=1, alpha=5.0, sigma=0.0, printed=printed))
    assert (after < largest(U.uniform)) is falls


def test_without_noise_it_ends_at_the_regularised_optimum() -> None:
    """The specification's oracle 4: argmin of the largest error + alpha sum D log D."""
    alpha, matrix = 0.05, written(U)

    def value(shares: np.ndarray) -> float:
        return largest(shares) + alpha * float(shares @ np.log(np.maximum(shares, 1e-300)))

    signed = np.concatenate([matrix, -matrix])
    best = minimize(
        lambda v: v[-1] + alpha * float(v[:-1] @ np.log(v[:-1])),
        np.append(np.full(16, 1 / 16), 1.0),
        jac=lambda v: np.append(alpha * (np.log(v[:-1]) + 1), 1.0),
        bounds=[(1e-9, 1)] * 16 + [(0, 2)],
        constraints=[
            {"type": "eq", "fun": lambda v: v[:-1].sum() - 1},
            {"type": "ineq", "fun": lambda v: v[-1] - signed @ (SHARES - v[:-1])},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    found = iterate(U, SHARES, steps=3000, alpha=alpha, sigma=0.0)
    assert value(found) == pytest.approx(best.fun, abs=1e-3)
    rough = iterate(U, SHARES, steps=30, alpha=alpha, sigma=0.0)
    assert value(rough) > value(found)


def test_the_same_histogram_gives_the_same_result_and_progress_is_told() -> None:
    told: list[float] = []
    given: dict[str, Any] = {"steps": 60, "alpha": 0.1, "sigma": 0.2}
    one = iterate(U, SHARES, **given, report=told.append)
    assert np.array_equal(one, iterate(U, SHARES, **given))
    assert told == [1 / 60, 51 / 60]
    assert one.sum() == pytest.approx(1)
