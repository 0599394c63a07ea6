"""Exact integer noise and exact private selection, drawn by OpenDP on the integers themselves.

Claim.   `add_discrete_laplace` and `add_discrete_gaussian` add noise of the exact law that
         `events.DiscreteLaplace` and `events.DiscreteGaussian` state, and `choose` draws from the
         exact law of `events.ExponentialMechanism`, each with a noise parameter rounded up to a
         float; so the true privacy loss is at most that of the event. `happens` has its exact law.
Source.  Canonne, Kamath, Steinke (2020), arXiv:2004.00010, for both samplers, and Algorithm 1 for
         `happens`; OpenDP draws noise from the operating system's entropy with rational arithmetic.
         Selection: Gumbel noise of scale b on the scores picks r with probability proportional to
         exp(u_r / b).
Check.   Every measurement is asked for its own privacy map, which must agree with the event.
Oracle.  tests/mechanisms/privacy/test_noise.py compares draws with the exact laws.

No floating-point arithmetic touches a private value: OpenDP adds integers to integers. A sum that
would leave the int64 range saturates there, which is post-processing of the exact sum.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from math import floor

import numpy as np

# Its parts by name: the library's own `prelude` also imports scikit-learn and pandas.
import opendp.measurements as measurements
from opendp.domains import atom_domain, vector_domain
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import l1_distance, l2_distance, linf_distance
from opendp.mod import Measurement, enable_features

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.rounding import float_above, sqrt_above

enable_features("contrib")

_LARGEST_PARAMETER = 2**56  # beyond it noise would saturate int64 often enough to bias answers
_LOWEST_SCORE = -(2**62)  # relative to the best one
_WORTH_A_THREAD = 2048  # draws, about 10 ms
_MAP_TOLERANCE = 1e-9  # relative; the maps round up in float arithmetic


def add_discrete_laplace(exact: Counts, scale: Fraction) -> Counts:
    """`exact` plus independent integers z, P(z) proportional to exp(-|z| / scale).

    Args:
        exact: int64 of any shape, records.
        scale: records, positive.
    Raises:
        TypeError: `exact` is not int64.
        ValueError: the scale is not positive, or 2**56 or more.
    """
    return _add(exact, partial(laplace_measurement, scale))


def add_discrete_gaussian(exact: Counts, sigma2: Fraction) -> Counts:
    """`exact` plus independent integers z, P(z) proportional to exp(-z^2 / (2 sigma2)).

    Args:
        exact: int64 of any shape, records.
        sigma2: records^2, positive.
    Raises:
        TypeError: `exact` is not int64.
        ValueError: sigma2 is not positive, or its root is 2**56 or more.
    """
    return _add(exact, partial(gaussian_measurement, sigma2))


def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> int:
    """Position r, drawn with probability proportional to exp(epsilon scores[r] / (2 sensitivity)).

    Scores may be integers of any size. Only differences matter, so the best score is shifted to 0,
    and scores more than 2**62 below it are raised to that limit. Both leave differences between
    neighbours within the sensitivity, and nothing is refused because of a private value.

    Raises:
        TypeError: a score is not an integer.
        ValueError: there is no candidate, the sensitivity is less than one, epsilon is not
            positive, or 2 sensitivity / epsilon is 2**56 or more.
    """
    if not scores:
        raise ValueError("there is no candidate to choose from")
    if not all(isinstance(score, int | np.integer) for score in scores):
        raise TypeError("scores must be integers; round them in units of 1/2**b, before choosing")
    if sensitivity < 1:
        raise ValueError(f"integer scores have a sensitivity of at least 1, not {sensitivity}")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, not {epsilon}")
    measurement = selection_measurement(Fraction(2 * sensitivity) / epsilon)
    exact = [int(score) for score in scores]
    best = max(exact)
    moved = [max(score - best, _LOWEST_SCORE) for score in exact]
    return int(measurement(np.array(moved, dtype=np.int64)))  # OpenDP takes lists one by one


def happens(exponent: Fraction) -> bool:
    """A coin: true with probability exp(-exponent), drawn with integers only.

    Raises:
        ValueError: the exponent is negative.
    """
    if exponent < 0:
        raise ValueError(f"exp({-exponent}) is no probability")
    whole = floor(exponent)
    return all(_decays(Fraction(1)) for _ in range(whole)) and _decays(exponent - whole)


def _decays(exponent: Fraction) -> bool:
    """`happens` for exponents up to 1, by the alternating exponential series."""
    terms = 1
    while secrets.randbelow(exponent.denominator * terms) < exponent.numerator:
        terms += 1
    return terms % 2 == 1


def laplace_measurement(scale: Fraction) -> Measurement:
    """OpenDP's discrete Laplace on int64 vectors; maps L1 sensitivity to epsilon."""
    rounded = float_above(_positive(scale, "the scale of Laplace noise"))
    # T=int would mean 32 bits to OpenDP.
    space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
    measurement = measurements.make_laplace(*space, scale=rounded)
    return _agreeing(measurement, 1, 1 / Fraction(scale))


def gaussian_measurement(sigma2: Fraction) -> Measurement:
    """OpenDP's discrete Gaussian on int64 vectors; maps L2 sensitivity to rho (zCDP)."""
    rounded = sqrt_above(_positive(sigma2, "sigma^2 of Gaussian noise", squared=True))
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    measurement = measurements.make_gaussian(*space, scale=rounded)
    return _agreeing(measurement, 1.0, 1 / (2 * Fraction(sigma2)))


def selection_measurement(scale: Fraction) -> Measurement:
    """OpenDP's noisy maximum with Gumbel noise; maps sensitivity to rho (zCDP)."""
    rounded = float_above(_positive(scale, "the scale of a noisy choice"))
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    measurement = measurements.make_noisy_max(*space, zero_concentrated_divergence(), rounded)
    return _agreeing(measurement, 1, (2 / Fraction(scale)) ** 2 / 8)


def _add(exact: Counts, build: Callable[[], Measurement]) -> Counts:
    if not isinstance(exact, np.ndarray) or exact.dtype != np.int64:
        kind = exact.dtype if isinstance(exact, np.ndarray) else type(exact).__name__
        raise TypeError(f"noise is added to int64 arrays, not {kind}: count in integers")
    build()  # a wrong parameter is refused for empty arrays too
    flat = np.ascontiguousarray(exact).reshape(-1)
    threads = min(os.cpu_count() or 1, 1 + flat.size // _WORTH_A_THREAD)
    # OpenDP draws outside the interpreter's lock. No two threads share a measurement.
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda part: _draw(build(), part), np.array_split(flat, threads))
        return np.concatenate(list(parts)).reshape(exact.shape)


def _draw(measurement: Measurement, exact: Counts) -> Counts:
    return np.array(measurement(exact), dtype=np.int64) if exact.size else exact


def _positive(parameter: Fraction, name: str, *, squared: bool = False) -> Fraction:
    if not isinstance(parameter, int | Fraction):
        raise TypeError(f"{name} must be an exact rational, not {type(parameter).__name__}")
    if not parameter > 0:
        raise ValueError(f"{name} must be positive, not {parameter}: it is what protects the data")
    if parameter >= _LARGEST_PARAMETER ** (2 if squared else 1):
        raise ValueError(f"{name} is {float(parameter):.3g}, too large for 64-bit answers")
    return Fraction(parameter)


def _agreeing(measurement: Measurement, unit: float, event: Fraction) -> Measurement:
    """The measurement, after checking that OpenDP's cost at unit sensitivity is the event's."""
    claimed = float(measurement.map(unit))  # type: ignore[no-untyped-call]  # OpenDP
    if not abs(claimed / float(event) - 1) <= _MAP_TOLERANCE:
        raise RuntimeError(
            f"OpenDP states a cost of {claimed!r} where the event costs {float(event)!r}: this "
            "version of OpenDP means something else by its noise parameter; do not release with it"
        )
    return measurement
