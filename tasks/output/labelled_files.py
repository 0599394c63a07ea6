"""Write records for Stata (`.dta`) and SPSS (`.sav`), with the labels of the spec.

Every variable is a number: categories by `schemas.columns.labelled.category_numbers`, with value
labels, and days as the format counts them. Nulls are the format's own missing value.

Source. ReadStat through pyreadstat; "File formats .dta" of Stata's manual (format 118, for Stata 14
or later), and "System File Format" of the PSPP developers, for where a file keeps its time.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
)
from hallmark.schemas.columns.interval_columns import EPOCH
from hallmark.schemas.columns.labelled import category_numbers
from hallmark.schemas.release_spec import ReleaseSpec

_DTA_VERSION = 14  # of Stata; what pyreadstat calls 15 only some editions of Stata open
_MOST_TITLE, _MOST_COLUMN_LABEL, _MOST_VALUE_LABEL = 64, 80, 120  # bytes; the less of both formats
_MOST_NUMBER = 12  # bytes of " (-123456789)"
_MOST_DIGITS, _MOST_DECIMALS = 40, 16  # of a printed number in SPSS; a spec's step has fewer
_DTA_DAY_ZERO, _SAV_DAY_ZERO = date(1960, 1, 1), date(1582, 10, 14)
_SECONDS_A_DAY = 86_400
_INT32 = 2_147_483_620  # the largest whole number in Stata's type long


def write_labelled(frame: pd.DataFrame, spec: ReleaseSpec, path: Path) -> None:
    """Write columns of the spec, in original units; the suffix of `path` tells the format.

    Equal records give equal bytes: the time that both formats keep is the start of 1970.
    """
    import pyreadstat  # slow to import, and few releases need it

    columns = {name: spec.published[name] for name in frame.columns}
    categories = {name: one for name, one in columns.items() if _codes(one)}
    is_stata = path.suffix == ".dta"
    shared: dict[str, Any] = {
        "file_label": shortened(spec.title, _MOST_TITLE),
        "column_labels": {name: _column_label(name, one) for name, one in columns.items()},
        "variable_value_labels": {name: _value_labels(one) for name, one in categories.items()},
    }
    if is_stata:
        pyreadstat.write_dta(
            _numbers(frame, columns, _DTA_DAY_ZERO, seconds=False),
            path,
            version=_DTA_VERSION,
            variable_format={name: _dta_format(one) for name, one in columns.items()},
            **shared,
        )
    else:
        pyreadstat.write_sav(
            _numbers(frame, columns, _SAV_DAY_ZERO, seconds=True).astype("float64"),
            path,
            row_compress=True,
            variable_format={name: _sav_format(one) for name, one in columns.items()},
            variable_measure={name: _measure(one) for name, one in columns.items()},
            **shared,
        )
    _without_time(path, is_stata=is_stata)


def shortened(text: str, most: int) -> str:
    """The text in one line of at most `most` bytes; it ends in … where something is left out."""
    line = " ".join(text.split())
    if len(line.encode()) <= most:
        return line
    cut = line.encode()[: most - len("…".encode())].decode(errors="ignore")
    return cut.rstrip() + "…"


def _codes(column: Column) -> tuple[str, ...]:
    return column.codes if isinstance(column, CategoryColumn | BooleanColumn) else ()


def _column_label(name: str, column: Column) -> str:
    unit = f" ({column.unit})" if isinstance(column, NumericColumn) and column.unit else ""
    return shortened(f"{column.description or name}{unit}", _MOST_COLUMN_LABEL)


def _value_labels(column: Column) -> dict[int, str]:
    """The label of every number, all different: pandas and R refuse a file where two are equal."""
    assert isinstance(column, CategoryColumn | BooleanColumn), "only categories have labels"
    numbers = category_numbers(column.codes)
    texts = [
        shortened(label or code, _MOST_VALUE_LABEL - _MOST_NUMBER)
        for code, label in zip(column.codes, column.labels, strict=True)
    ]
    times = Counter(texts)
    return {
        number: text if times[text] == 1 else f"{text} ({number})"
        for number, text in zip(numbers, texts, strict=True)
    }


def _numbers(
    frame: pd.DataFrame, columns: Mapping[str, Column], day_zero: date, *, seconds: bool
) -> pd.DataFrame:
    """All values as numbers, in the smallest type that holds the column's domain and its nulls."""
    table: dict[str, pd.Series] = {}
    for name, column in columns.items():
        values = frame[name]
        if isinstance(column, NumericColumn):
            small = column.integer and max(abs(column.minimum), abs(column.maximum)) <= _INT32
            table[name] = values.astype("Int32" if small else "float64")
        elif isinstance(column, DateColumn):
            since_1970 = (pd.to_datetime(values) - pd.Timestamp(EPOCH)).dt.days.astype("Int64")
            days = since_1970 + (EPOCH - day_zero).days
            table[name] = days * _SECONDS_A_DAY if seconds else days.astype("Int32")
        else:
            codes = _codes(column)
            numbers = dict(zip(codes, category_numbers(codes), strict=True))
            table[name] = values.astype("object").map(numbers).astype("Int32")
    return pd.DataFrame(table)


def _digits(column: NumericColumn) -> tuple[int, int] | None:
    """Width and decimals of the printed numbers; None where their decimals vary, or where they are
    too long to be printed so."""
    if column.decimals is None:
        return None
    whole = max(len(str(int(end))) for end in (column.minimum, column.maximum)) + 1  # and a sign
    width = whole + (column.decimals + 1 if column.decimals else 0)
    return (width, column.decimals) if width <= _MOST_DIGITS else None


def _dta_format(column: Column) -> str:
    if isinstance(column, DateColumn):
        return "%td"
    if isinstance(column, NumericColumn):
        digits = _digits(column)
        return f"%{digits[0]}.{digits[1]}f" if digits else "%12.0g"
    return "%12.0g"


def _sav_format(column: Column) -> str:
    if isinstance(column, DateColumn):
        return "DATE11"
    if isinstance(column, NumericColumn):
        digits = _digits(column)
        return f"F{digits[0]}.{digits[1]}" if digits else f"F{_MOST_DIGITS}.{_MOST_DECIMALS}"
    widest = max(len(str(number)) for number in category_numbers(_codes(column)))
    return f"F{widest}.0"


def _measure(column: Column) -> str:
    if isinstance(column, NumericColumn | DateColumn):
        return "scale"
    return "ordinal" if isinstance(column, OrdinalColumn) else "nominal"


def _without_time(path: Path, *, is_stata: bool) -> None:
    """Replace the time of writing, which says more than the record of the release does."""
    with path.open("r+b") as file:
        if is_stata:
            found = re.search(rb"<timestamp>\x11", file.read(1024))
            assert found, "the header of format 118 has a time of 17 characters"
            at, time = found.end(), b"01 Jan 1970 00:00"
        else:
            at, time = 92, b"01 Jan 7000:00:00"
        file.seek(at)
        file.write(time)
