"""The iteration of DPAM on a noisy histogram that is already released.

Smoothing evaluates the subgradient of the largest error at y + sigma (z_t - zbar), t = 1..T, with
independent standard normal z_t and their mean zbar. As y carries noise of variance sigma^2 / T, the
T vectors are in law T independent releases of the histogram with noise of variance sigma^2 each,
which is what the paper asks of the data in every step.

Claim.   Given y with normal noise of variance sigma^2 / T, the points are independent with variance
         sigma^2: Var = sigma^2 / T + sigma^2 (1 - 1/T), and between two steps sigma^2 / T -
         sigma^2 / T = 0.
Source.  Micali, Lezane, Betken (2025), AISTATS, Algorithm 2. Three errors of its printed form are
         corrected unless `printed`: lines 8 and 9 move along +q* where the error falls along -q*,
         and line 9 leaves out alpha, which multiplies the entropy and the Bregman term alike.
Oracle.  tests/mechanisms/linear_queries/dpam/test_iteration.py: the covariance, the sign, the
         regularised optimum without noise.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import tilted

_KEY = 20250  # of the smoothing, which is public: the same histogram gives the same result


def iterate(
    universe: Universe,
    shares: Floats,
    *,
    steps: int,
    alpha: float,
    sigma: float,
    printed: bool = False,
    report: Callable[[float], None] = lambda share: None,
) -> Floats:
    """The averaged distribution after all steps.

    Args:
        shares: y, the noisy histogram divided by the number of records.
        steps: T.
        alpha: weight of the negative entropy.
        sigma: of the smoothing, in shares.
        printed: whether to follow the paper to the letter, which raises the error.
    """
    smoothed = sigma > 0 and steps > 1
    mean = np.zeros(universe.size)
    for step in range(steps if smoothed else 0):
        mean += normal(universe.size, step) / steps
    # sigma = 0 has no use for the paper's offset, which would be infinite.
    offset = sqrt(4 / (alpha * sigma)) if sigma > 0 else 0.0
    start = universe.uniform
    current = averaged = start
    exponents = np.zeros(universe.size)  # G / alpha, or the logarithms of the printed iteration
    weight = 0.0
    for step in range(steps):
        size = step + 1 + offset + 1
        before, weight = weight, weight + size
        middle = (before * averaged + size * current) / weight
        point = shares - middle
        if smoothed:
            point = point + sigma * (normal(universe.size, step) - mean)
        errors = universe.answers(point)
        worst = int(np.argmax(np.abs(errors)))
        sign = float(np.sign(errors[worst]))
        if printed:
            # argmin eta <q*, D> + eta H(D) + A_{t-1} D_H(D, D_t): logarithms are averaged.
            exponents *= before / weight
            universe.add(exponents, worst, -sign * size / weight)
            current = tilted(universe.possible.astype(np.float64), exponents)
        else:
            # The steps of argmin eta <-q*, D> + eta alpha H(D) + alpha A_{t-1} D_H(D, D_t) add up.
            exponents *= before / weight
            universe.add(exponents, worst, sign * size / (alpha * weight))
            current = tilted(start, exponents)
        averaged = (before * averaged + size * current) / weight
        if step % 50 == 0:
            report((step + 1) / steps)
    return averaged


def normal(size: int, step: int) -> Floats:
    """Standard normal z of one step, made anew from its number, so that none is stored."""
    return np.random.Generator(np.random.Philox(key=_KEY, counter=[0, 0, 0, step])).normal(
        size=size
    )
