"""Which of a spec's columns Stata (`.dta`) and SPSS (`.sav`) files can hold.

One rule serves both formats, so that a column has the same name, and a category the same number,
wherever it is read: Stata labels only whole numbers, and SPSS ignores the case of names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn

LABELLED_FORMATS = ("dta", "sav")
MOST_NAME = 32  # characters of a name in Stata; SPSS takes 64
FIRST_DAY = date(1582, 10, 15)  # of the SPSS calendar
MOST_WHOLE = 2**53  # above this, doubles skip whole numbers
_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{MOST_NAME - 1}}}")
_CODE = re.compile(r"0|-?[1-9][0-9]{0,8}")  # a label's number in Stata has 31 bits and a sign
_RESERVED = {
    *("byte", "double", "float", "if", "in", "int", "long", "strl", "using", "with"),  # Stata
    *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to"),  # SPSS
}


def category_numbers(codes: Sequence[str]) -> tuple[int, ...]:
    """The number of each category: its code if all codes are whole numbers as usually written
    (7, not 07), else its place in the list, from 1."""
    if all(_CODE.fullmatch(code) for code in codes):
        return tuple(int(code) for code in codes)
    return tuple(range(1, len(codes) + 1))


def name_problems(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every name that Stata or SPSS does not accept, and why."""
    taken: dict[str, str] = {}
    for name in names:
        known = name.lower()
        if not _NAME.fullmatch(name):
            yield (
                name,
                f"a name there has at most {MOST_NAME} characters (a to z, digits and _) and "
                "begins with a letter",
            )
        elif known in _RESERVED or re.fullmatch(r"str\d+", known):
            yield name, "that word is reserved there"
        elif known in taken:
            yield name, f"SPSS cannot distinguish it from {taken[known]}"
        taken.setdefault(known, name)


def domain_problems(columns: Mapping[str, Column]) -> Iterator[tuple[str, str]]:
    """Every column with values that Stata or SPSS cannot hold, and why."""
    for name, column in columns.items():
        if isinstance(column, DateColumn) and column.minimum < FIRST_DAY:
            yield name, f"dates there begin on {FIRST_DAY}"
        if isinstance(column, NumericColumn) and column.integer and _most(column) > MOST_WHOLE:
            yield name, f"whole numbers there go up to 2^53, which is {MOST_WHOLE}"


def _most(column: NumericColumn) -> Fraction:
    return max(abs(column.minimum), abs(column.maximum))
