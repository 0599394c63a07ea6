"""The least epsilon at which something is narrow enough, from few plans.

Plans take seconds. The noise of an epsilon is nearly that of one draw of the analytic Gaussian
mechanism, or inversely proportional to it under pure privacy, so each plan tells where the next
should be; most searches end with the second.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from math import isfinite, sqrt

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import unit_sigma

LEAST, MOST = Fraction(1, 1000), Fraction(100)
"""Between which epsilons are looked for."""
_CLOSE = 1.02  # between an epsilon that is enough and one that is not
_AIM = 0.994  # of what is good enough, at the next epsilon: the least is there, or just below
_NEAR = 0.988  # from where on the least is within 2 %, where widths change evenly
_GUESSES = 6  # after which what is between is halved: quantiles jump, so that guesses creep
_DIGITS = 4  # of an epsilon


def least_epsilon(
    excess: Callable[[Fraction], float],
    start: Fraction | float,
    *,
    delta: Fraction,
    even: bool = False,
) -> Fraction | None:
    """The least epsilon with `excess` at most 1, to within 2 %; None if none up to `MOST` has.

    Args:
        excess: of the width at an epsilon over what is good enough; falls as epsilon grows, and is
            infinite where nothing is known.
        start: where to look first.
        delta: of the budget.
        even: whether widths change evenly, so that one that is just narrow enough is evidence that
            nothing much below is; quantiles jump.
    """
    enough: Fraction | None = None
    too_little = LEAST
    epsilon = min(max(_rounded(start), LEAST), MOST)
    for trial in count():
        found = excess(epsilon)
        if found <= 1:
            enough = epsilon
        elif epsilon >= MOST:
            return None
        else:
            too_little = epsilon
        if enough is not None and (
            enough <= LEAST
            or enough <= too_little * Fraction(_CLOSE)
            or (even and _NEAR <= found <= 1)
        ):
            return enough
        guess = MOST
        if isfinite(found) and found > 0:
            guess = with_noise(epsilon, _AIM / found if found > 1 or even else 1.006 / found, delta)
        if enough is None:
            epsilon = min(guess if trial < _GUESSES else MOST, MOST)
        elif too_little < guess < enough and trial < _GUESSES:
            epsilon = guess
        else:
            epsilon = _rounded(sqrt(too_little * enough))
    raise AssertionError("the search ends")


def with_noise(epsilon: Fraction, times: float, delta: Fraction) -> Fraction:
    """About the epsilon at which noise is so many times that at another."""
    if delta == 0:
        return _rounded(float(epsilon) / times)

    def noise(at: float) -> float:
        return unit_sigma(Budget(epsilon=_rounded(at), delta=delta))

    wanted, low, high = noise(float(epsilon)) * times, float(LEAST), float(MOST)
    while high / low > 1 + 10.0**-_DIGITS:
        middle = sqrt(low * high)
        low, high = (middle, high) if noise(middle) > wanted else (low, middle)
    return _rounded(high)


def _rounded(epsilon: Fraction | float) -> Fraction:
    """An epsilon of few digits, which people can write."""
    return Fraction(f"{float(epsilon):.{_DIGITS}g}")
