"""Codes as lines of a form: what is written is read again exactly, and what is unclear refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.schemas.code_lines import (
    Unclear,
    categories_as_lines,
    categories_in,
    groups_as_lines,
    groups_in,
    texts_as_lines,
    texts_in,
)

codes = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["01", "no", "1.0", "a = b", '"', "a, b", " x ", "\n", "", "=", "\u2028", '"a" = "b"', "\\"]
)  # fmt: skip


def test_lines_are_read_as_people_type_them():
    lines = '01 = Leipzig\r\n\n no=1.0 \n1.0\n" = " = ""\nNA = a = b'.replace("\r", "")
    assert categories_in(lines) == {
        "01": "Leipzig", "no": "1.0", "1.0": "1.0", " = ": "", "NA": "a = b",
    }  # fmt: skip
    assert texts_in('NA\n""\n -9 ') == ["NA", "", "-9"]
    assert groups_in('N = 01, 02\nS = "a,b"\n\n\nall = 01,02,"a,b"\nnone = x') == [
        {"N": ["01", "02"], "S": ["a,b"]},
        {"all": ["01", "02", "a,b"], "none": ["x"]},
    ]


@given(st.dictionaries(codes, codes, max_size=5))
def test_categories_are_read_as_they_were_written(categories: dict[str, str]):
    found = categories_in(categories_as_lines(categories))
    assert list(found.items()) == list(categories.items())


@given(st.lists(codes, max_size=5))
def test_texts_are_read_as_they_were_written(texts: list[str]):
    assert texts_in(texts_as_lines(texts)) == texts


@given(st.lists(st.dictionaries(codes, st.lists(codes, min_size=1), min_size=1), max_size=3))
def test_groups_are_read_as_they_were_written(levels: list[dict[str, list[str]]]):
    assert groups_in(groups_as_lines(levels)) == levels


@pytest.mark.parametrize(
    ("read", "lines", "says"),
    [
        (categories_in, "a\nb\na = x", "line 3 repeats the code 'a'"),
        (categories_in, "a\n = x", "line 2 has nothing before ="),
        (categories_in, '"a', "line 1 begins with a quote that is not closed"),
        (categories_in, '"a" b', "line 1 goes on after the closing quote; write ="),
        (categories_in, 'a = "b" c', "line 1 goes on after the closing quote"),
        (texts_in, '"\\ud800"', "line 1 begins with a quote"),
        (groups_in, "N = 1\nS", "line 2 has no codes"),
        (groups_in, "N = 1\nN = 2", "line 2 repeats the group 'N'"),
        (groups_in, "N = 1,,2", "line 1 has nothing before ,"),
        (texts_in, '\n"', "line 2 begins with a quote"),
    ],
)
def test_what_is_unclear_is_refused_with_its_line(
    read: Callable[[str], object], lines: str, says: str
):
    with pytest.raises(Unclear, match=says):
        read(lines)
