"""Denoise noisy marginals: shared one-ways, and singular-value shrinkage of what pairs add to them.

Claim.   `denoise` returns probability tables; as the noise vanishes they tend to the measured
         tables, as it grows to the products of the one-way marginals, the tables of most entropy.
Why.     The noise of a pair table is white and its dependence (nearly) of low rank, so a singular
         value says how much of its direction is signal. The result does not depend on the order
         of categories.
Source.  Gavish, Donoho (2017), "Optimal shrinkage of singular values", IEEE Transactions on
         Information Theory 63(4), section on operator-norm loss. Their shrinker of Frobenius loss
         goes further towards zero, to allow for the noise in the singular vectors; that biases
         strong dependence, and polishing to its targets gave worse covariances and counts on all
         benchmark tables. Candès, Sing-Long, Trzasko (2013), "Unbiased risk estimates for singular
         value thresholding and spectral estimators", IEEE Transactions on Signal Processing 61(19),
         for the degrees of freedom.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_shrinkage.py takes both limits,
         shrinks pure noise, and takes the derivatives by finite differences.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.geometry.simplex import onto_simplex

Pair = tuple[int, int]

_STEEPEST = 3.0  # derivative of a kept length; it grows without bounds where noise's lengths end


class Estimate(NamedTuple):
    """What is left of a noisy table.

    Attributes:
        table: of the same shape and unit.
        freedom: trace of its derivative in the noisy table, by which its risk can be told (Stein
            1981, "Estimation of the mean of a multivariate normal distribution").
    """

    table: Table
    freedom: float


@dataclass(frozen=True, eq=False)
class Targets:
    """Denoised marginals, in probability; all are nonnegative and sum to 1.

    Attributes:
        one_way: one array of shape (k_a,) for every attribute.
        pairs: one array of shape (k_a, k_b) for every measured pair a < b.
    """

    one_way: tuple[Table, ...]
    pairs: Mapping[Pair, Table]


def denoise(
    one_way: Sequence[Table],
    pairs: Mapping[Pair, Table],
    *,
    total: float,
    sigma: Mapping[Pair, float],
) -> Targets:
    """Probability tables close to the ones that `pairs` are noisy counts of.

    Args:
        one_way: estimated counts of every attribute, shape (k_a,), unbiased.
        pairs: noisy counts, shape (k_a, k_b), independent noise per cell.
        total: number of records, measured or public; positive.
        sigma: deviation of the noise of every pair, records.
    """
    marginals = tuple(onto_simplex(counts / total) for counts in one_way)
    return Targets(
        marginals,
        {
            (a, b): _denoise_pair(table / total, marginals[a], marginals[b], sigma[a, b] / total)
            for (a, b), table in pairs.items()
        },
    )


def _denoise_pair(table: Table, rows: Table, columns: Table, sigma: float) -> Table:
    independent = np.outer(rows, columns)
    free = (len(rows) - 1, len(columns) - 1)
    added = shrink(centred(table - independent), sigma, free=free)
    return onto_simplex(independent + added.table)


def centred(table: Table) -> Table:
    """`table` less its row and column means, so that all rows and columns sum to zero.

    A target built on it has the shared one-ways as margins, whatever the noise.
    """
    centre = table - table.mean(axis=0, keepdims=True)
    return np.asarray(centre - centre.mean(axis=1, keepdims=True))


def shrink(residual: Table, sigma: float, *, free: tuple[int, ...]) -> Estimate:
    """A table with its singular values debiased, those of noise set to zero.

    Args:
        residual: shape (k_a, k_b), with white noise of deviation `sigma`, same unit, on a space of
            `free` dimensions: (k_a, k_b), or one less on each side for a doubly centred table.

    Noise lengthens a signal's singular value; what is kept is the length that it had, in the limit
    of large tables. The textbook divides by sigma; multiplied out, the formula also holds at
    sigma = 0, where nothing is shrunk.
    """
    long, short = max(*free, 1), max(min(free), 1)
    left, values, right = np.linalg.svd(residual, full_matrices=False)
    edge = sigma * (math.sqrt(long) + math.sqrt(short))  # largest singular value of pure noise
    signal = (values > edge) & (values > 0)
    signal[short:] = False  # of a smaller space: zeros, but for rounding
    lifted = values**2 - sigma**2 * (long + short)
    root = np.sqrt(np.maximum(lifted**2 - 4 * sigma**4 * long * short, 0.0))
    kept = np.where(signal, np.sqrt(np.maximum(lifted + root, 0.0) / 2), 0.0)
    freedom = 0.0
    for i in np.flatnonzero(signal):
        steep = values[i] * (root[i] + lifted[i])
        slope = steep / (2 * kept[i] * root[i]) if root[i] > 0 else _STEEPEST
        gaps = values[i] ** 2 - np.delete(values[:short], i) ** 2
        apart = 2 * values[i] * kept[i] * np.sum(1 / gaps[gaps != 0])
        freedom += min(slope, _STEEPEST) + (long - short) * kept[i] / values[i] + apart
    return Estimate(np.asarray((left * kept) @ right), float(freedom))
