"""The basis and its eigenvalues against matrices written out."""

import numpy as np

from mechanisms.linear_queries.direct.interactions import coefficients, eigenvalues, table
from tests.mechanisms.linear_queries.direct.cases import mixed, tables

SHAPE = (2, 3, 4)


def test_the_basis_is_orthonormal_and_inverted() -> None:
    matrix = np.stack([coefficients(row, SHAPE) for row in np.eye(24)], axis=1)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(24), atol=1e-12)
    values = np.random.default_rng(0).normal(size=24)
    np.testing.assert_allclose(table(coefficients(values, SHAPE), SHAPE), values, atol=1e-12)
    assert np.isclose(coefficients(values, SHAPE)[0], values.sum() / np.sqrt(24))


def test_marginals_are_diagonal_in_it() -> None:
    cliques, precisions = ((0, 2), (1,), (0, 1, 2)), (0.5, 2.0, 0.1)
    matrices = tables(mixed(), cliques)
    whole = sum(p * m.T @ m for m, p in zip(matrices, precisions, strict=True))
    basis = np.stack([coefficients(row, SHAPE) for row in np.eye(24)], axis=1)
    turned = basis @ whole @ basis.T
    np.testing.assert_allclose(turned, np.diag(np.diag(turned)), atol=1e-12)
    np.testing.assert_allclose(np.diag(turned), eigenvalues(SHAPE, cliques, precisions), atol=1e-12)


def test_columns_of_one_cell_change_nothing() -> None:
    values = np.arange(6.0)
    np.testing.assert_allclose(
        coefficients(values, (1, 2, 1, 3)), coefficients(values, (2, 3)), rtol=1e-12
    )
    found = eigenvalues((1, 2, 3), ((0, 2), (1,)), (1.0, 3.0))
    np.testing.assert_allclose(found, eigenvalues((2, 3), ((1,), (0,)), (1.0, 3.0)))
