"""Rounding to floats and to short decimals, on the stated side."""

from fractions import Fraction
from math import inf, nextafter

from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.rounding import (
    decimal_above,
    float_above,
    float_below,
    sqrt_above,
    sqrt_below,
)

POSITIVE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


@given(POSITIVE)
def test_floats_above_and_below_are_the_nearest_on_their_side(value: Fraction) -> None:
    above, below = float_above(value), float_below(value)
    assert Fraction(nextafter(above, -inf)) < value <= Fraction(above)
    assert Fraction(below) <= value < Fraction(nextafter(below, inf))


@given(POSITIVE)
def test_roots_are_on_their_side_of_the_exact_one_and_near_it(value: Fraction) -> None:
    above, below = Fraction(sqrt_above(value)), Fraction(sqrt_below(value))
    assert below**2 <= value <= above**2
    assert above - below <= below * Fraction(1, 2**50)


@given(POSITIVE, st.integers(1, 12))
def test_a_decimal_above_is_short_and_not_below(value: Fraction, digits: int) -> None:
    rounded = decimal_above(value, digits)
    assert value <= rounded <= value * (1 + Fraction(10) ** (2 - digits))
    assert len(str(rounded)) < 40


def test_what_is_short_already_stays() -> None:
    assert decimal_above(Fraction(5), 3) == 5
    assert decimal_above(Fraction(1, 3), 3) == Fraction(334, 1000)
    assert decimal_above(Fraction(100_001), 3) == 101_000
