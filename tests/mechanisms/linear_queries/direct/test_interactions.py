"""Coordinates of least squares: an orthogonal matrix, and the same objective as with marginals."""

from itertools import product

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.linear_queries.direct.interactions import Interactions, gathered

SHAPES = [(2,) * 8, (3, 1, 4, 2), (70, 2), (5,)]


@pytest.mark.parametrize("shape", SHAPES)
def test_coefficients_are_those_of_an_orthogonal_matrix(shape: tuple[int, ...]) -> None:
    basis, size = Interactions(shape), int(np.prod(shape))
    matrix = np.stack([basis.of(cell) for cell in np.eye(size)], axis=1)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-12)
    values = np.random.default_rng(0).normal(size=size)
    np.testing.assert_allclose(basis.table(basis.of(values)), values, atol=1e-12)
    np.testing.assert_allclose(basis.table(values), matrix.T @ values, atol=1e-12)
    np.testing.assert_allclose(matrix[0], size**-0.5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_coefficient_is_of_the_columns_in_which_it_is_not_constant(
    shape: tuple[int, ...],
) -> None:
    basis = Interactions(shape)
    for place in list(product(*map(range, shape)))[:40]:
        coefficients = np.zeros(shape)
        coefficients[place] = 1.0
        table = basis.table(coefficients.ravel()).reshape(shape)
        for axis, row in enumerate(place):
            constant = np.allclose(table, table.mean(axis=axis, keepdims=True), atol=1e-12)
            assert constant == (row == 0)


def test_the_objective_is_that_of_the_marginals_but_for_a_constant() -> None:
    shape, rng = (2, 3, 1, 4), np.random.default_rng(1)
    cliques: list[Clique] = [(0, 1), (1, 3), (1,), (0, 1, 2)]
    sizes = [int(np.prod([shape[a] for a in clique])) for clique in cliques]
    tables = {c: rng.normal(size=k) for c, k in zip(cliques, sizes, strict=True)}
    weights = {c: float(rng.uniform(0.1, 3)) for c in cliques}
    task = gathered(shape, tables, weights)

    def loss(shares: np.ndarray) -> float:
        cube, total = shares.reshape(shape), 0.0
        for clique in cliques:
            others = tuple(a for a in range(len(shape)) if a not in clique)
            total += weights[clique] * ((cube.sum(axis=others).ravel() - tables[clique]) ** 2).sum()
        return total / 2

    def ours(shares: np.ndarray) -> float:
        return float(task.precision @ (task.forward(shares) - task.target) ** 2) / 2

    laws = rng.dirichlet(np.ones(24), size=6)
    constants = [loss(law) - ours(law) for law in laws]
    np.testing.assert_allclose(constants, constants[0], rtol=1e-10)
    # Columns 0 x 3 and all interactions of three columns are seen by nothing.
    seen = 1 + 1 + 2 + 3 + 1 * 2 + 2 * 3
    assert np.count_nonzero(task.precision) == seen
    gram = np.stack([task.adjoint(task.precision * task.forward(cell)) for cell in np.eye(24)])
    assert np.abs(gram).max() <= task.curvature * (1 + 1e-12)
    assert np.abs(gram).max() == pytest.approx(task.curvature)
