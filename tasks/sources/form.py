"""How a file is written, as its first bytes suggest: what a person confirms or corrects.

A guess is no statement: of a file it sees the beginning, and of "1,234" nobody can tell what it
means. So it is proposed to whoever uploaded the file, and nothing else is done with it.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

from hallmark.schemas.columns.number_marks import DECIMAL_MARKS, THOUSANDS
from hallmark.schemas.encoding import UTF_8

Rows = Sequence[Sequence[str | None]]

DELIMITERS = (",", ";", "\t", "|")
NULLS = (
    "", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", ".", "-", "--", "?", "*",
    "#N/A", "k. A.", "k.A.", "n. a.", "s/o", "ND", "n.d.",
)  # fmt: skip
"""Texts that usually stand for a missing value; numbers that do, such as -9, are never guessed."""
DATE_FORMATS = (
    "%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%y",
    "%d.%m.%y", "%m/%d/%y",
)  # fmt: skip
"""Formats that are looked for, those first that are meant where several fit."""
_ISO = DATE_FORMATS[0]
_DAY = re.compile(r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}")
_MOST_DAYS = 500  # of a column that are read
_LINES = 200  # by which the delimiter is told
_BLANKS = tuple(mark for mark in THOUSANDS if mark not in (*DECIMAL_MARKS, "_"))


def guessed_encoding(start: bytes) -> str:
    """The character encoding of a text that begins so."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder(UTF_8)().decode(start)  # the last character may be cut off
        return UTF_8
    return "windows-1252"


def guessed_delimiter(text: str) -> str:
    """The character between two values: the one that parts most lines like the header."""

    def parted(delimiter: str) -> tuple[float, int]:
        rows = rows_of(text, delimiter, _LINES)
        fields = len(rows[0]) if rows else 1
        alike = sum(len(row) == fields for row in rows) / max(1, len(rows))
        return (alike if fields > 1 else 0.0, fields)

    return max(DELIMITERS, key=parted)


def rows_of(text: str, delimiter: str, most: int) -> list[list[str]]:
    """The first rows of a CSV text, as far as it can be read; its last line may be cut off."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), most))
    return rows


def guessed_marks(rows: Rows) -> dict[str, str]:
    """The decimal mark and the thousands separator, each where it is not Hallmark's own."""
    texts = {text.strip() for row in rows for text in row if text}

    def some(pattern: str) -> int:
        return sum(re.fullmatch(pattern, text) is not None for text in texts)

    for decimal, thousands in ((",", "."), (".", ",")):
        d, t = re.escape(decimal), re.escape(thousands)
        if some(rf"[+-]?\d{{1,3}}({t}\d{{3}})+{d}\d+"):
            return _marks(decimal, thousands)
    decimal = "," if some(r"[+-]?\d+,\d+") > some(r"[+-]?\d+\.\d+") else "."
    for blank in _BLANKS:
        if some(rf"[+-]?\d{{1,3}}({blank}\d{{3}})+({re.escape(decimal)}\d+)?"):
            return _marks(decimal, blank)
    return _marks(decimal, "")


def _marks(decimal: str, thousands: str) -> dict[str, str]:
    found = {} if decimal == "." else {"decimal_mark": decimal}
    return found | ({"thousands": thousands} if thousands else {})


def guessed_nulls(rows: Rows) -> list[str]:
    """The usual texts for a missing value that occur, the most frequent first."""
    met = Counter(text.strip() for row in rows for text in row if text is not None)
    return [text for text, _ in met.most_common() if text in NULLS]


def guessed_days(rows: Rows) -> tuple[str | None, bool]:
    """The format of days, where some are written otherwise than 2019-12-31; and whether another
    format would read the same texts as other days."""
    fits: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    for texts in zip(*rows, strict=False):
        days = [text.strip() for text in texts if text and text.strip() not in NULLS]
        if not days or any(_DAY.fullmatch(text) is None for text in days):
            continue
        found = [form for form in DATE_FORMATS if _reads(form, days[:_MOST_DAYS])]
        fits.update(found[:1])
        unsure.update(found[:1] if len(found) > 1 else [])
    if not fits:
        return None, False
    form = max(fits, key=lambda one: (fits[one] - unsure[one], fits[one]))
    return None if form == _ISO else form, unsure[form] == fits[form]


def _reads(form: str, days: Iterable[str]) -> bool:
    try:
        return all(datetime.strptime(day, form) for day in days)
    except ValueError:
        return False


def guessed_values(rows: Rows, *, written: bool) -> tuple[Mapping[str, Any], bool]:
    """What the cells tell of the keys of the section `data`, and whether days are ambiguous.

    Args:
        rows: without the header.
        written: whether they are texts of a CSV file, in which numbers have marks.
    """
    days, unsure = guessed_days(rows)
    form: dict[str, Any] = guessed_marks(rows) if written else {}
    if days is not None:
        form["date_format"] = days
    return form | {"null_markers": guessed_nulls(rows)}, unsure
