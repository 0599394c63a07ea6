"""The simplex projection: a quadratic program, and how far noise can push it off a sparse table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from hallmark.mechanisms.geometry.simplex import onto_simplex, project_on_simplex


def sparse_table(cells: int, occupied: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of at least 10 in `occupied` of the cells."""
    table = np.zeros(cells)
    table[rng.permutation(cells)[:occupied]] = 10 + rng.integers(0, 50, occupied)
    return table


@pytest.mark.parametrize("seed", range(10))
def test_the_projection_solves_the_quadratic_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, total = rng.normal(size=8) * 5, float(rng.uniform(0.5, 20))
    solved = minimize(
        lambda v: ((v - values) ** 2).sum(),
        np.full(8, total / 8),
        jac=lambda v: 2 * (v - values),
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda v: v.sum() - total},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert project_on_simplex(values, total).masses == pytest.approx(solved.x, abs=1e-5)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=40), st.floats(0.01, 1e5))
def test_masses_are_values_less_one_threshold_and_sum_to_the_total(values, total) -> None:
    projected = project_on_simplex(np.array(values), total)
    assert (projected.masses >= 0).all()
    assert projected.masses.sum() == pytest.approx(total)
    shrunk = np.maximum(np.array(values) - projected.threshold, 0)
    assert projected.masses == pytest.approx(shrunk)


def test_a_table_of_any_shape_is_projected_onto_the_probability_tables() -> None:
    table = np.array([[0.9, -0.4], [0.5, 0.05]])
    assert onto_simplex(table) == pytest.approx(np.array([[0.7, 0.0], [0.3, 0.0]]))


def test_a_table_that_is_one_already_stays() -> None:
    table = np.array([0, 3, 0, 4, 2])
    assert project_on_simplex(table, 9.0).masses.tolist() == table.tolist()


def test_no_noise_moves_a_sparse_table_by_more_than_4_times_its_support() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        cells = int(rng.integers(2, 60))
        occupied = int(rng.integers(1, cells + 1))
        table = sparse_table(cells, occupied, rng)
        noise = rng.choice([-1, 0, 1], cells) * rng.integers(1, 30, cells)
        if not noise.any():
            continue
        moved = np.abs(project_on_simplex(table + noise, table.sum()).masses - table).sum()
        assert moved <= 4 * occupied * np.abs(noise).max() + 1e-9


@pytest.mark.parametrize(("cells", "occupied"), [(10, 1), (100, 3), (1000, 1), (5000, 20)])
def test_adversarial_noise_comes_as_close_to_4_as_the_cells_allow(cells, occupied) -> None:
    table = sparse_table(cells, occupied, np.random.default_rng(2))
    size = 4.0
    noise = np.where(table > 0, -size, size)
    moved = np.abs(project_on_simplex(table + noise, table.sum()).masses - table).sum()
    ratio = moved / (occupied * size)
    assert ratio == pytest.approx(4 * (1 - occupied / cells))
    assert ratio > 3.5


@pytest.mark.parametrize(
    ("values", "total", "message"),
    [
        ([], 1.0, "one finite number at least"),
        ([1.0, np.nan], 1.0, "one finite number at least"),
        ([1.0], 0.0, "must be a number above 0"),
        ([1.0], np.nan, "must be a number above 0"),
    ],
)
def test_a_projection_without_a_solution_is_refused(values, total, message) -> None:
    with pytest.raises(ValueError, match=message):
        project_on_simplex(np.array(values), total)
