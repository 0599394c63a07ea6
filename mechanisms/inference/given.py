"""Estimates under facts: linear queries whose answers are known exactly.

Claim.   `given` has the least variance of all linear estimates that are unbiased wherever the facts
         hold, and is as exact as they are true.
Proof.   Generalised least squares under linear constraints: an estimate q less its regression on
         the errors of the estimates k of the known queries, q - Cov(q, k) Cov(k, k)^-1 (k - facts).
Oracle.  tests/mechanisms/inference/test_given.py: dense least squares with the facts substituted.
"""

from dataclasses import replace

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.estimates import Estimates

_ROUNDING = 1e-9
_SINGULAR = 1e-9  # relative; facts that follow from others add nothing


def given(estimates: Estimates, facts: Floats) -> Estimates:
    """The first of the estimates, given the answers of the last ones, shape (facts,)."""
    kept = len(estimates.weights.constant) - len(facts)
    covariance = estimates.covariance
    inverse = np.linalg.pinv(covariance[kept:, kept:], rcond=_SINGULAR, hermitian=True)
    slopes = inverse @ covariance[kept:, :kept]
    weights = estimates.weights
    constant = weights.constant * estimates.total
    largest = max((float(np.abs(w).max(initial=0)) for w in weights.by_table), default=0.0)
    records = max(1.0, float(np.abs([*constant, *facts]).max()))
    return Estimates(
        replace(
            weights,
            by_table=tuple(
                _rounded(w[:, :kept] - w[:, kept:] @ slopes, largest) for w in weights.by_table
            ),
            constant=_rounded(constant[:kept] - (constant[kept:] - facts) @ slopes, records),
        ),
        total=1,
    )


def _rounded(numbers: Floats, scale: float) -> Floats:
    """Without what rounding leaves where numbers of this size should have cancelled."""
    return np.where(np.abs(numbers) > _ROUNDING * scale, numbers, 0.0)
