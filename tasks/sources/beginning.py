"""The beginning of a file: its columns, first rows, and how it is written, guessed if unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hallmark.schemas.encoding import UTF_8
from hallmark.schemas.table_sections import format_by_name
from hallmark.tasks.sources import files, first_rows, parts, workbooks
from hallmark.tasks.sources.form import (
    guessed_delimiter,
    guessed_encoding,
    guessed_values,
    rows_of,
)
from hallmark.tasks.sources.parts import Source, SourceError

ROWS = 20
"""Rows that are shown."""
MOST_COLUMNS = 2_000
"""Columns that are shown."""
_LONGEST = 100  # characters of a cell that are shown
_START = 2**20  # bytes, unpacked, by which a form is guessed
_SAMPLE = 2_000  # rows, likewise


@dataclass(frozen=True)
class Look:
    """What the beginning of a file shows. Private, but for the names of its columns.

    Attributes:
        form: keys of the section `data` that say how it is written, guessed where none were given.
        sheets: of a workbook.
        ambiguous: whether days could be read in another order, too.
        columns: their names as the file has them.
        rows: the first ones, missing values as None; empty where they cannot be read.
        refusal: why they cannot be read, in words that quote no cell; empty where they can.
    """

    form: Mapping[str, Any]
    sheets: Sequence[str] = ()
    ambiguous: bool = False
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str | None]] = ()
    refusal: str = ""


def beginning(path: str, form: Mapping[str, Any] | None) -> Look:
    """What the beginning of a file shows.

    Args:
        form: keys of the section `data` that say how it is written; guessed where there are none.
    """
    found = Look(form or {})
    try:
        sheets = _sheets(path)
        found = replace(found, sheets=sheets)
        if form is None:
            guess, ambiguous = _guess(path, sheets)
            found = replace(found, form=guess, ambiguous=ambiguous)
        source = _source(path, found.form)
        names = _columns(source)
        found = replace(found, columns=names[:MOST_COLUMNS])
        return replace(found, rows=_rows(source, found.columns, ROWS))
    except SourceError as error:
        return replace(found, refusal=str(error))


def _columns(source: Source) -> list[str]:
    """The names of the columns.

    Raises:
        SourceError: they cannot be read, or there is none.
    """
    names = [name.strip() for name in files.column_names(source)]
    if not any(names):
        raise SourceError(
            "data.source: the file has no header; write column names on its first row"
        )
    return names


def _rows(source: Source, names: Sequence[str], most: int) -> list[list[str | None]]:
    read = replace(source, columns=tuple(names))
    for part in parts(read):
        if (found := first_rows(part, most)) is not None:
            frame = found[0].astype(object)
            texts = frame.where(frame.notna(), None).to_numpy().tolist()
            return [[text if text is None else text[:_LONGEST] for text in row] for row in texts]
        break
    return []


def _source(path: str, form: Mapping[str, Any]) -> Source:
    return Source(
        location=path,
        format=format_by_name(path),
        sheet=form.get("sheet"),
        delimiter=form.get("delimiter", ","),
        encoding=form.get("encoding", UTF_8),
        null_markers=tuple(form.get("null_markers", ("",))),
        columns=(),
        others_ignored=True,
        batch_rows=_SAMPLE,
    )


def _sheets(path: str) -> list[str]:
    if format_by_name(path) != "xlsx":
        return []
    return files.attempt(workbooks.sheets, _source(path, {}), path, "xlsx")


def _guess(path: str, sheets: Sequence[str]) -> tuple[dict[str, Any], bool]:
    """The keys that say how a file is written, and whether days are ambiguous.

    Raises:
        SourceError: nothing can be read.
    """
    if format_by_name(path) == "csv":
        start = files.attempt(lambda handle: handle.read(_START), _source(path, {}), path, "csv")
        encoding = guessed_encoding(start)
        text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
        delimiter = guessed_delimiter(text)
        values, ambiguous = guessed_values(rows_of(text, delimiter, _SAMPLE)[1:], written=True)
        form = {} if delimiter == "," else {"delimiter": delimiter}
        form |= {} if encoding == UTF_8 else {"encoding": encoding}
        return {**form, **values}, ambiguous
    form = {"sheet": sheets[0]} if len(sheets) > 1 else {}
    source = replace(_source(path, form), null_markers=())
    rows = _rows(source, _columns(source), _SAMPLE)
    values, ambiguous = guessed_values(rows, written=False)
    return {**form, **values}, ambiguous
