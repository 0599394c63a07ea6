"""Excel workbooks: one part a file, the table on one sheet, its first row the header.

A workbook is an archive of texts in XML, so a few bytes can stand for gigabytes: what the archive
says of its sizes is checked before anything is unpacked, and no more is unpacked than it says. The
sheet is read row by row, entities and external links are refused, and formulas count as the values
that Excel kept beside them.
"""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, BinaryIO

import pyarrow as pa

from hallmark.tasks.sources.parts import (
    FilePart,
    Source,
    SourceError,
    column_problems,
    known_name,
    with_optional,
)
from hallmark.tasks.sources.texts import LONGEST_TEXT, Unbounded, too_long

MOST_SHEET = 2**32
"""Bytes of a sheet, unpacked, which is read as it comes."""
MOST_SHARED = 2**28
"""Bytes of the texts that cells share, unpacked, which are held in memory."""
MOST_OTHER = 2**25
"""Bytes of anything else, unpacked."""
MOST_TEXT = 2**28
"""Bytes of the texts of a batch."""
_MOST_ENTRIES = 10_000
_MOST_COLUMNS = 2**14  # which is what Excel has
_SHEETS, _SHARED = "xl/worksheets/", "xl/sharedstrings.xml"


def parts(source: Source, path: str, handle: Any) -> list[FilePart]:
    """The file as one part."""
    name = path.rpartition("/")[2]
    names = [known_name(one, source) for one in column_names(source, path, handle)]
    if problems := column_problems(source, names):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    return [FilePart(source=with_optional(source, names), path=path, format="xlsx")]


def column_names(source: Source, path: str, handle: Any) -> list[str]:
    """Names of the columns as the header has them."""
    with _sheet(source, handle, path.rpartition("/")[2]) as sheet:
        return _header(sheet)


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The rows below the header, every cell a text; those without any value are left out."""
    source, name = part.source, part.path.rpartition("/")[2]
    with _sheet(source, handle, name) as sheet:
        names = [known_name(one, source) for one in _header(sheet)]
        places = [names.index(one) for one in source.columns]
        yield from _batches(sheet, places, source)


def sheets(handle: BinaryIO) -> list[str]:
    """The names of all sheets that can hold a table, in their order.

    Raises:
        OSError: it is no sound workbook.
        Unbounded: it is too large.
    """
    with _workbook(handle) as book:
        return [sheet.title for sheet in book.worksheets]


def rows_of_all(handle: BinaryIO, most: int) -> Iterator[tuple[str, int, list[str]]]:
    """The rows of all sheets that are not empty: the sheet, the row's number, and its texts.

    Args:
        most: cells of all rows that are not empty.
    Raises:
        OSError: it is no sound workbook.
        Unbounded: it is too large.
    """
    read = 0
    with _workbook(handle) as book:
        for sheet in book.worksheets:
            sheet.reset_dimensions()
            for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
                if all(value is None for value in values):
                    continue
                read += len(values)
                if read > most:
                    raise Unbounded(f"it has more than {most:,} cells; give the dictionary alone")
                yield sheet.title, number, [_text(value) or "" for value in values]


def _header(sheet: Any) -> list[str]:
    """The texts of the first row, up to the last that is not empty."""
    row = next(sheet.iter_rows(min_row=1, max_row=1, max_col=_MOST_COLUMNS, values_only=True), ())
    names = [_text(value) or "" for value in row]
    while names and not names[-1].strip():
        names.pop()
    return names


def _batches(sheet: Any, places: Sequence[int], source: Source) -> Iterator[pa.RecordBatch]:
    columns = source.columns
    last = max(places, default=0) + 1
    rows: list[tuple[str | None, ...]] = []
    size = 0
    for values in sheet.iter_rows(min_row=2, max_col=last, values_only=True):
        if all(value is None for value in values):
            continue
        texts = [_text(value) for value in values]
        texts += [None] * (last - len(texts))
        row = tuple(texts[place] for place in places)
        for name, text in zip(columns, row, strict=True):
            if text is not None and len(text) > LONGEST_TEXT:
                raise too_long(name)
        rows.append(row)
        size += sum(len(text) for text in row if text is not None)
        if len(rows) >= source.batch_rows or size >= MOST_TEXT:
            yield _batch(rows, columns)
            rows, size = [], 0
    if rows:
        yield _batch(rows, columns)


def _batch(rows: Sequence[tuple[str | None, ...]], columns: Sequence[str]) -> pa.RecordBatch:
    arrays = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _text(value: Any) -> str | None:
    """A cell as a text, numbers and days as every format writes them."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 2.0**53 else repr(value)
        case datetime():
            return value.date().isoformat()  # columns of a spec know days, not hours
        case date():
            return value.isoformat()
    return str(value)


@contextmanager
def _sheet(source: Source, handle: BinaryIO, name: str) -> Iterator[Any]:
    """The sheet that holds the table.

    Raises:
        SourceError: the spec does not say which it is, or there is none of that name.
    """
    with _workbook(handle) as book:
        found = {sheet.title: sheet for sheet in book.worksheets}
        if source.sheet is None and len(found) != 1:
            raise SourceError(
                f"data.source: {name} has {len(found)} sheets; say data.sheet, the name of the "
                "one that holds the table"
            )
        if source.sheet is not None and source.sheet not in found:
            raise SourceError(f"data.source: {name} has no sheet {source.sheet!r}; fix data.sheet")
        sheet = found[source.sheet] if source.sheet is not None else next(iter(found.values()))
        sheet.reset_dimensions()  # what a file says of its extent need not be so
        yield sheet


@contextmanager
def _workbook(handle: BinaryIO) -> Iterator[Any]:
    """A workbook whose sheets are read as they come.

    Raises:
        OSError: it is no sound workbook, also where that shows only while rows are read. Without
            the reader's own message, which may quote a cell.
    """
    from openpyxl import load_workbook  # slow to import, and few tables need it

    try:
        _refuse_large(handle)
        book = load_workbook(handle, read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()
    except (Unbounded, SourceError, GeneratorExit):
        raise
    except Exception:  # of the reader: as many kinds as there are ways to write XML
        raise OSError("no sound workbook") from None


def _refuse_large(handle: BinaryIO) -> None:
    """Refuse an archive that says it unpacks to more than is read.

    Raises:
        Unbounded: it does.
        zipfile.BadZipFile: it is none.
    """
    handle.seek(0)
    with zipfile.ZipFile(handle) as archive:
        entries = archive.infolist()
    handle.seek(0)
    if len(entries) > _MOST_ENTRIES:
        raise Unbounded(f"it is an archive of more than {_MOST_ENTRIES:,} files; save it again")
    for entry in entries:
        name = entry.filename.lower().lstrip("/")
        most = MOST_SHEET if name.startswith(_SHEETS) and name.endswith(".xml") else MOST_OTHER
        most = MOST_SHARED if name == _SHARED else most
        if entry.file_size > most and name.endswith((".xml", ".rels")):
            raise Unbounded(
                f"its few bytes stand for more than {most:,}; save the table as CSV or Parquet"
            )
    repeated = {entry.filename for entry in entries}
    if len(repeated) < len(entries):
        raise Unbounded("it holds two files of one name; save it again")
