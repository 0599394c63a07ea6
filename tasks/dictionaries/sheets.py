"""Data dictionaries in sheets: a row for a column, or for each of its codes.

The first row names what stands below it, in one of several spellings (`_HEADINGS`). Codes stand in
a cell of their column's row (`1 = male; 2 = female`), or have rows of their own, whose name is that
of the column or empty. Of a workbook all sheets are read that name columns: one may list the
columns, and another their codes.

Messages give rows and never quote one: somebody may name the private table by mistake.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hallmark.schemas.given_dictionary import (
    FALSE,
    MOST_COLUMNS,
    TRUE,
    DictionaryError,
    GivenColumn,
    GivenDictionary,
    GivenType,
)
from hallmark.schemas.given_files import bytes_of, opened
from hallmark.schemas.yaml_document import LARGEST
from hallmark.tasks.sources.form import guessed_delimiter, guessed_encoding
from hallmark.tasks.sources.texts import LONGEST_TEXT, Unbounded
from hallmark.tasks.sources.workbooks import rows_of_all

_HEADINGS: Mapping[str, tuple[str, ...]] = {
    "name": ("name", "variable", "variable name", "column", "column name", "field", "field name"),
    "label": ("label", "description", "variable label", "meaning"),
    "type": ("type", "data type", "level", "level of measurement", "measurement level"),
    "minimum": ("minimum", "min", "lowest"),
    "maximum": ("maximum", "max", "highest"),
    "unit": ("unit", "units", "unit of measurement"),
    "codes": ("codes", "values", "categories", "value labels", "code list"),
    "code": ("code", "value", "category"),
    "code label": ("code label", "value label", "category label", "meaning of code"),
    "missing": ("missing", "missing values", "missing codes", "missing value codes"),
}
"""What a heading may be called, in small letters."""
_KNOWN = {spelling: heading for heading, names in _HEADINGS.items() for spelling in names}
_TYPES: Mapping[GivenType, tuple[str, ...]] = {
    "numeric": (
        *("numeric", "number", "continuous", "interval", "ratio", "scale", "float", "double"),
        *("real", "decimal", "integer", "int", "whole number", "count"),
    ),
    "nominal": ("nominal", "categorical", "category", "factor", "coded", "code"),
    "ordinal": ("ordinal", "ordered", "ordered factor"),
    "boolean": ("boolean", "bool", "logical", "binary", "yes/no"),
    "date": ("date", "day"),
}
_TYPE = {spelling: type_ for type_, names in _TYPES.items() for spelling in names}
_WHOLE = ("integer", "int", "whole number", "count")
_REAL = ("float", "double", "real", "decimal")
_MOST_CELLS = 2_000_000  # of a workbook; a dictionary of 10,000 columns has some 100,000
_BETWEEN = re.compile(r"[;|\n]")  # codes of one cell
_PAIR = re.compile(r"\s*([^=:]*?)\s*[=:]\s*(.*?)\s*", re.DOTALL)


class _Row(NamedTuple):
    """A row below the headings: what it says by heading, and where it is, in words."""

    where: str
    cells: Mapping[str, str]


@dataclass
class _Said:
    """What rows say of one column so far."""

    cells: dict[str, str]
    where: str
    codes: dict[str, str] = field(default_factory=dict)


def from_csv(path: Path) -> GivenDictionary:
    """The dictionary in a CSV file.

    Raises:
        DictionaryError: it is none; the message says where.
    """
    try:
        raw = bytes_of(path, LARGEST)
    except OSError as error:
        raise DictionaryError(f"{path}: cannot be read ({error.strerror})") from None
    text = raw.decode(guessed_encoding(raw), errors="replace").removeprefix("\ufeff")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=guessed_delimiter(text))

    def rows() -> Iterator[tuple[str, int, list[str]]]:
        try:
            for cells in reader:
                yield "", reader.line_num, cells
        except csv.Error:
            raise DictionaryError(f"{path}: is not CSV; check its quotes") from None

    return _dictionary(path, rows())


def from_workbook(path: Path) -> GivenDictionary:
    """The dictionary in the sheets of an Excel workbook.

    Raises:
        DictionaryError: it is none, or too large; the message says where.
    """
    try:
        with opened(path) as handle:
            return _dictionary(path, rows_of_all(handle, _MOST_CELLS))
    except Unbounded as error:
        raise DictionaryError(f"{path}: {error}") from None
    except OSError:
        raise DictionaryError(
            f"{path}: cannot be read as a workbook; it may be damaged, protected by a password, or "
            "an older .xls; save it again as .xlsx"
        ) from None


def _dictionary(path: Path, rows: Iterable[tuple[str, int, list[str]]]) -> GivenDictionary:
    said: dict[str, _Said] = {}
    name = ""
    for row in _below_headings(path, rows):
        name = row.cells.get("name") or name
        if not name:
            raise DictionaryError(f"{path}: {row.where} names no column; write its name there")
        _add(path, said.setdefault(name, _Said({}, row.where)), row)
        if len(said) > MOST_COLUMNS:
            break  # the dictionary says so
    if not said:
        raise DictionaryError(
            f"{path}: has no sheet whose first row names columns; write headings such as name, "
            "label, type, minimum, maximum, unit, codes, missing"
        )
    columns = {name: _column(path.name, one) for name, one in said.items()}
    return GivenDictionary(file=path.name, columns=columns)


def _below_headings(path: Path, rows: Iterable[tuple[str, int, list[str]]]) -> Iterator[_Row]:
    """The rows of sheets whose first row has a heading for names, and another that is known."""
    headings: list[str | None] = []
    sheet, is_one = None, False
    for title, number, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if any(len(cell) > LONGEST_TEXT for cell in cells):
            where = _place(title, number)
            raise DictionaryError(f"{path}: {where} has a text of more than {LONGEST_TEXT:,} bytes")
        if title != sheet:
            sheet, headings = title, [_KNOWN.get(_plain(cell)) for cell in cells]
            twice = {one for one in headings if one and headings.count(one) > 1}
            is_one = "name" in headings and len({*headings} - {None}) > 1
            if twice and is_one:
                raise DictionaryError(
                    f"{path}: {_place(title, number)} has two headings for {min(twice)}; keep one"
                )
        elif is_one:
            pairs = zip(headings, cells, strict=False)
            told = {heading: cell.strip() for heading, cell in pairs if heading and cell.strip()}
            if told:
                yield _Row(_place(title, number), told)


def _place(sheet: str, number: int) -> str:
    return f"sheet {sheet}, row {number}" if sheet else f"row {number}"


def _plain(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text.strip().casefold()))


def _add(path: Path, said: _Said, row: _Row) -> None:
    """Add what a row says of its column."""
    for heading, text in row.cells.items():
        if heading in ("name", "code", "code label"):
            continue
        if said.cells.setdefault(heading, text) != text:
            raise DictionaryError(
                f"{path}: {row.where} gives its column another {heading} than {said.where}; keep "
                "one"
            )
    codes = list(_codes_in(row.cells.get("codes", "")))
    if "code" in row.cells:
        codes.append((row.cells["code"], row.cells.get("code label", row.cells["code"])))
    for code, label in codes:
        if said.codes.setdefault(code, label) != label:
            raise DictionaryError(
                f"{path}: {row.where} gives a code another label than before; keep one"
            )


def _codes_in(cell: str) -> Iterator[tuple[str, str]]:
    """Codes with labels of one cell: `1 = male; 2 = female`, in lines, or with commas."""
    parts = _BETWEEN.split(cell)
    if len(parts) == 1 and all(map(_PAIR.fullmatch, cell.split(","))):
        parts = cell.split(",")
    for part in filter(None, (one.strip() for one in parts)):
        pair = _PAIR.fullmatch(part)
        code, label = (pair[1], pair[2]) if pair and pair[1] else (part, part)
        yield code, label or code


def _column(file: str, said: _Said) -> GivenColumn:
    told = said.cells
    missing = [code for code, _ in _codes_in(told.get("missing", ""))]
    codes = {code: label for code, label in said.codes.items() if code not in missing}
    written = _plain(told.get("type", ""))
    found = GivenColumn(
        description=told.get("label", ""),
        type=_type_of(written, codes, is_interval=bool({"minimum", "maximum"} & set(told))),
        integer=True if written in _WHOLE else False if written in _REAL else None,
        minimum=told.get("minimum", ""),
        maximum=told.get("maximum", ""),
        unit=told.get("unit", ""),
        codes=codes,
        missing=tuple(missing),
        nullable=True if missing else None,
        where=f"data dictionary {file}, {said.where}",
    )
    return replace(found, integer=None) if found.type != "numeric" else found


def _type_of(written: str, codes: Mapping[str, str], *, is_interval: bool) -> GivenType:
    """The type as it is written, or else as what is told suggests."""
    found = _TYPE.get(written, "")
    labels = [label.casefold() for label in codes.values()]
    if found == "boolean":
        is_told = {*labels} <= {*TRUE, *FALSE} and {*labels} & {*TRUE} and {*labels} & {*FALSE}
        return "boolean" if is_told else "nominal"
    if not found and is_interval:
        return "numeric"
    return found or ("nominal" if codes else "")
