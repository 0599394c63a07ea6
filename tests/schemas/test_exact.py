"""Exact numbers and days: what is read, and what is refused."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.schemas.exact import decimal, read_date, read_exact


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),
        ("1e-5", Fraction(1, 100_000)),
        ("-2/6", Fraction(-1, 3)),
        ("+.5", Fraction(1, 2)),
        ("007", 7),
        (3, 3),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_a_number_is_what_its_text_says(value, number):
    assert read_exact(value) == number


@pytest.mark.parametrize(
    "value",
    ["", "one", "1,000", "1_000", "inf", ".nan", float("inf"), float("nan"), True, None, [1], {},
     "1e999", "1" * 65, "0x1F", " 1", "1/-3", "1.5/2", "١"],
)  # fmt: skip
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(ValueError, match="must be a number such as"):
        read_exact(value)


def test_division_by_zero_is_refused():
    with pytest.raises(ValueError, match="divides by zero"):
        read_exact("1/0")


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9
    )
)
def test_decimals_are_read_exactly(number: Decimal):
    assert read_exact(str(number)) == Fraction(number)


@given(st.fractions(max_denominator=10**6, min_value=-(10**9), max_value=10**9))
def test_a_written_number_is_read_back(number):
    assert read_exact(str(number)) == number


def test_a_day_is_read_and_written_alike():
    assert read_date("2024-02-29") == read_date(date(2024, 2, 29)) == date(2024, 2, 29)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2023-02-29", "there is no such day"),
        ("0", "must be a date written like"),
        ("20240229", "must be a date written like"),
        (1900, "must be a date written like"),
        (datetime(2024, 1, 1, 12), "must be a date written like"),
        (None, "not nothing"),
    ],
)
def test_what_is_no_day_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        read_date(value)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(1_234_567), "1234567"),
        (Fraction(12_345_675, 10), "1234567.5"),
        (Fraction(-1, 20), "-0.05"),
        (Fraction(1, 100_000), "1e-05"),
        (Fraction(1, 3), "1/3"),
    ],
)
def test_a_number_is_written_in_decimals_where_these_are_exact(number, text):
    assert decimal(number) == text


@given(st.fractions(max_denominator=10**6))
def test_what_is_written_reads_back(number):
    assert read_exact(decimal(number)) == number
