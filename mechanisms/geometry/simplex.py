"""Euclidean projection onto the simplex: of noisy counts onto the histograms of a given number of
records, of noisy shares onto the probability tables.

Claim.   If y = h + eta for a histogram h of n records in at most q cells, then the projection v of
         y onto {v >= 0, sum v = n} satisfies |v - h|_1 <= 4 q max|eta|; no smaller constant than 4
         will do for all q. (The paper has 16.)
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Theorem 4.
Proof.   ../wasserstein/adaptive_support/adaptive_support.md.
Oracle.  tests/mechanisms/geometry/test_simplex.py: a quadratic program, and bad noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class SimplexProjection:
    """The projection, and the evidence for it.

    Attributes:
        masses: nonnegative, float64 of the values' shape, summing to the total.
        threshold: what was taken off every value that stayed positive; `masses` is
            `max(values - threshold, 0)`.
    """

    masses: NDArray[np.float64]
    threshold: float


def project_on_simplex(values: NDArray[np.number], total: float) -> SimplexProjection:
    """Nearest nonnegative vector of sum `total` in Euclidean distance.

    Args:
        values: finite, shape (size,), size >= 1.
        total: above 0.
    Raises:
        ValueError: there is no value, one is not finite, or the total is not above 0.
    Source: Held, Wolfe, Crowder (1974), Validation of subgradient optimization, Mathematical
        Programming 6.
    """
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError("values to project: give a vector of one finite number at least")
    if not (np.isfinite(total) and total > 0):
        raise ValueError(f"total of the projection: {total}; it must be a number above 0")
    # No mass exceeds the total, so the threshold is at least the largest value less the total,
    # and of millions of cells few are above that.
    relevant = np.sort(values[values > values.max() - total])[::-1].astype(np.float64)
    thresholds = (np.cumsum(relevant) - total) / np.arange(1, len(relevant) + 1)
    threshold = float(thresholds[np.flatnonzero(relevant > thresholds)[-1]])
    masses = np.maximum(values - threshold, 0.0)
    return SimplexProjection(masses=masses, threshold=threshold)


def onto_simplex(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability table nearest to `table` in Euclidean distance; any shape."""
    return project_on_simplex(table.ravel(), 1.0).masses.reshape(table.shape)
