"""Rounding to short decimals, on the stated side."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.rounding import decimal_above

POSITIVE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


@given(POSITIVE, st.integers(1, 12))
def test_a_decimal_above_is_short_and_not_below(value: Fraction, digits: int) -> None:
    rounded = decimal_above(value, digits)
    assert value <= rounded <= value * (1 + Fraction(10) ** (2 - digits))
    assert len(str(rounded)) < 40


def test_what_is_short_already_stays() -> None:
    assert decimal_above(Fraction(5), 3) == 5
    assert decimal_above(Fraction(1, 3), 3) == Fraction(334, 1000)
    assert decimal_above(Fraction(100_001), 3) == 101_000
