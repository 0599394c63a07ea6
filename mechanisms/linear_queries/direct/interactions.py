"""Coordinates in which least squares on whole marginals is a sum over single numbers.

The orthogonal matrix T takes a table of all cells to its coefficients, the Kronecker product of one
matrix a column whose first row is constant; for two cells it is that of Walsh and Hadamard. A
coefficient belongs to the columns in which it is not of the first row, its interaction.

Claim.   With M_S the sums to the marginal over S, of n_S among k cells, and weights w_S,
             sum_S w_S |M_S D - y_S|^2 = sum_z p_z ((T D)_z - t_z)^2 + constant, for all D, where
             p_z = sum of w_S k / n_S over the S that hold the columns of z.
         So no step of a fit goes through the marginals, however many were measured.
Proof.   M_S' M_S is k / n_S times the projection on the functions of S, which the rows of T with
         columns in S are a basis of: T M' w M T' is diagonal, and t is T M' w y over that.
Source.  Yates (1937), The design and analysis of factorial experiments, for sums along one column
         after the other; the projections are those of `linear_estimate`.
Oracle.  tests/mechanisms/linear_queries/direct/test_interactions.py writes the matrices out.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
from scipy.linalg import helmert

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.linear_queries.direct.mirror_descent import LeastSquares
from hallmark.mechanisms.linear_queries.marginals import marginals, spread

_TOGETHER = 64  # cells of neighbouring columns whose matrices are multiplied out
_ROUNDING = 1e-10  # of the largest p: an interaction that no marginal sees


class Interactions:
    """The matrix T of columns with so many cells, as a function.

    Its factors are small: a table takes some 100 operations a cell.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self._factors = [np.ones((1, 1))]
        for cells in shape:
            last, one = self._factors[-1], helmert(cells, full=True)
            if len(last) * cells <= _TOGETHER:
                self._factors[-1] = np.kron(last, one)
            else:
                self._factors.append(one)

    def of(self, table: Floats) -> Floats:
        """T times a table of all cells, shapes (size,)."""
        return reduce(_along, self._factors, table)

    def table(self, coefficients: Floats) -> Floats:
        """The transpose, which is the inverse: the table with these coefficients."""
        return reduce(_along, [factor.T for factor in self._factors], coefficients)


def gathered(
    shape: Sequence[int], tables: Mapping[Clique, Floats], weights: Mapping[Clique, float]
) -> LeastSquares:
    """Least squares on these marginals, each of shape (its cells,), gathered by interaction."""
    basis = Interactions(shape)
    ones = marginals(basis.table(np.ones(int(np.prod(shape)))), shape, list(tables))
    precision = basis.of(spread({c: weights[c] * ones[c] for c in tables}, shape))
    precision[precision < _ROUNDING * precision.max()] = 0.0
    pull = basis.of(spread({c: weights[c] * table for c, table in tables.items()}, shape))
    target = np.divide(pull, precision, out=np.zeros_like(pull), where=precision > 0)
    return LeastSquares(basis.of, basis.table, target, precision, sum(weights[c] for c in tables))


def _along(values: Floats, factor: Floats) -> Floats:
    """The product along the first columns, which become the last; all factors restore the order."""
    result: Floats = (factor @ values.reshape(len(factor), -1)).T.ravel()
    return result
