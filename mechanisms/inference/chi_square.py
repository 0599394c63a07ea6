"""Whether several weighted sums of queries differ from 0 together by more than noise explains.

Claim.   Where all sums are 0, `chi_square` gives a probability of at most p, for every p, with
         probability p: exactly for Gaussian noise, and with Laplace noise up to what is taken for
         Gaussian in it. `holm` names a sum, or a set of them, wrongly with at most the given
         probability, however many there are and however they depend on each other.
How.     The statistic is d' V+ d for estimates d with known covariance V, on the range of V.
         Gaussian noise gives the chi-square law. With Laplace noise, its law is drawn: of the
         `_DRAWN` answers that weigh most by their own law, and of all others, of which each weighs
         little, by the normal law.
Source.  Holm (1979), "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6.
         Davison, Hinkley (1997), "Bootstrap Methods and their Application", section 4.2, for
         probabilities from draws.
Oracle.  tests/mechanisms/inference/test_chi_square.py: how often noise alone is taken for more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Floats, Mask
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.privacy.queries import LaplaceNoise

_SINGULAR = 1e-9  # of variances, relative to the largest
DRAWS = 9_999
_DRAWN = 2_000  # answers with Laplace noise
_AT_ONCE = 500  # draws


@dataclass(frozen=True)
class ChiSquare:
    """A test of several sums at once.

    Attributes:
        freedom: number of sums that noise moves independently; 0 where it moves none.
        probability: of a statistic as large, if all sums are 0; 1 without freedom.
    """

    statistic: float
    freedom: int
    probability: float


def chi_square(estimates: Estimates, sums: Floats, rng: np.random.Generator) -> ChiSquare:
    """Test whether all sums are 0.

    Args:
        sums: weights of the queries in each, shape (sums, queries).
        rng: for the law of the statistic under Laplace noise.
    """
    variances, axes = np.linalg.eigh(sums @ estimates.covariance @ sums.T)
    kept = variances > _SINGULAR * max(float(variances.max(initial=0)), 0.0)
    if not kept.any():
        return ChiSquare(0.0, 0, 1.0)
    whitened = (axes[:, kept] / np.sqrt(variances[kept])).T @ sums
    statistic = float(np.square(whitened @ estimates.values).sum())
    freedom = int(kept.sum())
    laplace = _laplace(estimates, whitened)
    if not len(laplace):
        from scipy.stats import chi2  # here, as it takes long to import

        return ChiSquare(statistic, freedom, float(chi2.sf(statistic, freedom)))
    as_large = int((_drawn(laplace, freedom, rng) >= statistic).sum())
    return ChiSquare(statistic, freedom, (as_large + 1) / (DRAWS + 1))


def holm(probabilities: Sequence[float], level: float) -> Mask:
    """Which hypotheses are rejected, while any true one is with probability `level` at most."""
    order = np.argsort(probabilities, kind="stable")
    steps = len(order) - np.arange(len(order))
    fails = np.flatnonzero(np.asarray(probabilities)[order] * steps > level)
    rejected = np.zeros(len(order), dtype=bool)
    rejected[order[: fails[0] if len(fails) else len(order)]] = True
    return rejected


def _laplace(estimates: Estimates, rows: Floats) -> Floats:
    """Deviations that each answer with Laplace noise gives the rows, shape (answers, rows)."""
    pairs = zip(estimates.weights.tables, estimates.weights.by_table, strict=True)
    found = [one.sigma * (w @ rows.T) for one, w in pairs if isinstance(one.noise, LaplaceNoise)]
    every = np.concatenate([np.empty((0, len(rows))), *found])
    every = every[np.any(every, axis=1)]
    return every[np.argsort(-np.square(every).sum(axis=1), kind="stable")][:_DRAWN]


def _drawn(laplace: Floats, freedom: int, rng: np.random.Generator) -> Floats:
    """Draws of the statistic, shape (DRAWS,)."""
    rest = np.eye(freedom) - laplace.T @ laplace
    variances, axes = np.linalg.eigh(rest)
    gaussian = axes * np.sqrt(np.maximum(variances, 0.0))
    drawn = []
    for first in range(0, DRAWS, _AT_ONCE):
        size = min(_AT_ONCE, DRAWS - first)
        noise = rng.laplace(scale=0.5**0.5, size=(size, len(laplace))) @ laplace
        noise += rng.standard_normal((size, freedom)) @ gaussian.T
        drawn.append(np.square(noise).sum(axis=1))
    return np.concatenate(drawn)
