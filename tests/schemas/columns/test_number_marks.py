"""Marks of numbers: what is written is read, and what is written otherwise is no number."""

import re
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.schemas.columns.number_marks import DECIMAL_MARKS, THOUSANDS, NumberMarks

MARKS = [
    NumberMarks(decimal, thousands)
    for decimal, thousands in product(DECIMAL_MARKS, ["", *THOUSANDS])
    if decimal != thousands
]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1.234,5", "1234.5"),
        ("1234,5", "1234.5"),
        ("-1.234.567,", "-1234567."),
        (",5", ".5"),
        ("1,5e3", "1.5e3"),
        ("0", "0"),
        ("1.5", None),
        ("12.34,5", None),
        ("1.2345", None),
        ("1234.567", None),
        ("1,234.5", None),
        ("", None),
        ("1,5\n", None),
        ("٣,5", None),
    ],
)
def test_points_part_thousands_where_the_comma_is_the_decimal_mark(
    text: str, plain: str | None
) -> None:
    assert NumberMarks(",", ".").plain(text) == plain


@given(
    number=st.decimals(-(10**12), 10**12, places=4, allow_nan=False), marks=st.sampled_from(MARKS)
)
def test_what_is_written_is_read(number: object, marks: NumberMarks) -> None:
    grouped = f"{number:,}".replace(",", "x").replace(".", marks.decimal)
    assert marks.plain(grouped.replace("x", marks.thousands)) == str(number)
    assert marks.plain(str(number).replace(".", marks.decimal)) == str(number)


@given(text=st.text("0123456789.,' _-+e\n", max_size=12), marks=st.sampled_from(MARKS))
def test_both_engines_of_patterns_agree(text: str, marks: NumberMarks) -> None:
    (found,) = pc.match_substring_regex(pa.array([text]), pattern=marks.pattern).to_pylist()
    assert found == (re.fullmatch(marks.pattern, text) is not None)
