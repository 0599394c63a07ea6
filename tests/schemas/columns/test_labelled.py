"""What Stata and SPSS files cannot hold is refused before anything is measured."""

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from hallmark.schemas.columns.labelled import category_numbers, name_problems
from tests.builders.wages import WAGES, problems, written

FINE = ["a", "Age_1", "x" * 32, "str", "strange", "_".join("abc")]
REFUSED = [
    *("", "1a", "a b", "ä", "x.y", "_merge", "a$", "x" * 33),
    *("in", "Float", "str5", "strL", "using", "With", "ALL", "by"),
]


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_a_name_that_is_taken_can_be_written(form: str, tmp_path: Path) -> None:
    assert list(name_problems(FINE)) == []
    write = pyreadstat.write_dta if form == "dta" else pyreadstat.write_sav
    write(pd.DataFrame({name: [1.0] for name in FINE}), tmp_path / f"t.{form}")


def test_names_that_either_format_lacks_are_told() -> None:
    assert [name for name, _ in name_problems(REFUSED)] == REFUSED
    assert list(name_problems(["age", "AGE"])) == [("AGE", "SPSS cannot distinguish it from age")]


@pytest.mark.parametrize(
    ("codes", "numbers"),
    [
        (("1", "2", "9"), (1, 2, 9)),
        (("-1", "0"), (-1, 0)),
        (("01", "2"), (1, 2)),
        (("2", "1", "x"), (1, 2, 3)),
        (("9999999999", "1"), (1, 2)),
    ],
)
def test_a_category_has_the_number_that_it_is_or_its_place(codes, numbers) -> None:
    assert category_numbers(codes) == numbers


def test_a_spec_with_columns_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    text = WAGES.replace("minimum: 1970-01-01", "minimum: 1500-01-01")
    text = text.replace("sex", "in").replace("99", str(2**53 + 1))
    text = text.replace("formats: [csv]", "formats: [csv, dta, sav]")
    ending = "; leave dta and sav out of output.formats, or the column out of output.columns"
    assert problems(written(tmp_path, text)) == [
        f"{line}: columns.{name}: cannot be written as dta or sav: {why}{ending}"
        for line, name, why in (
            (28, "age", "whole numbers there go up to 2^53, which is 9007199254740992"),
            (37, "in", "that word is reserved there"),
            (52, "hired", "dates there begin on 1582-10-15"),
        )
    ]
