"""The law of a weighted sum of independent noises, and its quantiles.

Claim.   `half_width` is h with P(|X| <= h) = confidence, for X the sum of all noises by their
         weights. Discrete noise counts as continuous noise of the same family and variance.
How.     A sum of Gaussian noise alone is Gaussian. With Laplace noise, P(|X| <= h) is the integral
         2/pi sin(h t)/t phi(t) of the characteristic function phi, over all t > 0 (Gil-Pelaez), by
         the midpoint rule: its error is the law's tail beyond `_REACH` deviations, and that of the
         characteristic function beyond the last point.
Source.  Gil-Pelaez (1951), "Note on the inversion theorem", Biometrika 38. Discrete Gaussian noise:
         Canonne, Kamath, Steinke (2020), arXiv:2004.00010, Corollary 9.
Oracle.  tests/mechanisms/inference/test_law.py: closed forms, and noise that the curator's own
         samplers draw.
"""

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from scipy.special import ndtri

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.privacy.queries import LaplaceNoise, Noise

_REACH = 60.0  # deviations: Laplace noise is beyond with probability exp(-84)
_ROUNDING = 1e-9  # of probabilities
_MOST_POINTS = 2**20
_ALIKE = 12  # weights that agree to so many binary digits count as one


def half_width(weights: Sequence[Floats], noises: Sequence[Noise], confidence: float) -> float:
    """Half of the shortest symmetric interval around 0 that holds the error with `confidence`.

    Args:
        weights: of the answers of each table, float64 of shape (answers,).
        noises: in every answer of each table.
    """
    pairs = list(zip(weights, noises, strict=True))
    deviation = sqrt(sum(noise.variance * float(w @ w) for w, noise in pairs))
    if deviation == 0:
        return 0.0
    laplace = [
        (np.abs(w[w != 0]) * sqrt(noise.variance) / deviation)
        for w, noise in pairs
        if isinstance(noise, LaplaceNoise)
    ]
    if not any(len(w) for w in laplace):
        return deviation * normal_half_width(confidence)
    from scipy.optimize import brentq  # here, as it takes long to import

    points, phi = _characteristic(np.concatenate(laplace))

    def excess(h: float) -> float:
        step = 2 * points[0]
        return float(2 / pi * step * (np.sin(h * points) / points) @ phi) - confidence

    # Chebyshev's inequality gives an upper end.
    return deviation * float(brentq(excess, 0.0, 1 / sqrt(1 - confidence) + 1, xtol=1e-9))


def normal_half_width(confidence: float) -> float:
    """Half of the interval of a normal error of deviation 1."""
    return float(ndtri((1 + confidence) / 2))


def _characteristic(deviations: Floats) -> tuple[Floats, Floats]:
    """Points t > 0, evenly spaced from half a step, and phi(t) of a sum of deviation 1.

    Args:
        deviations: of each Laplace noise in the sum; what is missing to 1 is Gaussian.
    """
    _, first, times = np.unique(
        np.round(np.log2(deviations) * 2**_ALIKE), return_index=True, return_counts=True
    )
    variances = deviations[first] ** 2
    gaussian = max(0.0, 1 - float(variances @ times))

    def log_phi(t: Floats) -> Floats:
        laplace = np.log1p(np.multiply.outer(t**2, variances / 2)) @ times
        return np.asarray(-gaussian * t**2 / 2 - laplace)

    step, last = pi / _REACH, 8.0
    while last / step < _MOST_POINTS and log_phi(np.array([last]))[0] > np.log(_ROUNDING):
        last *= 2
    points = np.float64(step) * (np.arange(int(last / step), dtype=np.float64) + 0.5)
    blocks = np.array_split(points, max(1, len(points) * len(variances) // 2**22))
    phi: Floats = np.exp(np.concatenate([log_phi(block) for block in blocks]))
    return points, phi
