"""Numbers on the stated side of an exact one, so that rounding never flatters a privacy claim."""

from fractions import Fraction
from math import ceil, floor, inf, log10, nextafter, sqrt


def float_above(exact: Fraction) -> float:
    """Smallest float that is at least `exact`."""
    near = float(exact)
    return near if Fraction(near) >= exact else nextafter(near, inf)


def float_below(exact: Fraction) -> float:
    """Largest float that is at most `exact`."""
    near = float(exact)
    return near if Fraction(near) <= exact else nextafter(near, -inf)


def sqrt_above(exact: Fraction) -> float:
    """A float that is at least the root of `exact`, by some units in the last place at most."""
    near = sqrt(exact)
    while Fraction(near) ** 2 < exact:
        near = nextafter(near, inf)
    return near


def sqrt_below(exact: Fraction) -> float:
    """A float that is at most the root of `exact`, by some units in the last place at most."""
    near = sqrt(exact)
    while Fraction(near) ** 2 > exact:
        near = nextafter(near, -inf)
    return near


def decimal_above(value: Fraction, digits: int) -> Fraction:
    """A number of so many decimal digits, just above `value`, which is positive, or equal to it."""
    unit = Fraction(10) ** (floor(log10(value)) + 1 - digits)
    return ceil(value / unit) * unit
