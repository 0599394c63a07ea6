"""How a file is written, guessed from its beginning."""

import pytest

from hallmark.tasks.sources.form import (
    guessed_days,
    guessed_delimiter,
    guessed_encoding,
    guessed_marks,
    guessed_nulls,
)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_parts_lines_like_the_header(delimiter: str):
    lines = [["a", "b", "c"], ["1,5", "x;y", "z|"], ["2,5", "", "w"], ["3,5", "u", "v"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in line) for line in lines)
    assert guessed_delimiter(text) == delimiter


def test_decimal_commas_do_not_hide_a_semicolon():
    assert guessed_delimiter("a;b\n1,5;2,5\n1,5;2,5\n") == ";"
    assert guessed_delimiter("one column\n1\n") == ","
    assert guessed_delimiter("") == ","


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        ("née".encode(), "utf-8"), ("née".encode()[:2], "utf-8"), (b"\xef\xbb\xbfa", "utf-8"),
        ("née;".encode("latin-1"), "windows-1252"), ("née".encode("utf-16"), "utf-16"),
        (b"", "utf-8"),
    ],
)  # fmt: skip
def test_the_encoding_is_the_first_that_fits(start: bytes, encoding: str):
    assert guessed_encoding(start) == encoding


@pytest.mark.parametrize(
    ("texts", "marks"),
    [
        (["1,5", "2,25"], {"decimal_mark": ","}),
        (["1.5", "2"], {}),
        (["1.234,5"], {"decimal_mark": ",", "thousands": "."}),
        (["1,234.5", "2,345"], {"thousands": ","}),
        (["1 234,5", "7,5"], {"decimal_mark": ",", "thousands": " "}),
        (["1'234.5"], {"thousands": "'"}),
        (["12", "a,b", ""], {}),
    ],
)
def test_marks_are_those_that_numbers_show(texts: list[str], marks: dict[str, str]):
    assert guessed_marks([[text] for text in texts]) == marks


@pytest.mark.parametrize(
    ("days", "found"),
    [
        (["31/12/2019", "01/02/2019"], ("%d/%m/%Y", False)),
        (["01/02/2019", "03/04/2019"], ("%d/%m/%Y", True)),
        (["12/31/2019", "01/02/2019"], ("%m/%d/%Y", False)),
        (["31.12.2019", "NA", ""], ("%d.%m.%Y", False)),
        (["2019-12-31"], (None, False)),
        (["31/12/19", "01/02/20"], ("%d/%m/%y", False)),
        (["31/12/2019", "never"], (None, False)),
        (["1.5", "2.5"], (None, False)),
    ],
)
def test_days_have_the_format_that_reads_all_of_a_column(
    days: list[str], found: tuple[str | None, bool]
):
    assert guessed_days([[day, "1"] for day in days]) == found


def test_usual_texts_for_a_missing_value_are_found_and_numbers_are_not():
    rows = [["NA", "-"], ["", "-9"], [" - ", "-"], ["no", None], ["999", "x"]]
    assert guessed_nulls(rows) == ["-", "NA", ""]
