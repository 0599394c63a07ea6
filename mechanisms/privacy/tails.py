"""Quantiles of the exact laws of noise, never understated. Public.

Claim.   Noise exceeds `reach(noise, failure)` with probability at most `failure`, and is below its
         negative with probability at most `failure`.
Proof.   Laplace: P(z > t) = p^(t + 1) / (1 + p) for p = exp(-1 / scale). Gaussian: with g(z) =
         exp(-z^2 / (2 sigma2)), the sum of g over z > t is at most g(t + 1) and the integral of g
         from t + 1 on, and the sum over all z at least sigma sqrt(2 pi) (Poisson summation). Both
         laws are symmetric.
Oracle.  tests/mechanisms/privacy/test_tails.py sums the laws.
"""

from math import ceil, erfc, exp, log, pi, sqrt

from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise, Noise


def reach(noise: Noise, failure: float) -> int:
    """The least t >= 0 for which P(z > t) <= failure is proved.

    Raises:
        ValueError: the failure probability is not in (0, 1).
    """
    if not 0 < failure < 1:
        raise ValueError(f"a failure probability lies strictly between 0 and 1, not {failure}")
    match noise:
        case LaplaceNoise(scale):
            p = exp(-1 / float(scale))
            return max(0, ceil(-float(scale) * log(failure * (1 + p))) - 1)
        case GaussianNoise(sigma2):
            low, high = -1, 1
            while _gaussian_tail(high, float(sigma2)) > failure:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                over = _gaussian_tail(middle, float(sigma2)) > failure
                low, high = (middle, high) if over else (low, middle)
            return max(high, 0)


def _gaussian_tail(t: int, sigma2: float) -> float:
    """Bound on P(z > t)."""
    first, sigma = t + 1, sqrt(sigma2)
    step = exp(-(first**2) / (2 * sigma2)) / (sigma * sqrt(2 * pi))
    return step + erfc(first / (sigma * sqrt(2))) / 2
