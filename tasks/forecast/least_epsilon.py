"""The least epsilon at which something is narrow enough, from few plans.

Noise is about inversely proportional to epsilon, so each plan tells about where the next should be;
plans take seconds.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from math import isfinite, sqrt

LEAST, MOST = Fraction(1, 1000), Fraction(100)
"""Between which epsilons are looked for."""
_CLOSE = 1.02  # between an epsilon that is enough and one that is not
_BEYOND = 0.006  # how far past the expected one to look, so that both sides are known soon
_APART = 8.0  # a step where nothing tells how far to go
_GUESSES = 6  # after which what is between is halved: quantiles jump, so that guesses creep
_DIGITS = 4  # of an epsilon


def least_epsilon(excess: Callable[[Fraction], float], start: Fraction | float) -> Fraction | None:
    """The least epsilon with `excess` at most 1, to within 2 %; None if none up to `MOST` has.

    Args:
        excess: of the width at an epsilon over what is good enough; falls as epsilon grows, and is
            infinite where nothing is known.
        start: where to look first.
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
        if enough is not None and (enough <= LEAST or enough <= too_little * Fraction(_CLOSE)):
            return enough
        factor = found if isfinite(found) else _APART
        guess = _rounded(float(epsilon) * factor * (1 + (_BEYOND if found > 1 else -_BEYOND)))
        if enough is None:
            far = _rounded(float(epsilon) * _APART)
            epsilon = min(guess if trial < _GUESSES else far, MOST)
        elif too_little < guess < enough and trial < _GUESSES:
            epsilon = guess
        else:
            epsilon = _rounded(sqrt(too_little * enough))
    raise AssertionError("the search ends")


def _rounded(epsilon: Fraction | float) -> Fraction:
    """An epsilon of few digits, which people can write."""
    return Fraction(f"{float(epsilon):.{_DIGITS}g}")
