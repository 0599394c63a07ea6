"""Mirror descent against a quadratic program, and its gap against the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hallmark.mechanisms.linear_queries.direct.mirror_descent import LeastSquares, descend


def task(rows: int, cells: int, seed: int, noise: float = 0.05) -> tuple[LeastSquares, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(-1, 1, size=(rows, cells))
    law = rng.dirichlet(np.full(cells, 0.3))
    precision = rng.uniform(0.0, 4.0, size=rows)
    precision[0] = 0.0
    target = matrix @ law + noise * rng.normal(size=rows)
    return LeastSquares(
        lambda d: matrix @ d, lambda u: matrix.T @ u, target, precision, precision.sum()
    ), matrix


def solved(problem: LeastSquares, cells: int) -> float:
    def loss(d: np.ndarray) -> float:
        return float(problem.precision @ (problem.forward(d) - problem.target) ** 2) / 2

    def slope(d: np.ndarray) -> np.ndarray:
        return problem.adjoint(problem.precision * (problem.forward(d) - problem.target))

    return float(
        minimize(
            loss,
            np.full(cells, 1 / cells),
            jac=slope,
            bounds=[(0, 1)] * cells,
            constraints={"type": "eq", "fun": lambda d: d.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        ).fun
    )


@pytest.mark.parametrize(("rows", "cells"), [(30, 8), (10, 16), (16, 16)])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.5])
def test_the_optimum_is_that_of_a_quadratic_program(rows: int, cells: int, noise: float) -> None:
    problem, _ = task(rows, cells, seed=rows + cells, noise=noise)
    found = descend(problem, np.full(cells, 1 / cells), gap=1e-6, steps=20_000)
    assert found.converged
    assert found.loss - solved(problem, cells) == pytest.approx(0, abs=1e-5)
    assert found.shares.sum() == pytest.approx(1)
    assert found.shares.min() >= 0


@pytest.mark.parametrize("steps", [0, 1, 7, 40])
def test_the_gap_bounds_the_distance_to_the_optimum_at_every_step(steps: int) -> None:
    problem, _ = task(20, 12, seed=4)
    best = solved(problem, 12)
    found = descend(problem, np.full(12, 1 / 12), gap=0.0, steps=steps)
    assert not found.converged
    assert found.steps == steps
    assert 0 <= found.loss - best <= found.gap + 1e-9


def test_scale_of_the_precision_does_not_stop_it() -> None:
    problem, _ = task(40, 10, seed=5)
    for scale in (1e-6, 1e6):
        scaled = LeastSquares(
            problem.forward,
            problem.adjoint,
            problem.target,
            scale * problem.precision,
            scale * problem.curvature,
        )
        assert descend(scaled, np.full(10, 0.1), gap=1e-5 * scale, steps=20_000).converged


def test_what_is_not_seen_stays_as_the_start_has_it() -> None:
    """Only the sums of pairs of cells are measured; within a pair, shares keep their ratio."""
    matrix = np.kron(np.eye(4), np.ones(2))
    start = np.array([0.1, 0.3, 0.05, 0.1, 0.15, 0.1, 0.15, 0.05])
    problem = LeastSquares(
        lambda d: matrix @ d,
        lambda u: matrix.T @ u,
        np.array([0.5, 0.3, 0.1, 0.1]),
        np.full(4, 9.0),
        36.0,
    )
    found = descend(problem, start, gap=1e-9, steps=5000).shares
    np.testing.assert_allclose(found[1::2] / found[::2], start[1::2] / start[::2], rtol=1e-6)
    np.testing.assert_allclose(matrix @ found, problem.target, atol=1e-4)


def test_empty_cells_of_the_start_stay_empty() -> None:
    problem, _ = task(20, 6, seed=6)
    start = np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])
    assert descend(problem, start, gap=1e-3, steps=200).shares[0] == 0


def test_the_optimum_is_that_of_the_program_on_the_support_and_the_gap_knows_it() -> None:
    problem, matrix = task(30, 12, seed=8)
    support = np.arange(12) % 3 > 0
    inside = matrix[:, support]
    smaller = LeastSquares(
        lambda d: inside @ d,
        lambda u: inside.T @ u,
        problem.target,
        problem.precision,
        problem.curvature,
    )
    found = descend(problem, support / 8, gap=1e-6, steps=20_000)
    assert found.converged
    best = solved(smaller, 8)
    assert found.loss - best == pytest.approx(0, abs=1e-5)
    # Without the empty cells the loss is larger: a gap over all cells would never close.
    assert best > solved(problem, 12) + 1e-4


def test_progress_is_told() -> None:
    problem, _ = task(20, 6, seed=7)
    told: list[float] = []
    descend(problem, np.full(6, 1 / 6), gap=0.0, steps=30, report=told.append)
    assert told == [1 / 3, 2 / 3, 1.0]
