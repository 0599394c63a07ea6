"""Few occupied cells make a noisy histogram accurate: the expected error, and a certificate.

Claim.   For a histogram h of n records in at most q of m cells, y = h + eta with independent
         discrete Laplace noise of scale b, and v the projection of y onto the histograms of n
         records: E W1(h/n, v/n) <= `expected_misfit(m, q, b)` / n. And with probability at least
         `confidence`, `sparse_bound` holds at once for all released distributions.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Theorems 3
         and 4, whose 64 log(m + 1) becomes 2 log(m / 2q) + 3 under replace-one.
Proof.   adaptive_support.md, beside this file.
Oracle.  tests/mechanisms/wasserstein/adaptive_support/test_support.py: the bound behind the mean in
         every run, and misses of the certificate.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log, log1p

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.certificates.simultaneous import draws_needed
from hallmark.mechanisms.privacy.queries import LaplaceNoise
from hallmark.mechanisms.privacy.simulation import conformal_rank
from hallmark.mechanisms.privacy.tails import reach


def expected_misfit(cells: int, occupied: float, scale: float) -> float:
    """Bound on the mean number of records that the projection puts into wrong cells.

    `occupied` of the `cells` hold records; `scale` is that of the noise, records. It grows with
    `occupied`, about as `occupied * scale * log(cells / occupied)`.
    """
    if 2 * occupied >= cells:
        return (occupied + cells) * scale / 2
    return occupied * scale * (log(cells / (2 * occupied)) + 1.5)


def laplace_tail(scale: Fraction, failure: float, *, times: int = 1) -> int:
    """Least t that none of `times` independent discrete Laplace variables exceeds, but rarely.

    "Rarely" is with probability at most `failure`.
    """
    return reach(LaplaceNoise(scale), -expm1(log1p(-failure) / times))


def simulate_shortfall(
    rng: np.random.Generator, scale: Fraction, occupied: int, draws: int
) -> Counts:
    """Sums over `occupied` cells of what the noise took off their counts, shape (draws,).

    max(-z, 0) is positive with probability p / (1 + p), and then 1 plus a geometric variable, so
    the sum is a binomial number B plus a negative binomial one.
    """
    ratio = exp(-1 / float(scale))
    positive = rng.binomial(occupied, ratio / (1 + ratio), draws)
    beyond = rng.negative_binomial(np.maximum(positive, 1), -expm1(-1 / float(scale)))
    return positive + np.where(positive > 0, beyond, 0)


@dataclass(frozen=True, kw_only=True)
class NoisyCount:
    """A noisy number. Public.

    Attributes:
        value: the number with its noise.
        scale: of the discrete Laplace noise.
        times: of how many numbers with such noise this is one, where noise decided which.
    """

    value: int
    scale: Fraction
    times: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseBound:
    """The terms of the bound, each in records, and what they rest on.

    Attributes:
        occupied: upper bound on the number of occupied cells.
        shortfall: what the noise took off the occupied cells, at most.
        misfit: what the released distribution misses of the noisy counts, on `occupied` cells.
        records: lower bound on the private number of records; it divides the other two.
    """

    occupied: int
    shortfall: float
    misfit: float
    records: float


def sparse_bound(
    noisy: NDArray[np.number],
    released: NDArray[np.float64],
    *,
    scale: Fraction,
    support: NoisyCount,
    total: NoisyCount | int,
    confidence: float,
    rng: np.random.Generator,
) -> SparseBound:
    """Bound (shortfall + misfit) / records on W1 between cells, where the diameter is 1.

    Args:
        noisy: counts with noise, before any projection, shape (cells,).
        released: any distribution over the cells, shape (cells,); the bound holds for all at once.
        scale: of the noise of every count, records.
        support: noisy number of occupied cells.
        total: the public number of records, or a noisy one.
        confidence: of the bound, over the noise and the simulation together, in (0, 1).
    Raises:
        ValueError: the confidence is outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    public = isinstance(total, int)
    failure = (1 - confidence) / (2 if public else 3)  # shared evenly among the events
    tail = laplace_tail(support.scale, failure, times=support.times)
    occupied = min(max(support.value + tail, 1), noisy.size)  # 1, as there is a record
    if isinstance(total, int):
        records, surplus = total, 0
    else:
        records, surplus = total.value, laplace_tail(total.scale, failure)
    draws = draws_needed(1 - failure)
    shortfalls = np.sort(simulate_shortfall(rng, scale, occupied, draws))
    shortfall = float(shortfalls[conformal_rank(draws, 1 - failure) - 1])
    missing = np.maximum(noisy - records * released, 0.0)
    largest = np.partition(missing, noisy.size - occupied)[noisy.size - occupied :]
    return SparseBound(
        occupied=occupied,
        shortfall=shortfall + surplus,
        misfit=float(largest.sum()),
        records=records - surplus,
    )
