"""Fast simulation of the public laws of the noise, for Monte Carlo. It plays no role in privacy.

Certificates need quantiles of functions of the noise. They are computed from fresh draws of the
same law, made here with numpy's generators and float arithmetic: the law equals that of `noise` up
to about 1e-15 in total variation (times the scale for Laplace noise; 2e-12 for Gaussians beyond
`_LARGEST_TABLE`).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.compiled import compiled

Shape = int | Sequence[int]

_TAIL = 9.5  # standard deviations; beyond lies less than 1e-20
_LARGEST_TABLE = 2**17  # sigma, records
_BLOCK = 1 << 20  # uniforms drawn at a time
_CACHED = 1 << 14  # exponential variables handled at a time, so that they stay in the cache


def simulate_discrete_laplace(rng: np.random.Generator, scale: Fraction, size: Shape) -> Counts:
    """Draws z, P(z) proportional to exp(-|z| / scale), int64 of shape `size`.

    The difference of two geometric variables has this law, and a geometric variable is an
    exponential one rounded down.
    """
    width = float(scale)
    draws = np.empty(size, dtype=np.int64)
    flat = draws.reshape(-1)
    up, down = np.empty(min(_CACHED, flat.size)), np.empty(min(_CACHED, flat.size))
    for start in range(0, flat.size, _CACHED):
        block = flat[start : start + _CACHED]
        up, down = up[: block.size], down[: block.size]
        for half in (up, down):
            rng.standard_exponential(out=half)
            half *= width
            np.floor(half, out=half)
        np.subtract(up, down, out=block, casting="unsafe")  # whole numbers
    return draws


def simulate_laplace_sums(
    rng: np.random.Generator, scale: Fraction, terms: int, size: Shape
) -> Counts:
    """Sums of `terms` independent draws of discrete Laplace noise, int64 of shape `size`.

    Each draw is the difference of two geometric variables, and a sum of these is negative binomial.
    """
    success = -expm1(-1 / float(scale))
    sums = rng.negative_binomial(terms, success, size)
    sums -= rng.negative_binomial(terms, success, size)
    return sums


def simulate_discrete_gaussian(rng: np.random.Generator, sigma2: Fraction, size: Shape) -> Counts:
    """Draws z, P(z) proportional to exp(-z^2 / (2 sigma2)), int64 of shape `size`.

    Inverts the distribution function, starting from a table of guesses (Chen and Asau, 1974).
    Beyond `_LARGEST_TABLE` a rounded normal variable is nearer than 2e-12 in total variation.
    """
    sigma = sqrt(sigma2)
    if sigma > _LARGEST_TABLE:
        return np.rint(rng.normal(scale=sigma, size=size)).astype(np.int64)
    draws = np.empty(size, dtype=np.int64)
    flat = draws.reshape(-1)
    cumulative, guesses = _gaussian_table(sigma)
    lowest = -(len(cumulative) // 2)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        _invert(rng.random(block.size), cumulative, guesses, lowest, block)
    return draws


def conformal_rank(draws: int, confidence: float) -> int:
    """Rank r of N fresh draws, counted from the smallest, that another draw exceeds rarely.

    For N + 1 exchangeable variables, P(X_0 <= r-th smallest of X_1..X_N) >= r / (N + 1), with the
    simulation's randomness included; so r = ceil(confidence (N + 1)).

    Raises:
        ValueError: confidence is not in (0, 1), or there are too few draws for it.
    Source: Vovk, Gammerman, Shafer (2005), Algorithmic learning in a random world.
    """
    share = Fraction(str(confidence))  # the decimal that was written: 0.55 * 20 is 11, not 12
    if not 0 < share < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    rank = ceil(share * (draws + 1))
    if rank > draws:
        needed = ceil(share / (1 - share))
        raise ValueError(f"confidence {confidence} needs at least {needed} draws, not {draws}")
    return rank


@lru_cache(maxsize=64)
def _gaussian_table(sigma: float) -> tuple[Floats, NDArray[np.int32]]:
    """Distribution function on -T..T, and where to start the search for each slice of [0, 1)."""
    reach = ceil(_TAIL * sigma)
    weights = np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2)
    cumulative = np.cumsum(weights)
    cumulative /= cumulative[-1]
    slices = 1 << (4 * reach).bit_length()
    guesses = np.searchsorted(cumulative, np.arange(slices) / slices, side="right")
    return cumulative, guesses.astype(np.int32)


@compiled()
def _invert(
    uniforms: Floats,
    cumulative: Floats,
    guesses: NDArray[np.int32],
    lowest: int,
    out: Counts,
) -> None:
    slices = len(guesses)
    for i in range(len(uniforms)):
        position = guesses[int(uniforms[i] * slices)]
        while cumulative[position] <= uniforms[i]:
            position += 1
        out[i] = lowest + position
