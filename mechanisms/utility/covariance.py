"""Covariance error: how far the covariance matrices of two embedded tables are apart.

Claim.   Relative Frobenius distance of the sample covariances (divisor n - 1) of embedded codes.
Source.  Donhauser et al. (2024), section 4.1. As printed, the distance is divided by the norm of
         the *synthetic* covariance; the natural divisor is the private one. Both are given.
Oracle.  tests/mechanisms/utility/test_covariance.py: numpy.cov on the embedded table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.utility.coded import relative

_BLOCK = 1 << 16  # records embedded at a time


@dataclass(frozen=True, kw_only=True)
class CovarianceError:
    """|Cov real - Cov synthetic|_F relative to two norms; None where that norm alone is 0."""

    by_synthetic: float | None
    by_real: float | None


def covariance_error(real: AnyCodes, synthetic: AnyCodes, sizes: Sequence[int]) -> CovarianceError:
    """The error of two tables of at least two records each; 0 where neither varies."""
    of_real, of_synthetic = covariance(real, sizes), covariance(synthetic, sizes)
    distance = float(np.linalg.norm(of_real - of_synthetic))
    return CovarianceError(
        by_synthetic=relative(distance, float(np.linalg.norm(of_synthetic))),
        by_real=relative(distance, float(np.linalg.norm(of_real))),
    )


def covariance(codes: AnyCodes, sizes: Sequence[int]) -> Floats:
    """Sample covariance of the embedded codes, shape (columns, columns).

    Constant columns have covariance 0 exactly: codes are taken relative to the first record's,
    so that their mean is free of rounding.
    """
    scale = np.asarray(sizes, dtype=np.float64)
    first = codes[0].astype(np.int64)
    mean = codes.sum(axis=0, dtype=np.int64) / len(codes) - first
    products = np.zeros((len(sizes), len(sizes)))
    for start in range(0, len(codes), _BLOCK):
        block = (codes[start : start + _BLOCK] - first - mean) / scale
        products += block.T @ block
    return products / (len(codes) - 1)
