"""The interactions of columns: an orthonormal basis in which all marginals are diagonal.

Every column of n cells gets an orthonormal basis whose first vector is constant; products of these
vectors are a basis of all tables. A product belongs to the part A of columns where it is not
constant, and sum_S w_S M_S' M_S multiplies it by

    lambda_A = sum_{S over A} w_S prod_{i not in S} n_i.

So least squares on thousands of marginals costs as much as on one.

Source.  Xiao, He, Zhang, Kifer (2023), "An optimal and scalable matrix mechanism for noisy
         marginals under convex loss functions", NeurIPS; for binary columns, the Walsh-Hadamard
         transform of Barak et al. (2007), PODS.
Oracle.  tests/mechanisms/linear_queries/direct/test_interactions.py writes the matrices out.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from mechanisms.marginals.cliques import Clique

Floats = NDArray[np.float64]


def coefficients(table: Floats, shape: Sequence[int]) -> Floats:
    """Of a table in the basis, shape (cells,); the first is its sum over the root of the cells."""
    return _turned(table, [_basis(k) for k in shape])


def table(coefficients: Floats, shape: Sequence[int]) -> Floats:
    """The table with these coefficients: the inverse, and the adjoint, of `coefficients`."""
    return _turned(coefficients, [_basis(k).T for k in shape])


def eigenvalues(
    shape: Sequence[int], cliques: Sequence[Clique], precisions: Sequence[float]
) -> Floats:
    """lambda of every coefficient, shape (cells,)."""
    by_part = np.zeros([min(k, 2) for k in shape])
    for clique, precision in zip(cliques, precisions, strict=True):
        inside = tuple(slice(None) if a in clique else 0 for a in range(len(shape)))
        by_part[inside] += precision * prod(k for a, k in enumerate(shape) if a not in clique)
    part = np.ix_(*(np.minimum(np.arange(k), 1) for k in shape))
    return by_part[part].ravel()


@lru_cache(maxsize=64)
def _basis(size: int) -> Floats:
    """Rows are orthonormal, the first constant."""
    if size == 1:
        return np.ones((1, 1))
    if size == 2:
        return np.array([[1.0, 1.0], [1.0, -1.0]]) / sqrt(2)
    return np.asarray(helmert(size, full=True), dtype=np.float64)


def _turned(values: Floats, bases: Sequence[Floats]) -> Floats:
    """Each axis multiplied by its basis; the first goes last every time, which ends in order."""
    for basis in bases:
        values = (basis @ values.reshape(len(basis), -1)).T.ravel()
    return values
