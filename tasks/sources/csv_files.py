"""CSV: one part a file, its header checked before a record is parsed."""

import codecs
import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.csv

from hallmark.schemas.encoding import UTF_8
from hallmark.tasks.sources.parts import (
    MOST_COLUMNS,
    FilePart,
    Source,
    SourceError,
    column_problems,
    known_name,
    with_optional,
)

_BLOCK_BYTES = 1 << 24
_HEADER_BYTES = 1 << 22  # which hold the whole header
_DELIMITERS = (",", ";", "\t", "|")


def parts(source: Source, path: str, handle: Any) -> list[FilePart]:
    """The file as one part."""
    name = path.rpartition("/")[2]
    names = column_names(source, path, handle)
    if len(names) == 1 < len(source.columns):
        raise SourceError(
            f"data.source: the header of {name} is a single field when split at "
            f"{source.delimiter!r}; {_other_delimiter(source, handle, name)}"
        )
    known = [known_name(n, source) for n in names]
    if problems := column_problems(source, known):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    return [FilePart(source=with_optional(source, known), path=path, format="csv")]


def column_names(source: Source, path: str, handle: Any) -> list[str]:
    """Names of the columns as the header has them."""
    name = path.rpartition("/")[2]
    if fault := _other_format(handle.read(4), source.encoding):
        raise SourceError(f"data.source: {name} {fault}")
    handle.seek(0)
    names = _header(source, handle, name, source.delimiter)
    if len(names) > MOST_COLUMNS:
        raise SourceError(
            f"data.source: the header of {name} has more than {MOST_COLUMNS:,} columns; check that "
            "the column names are on a line of their own"
        )
    return names


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The file's rows, every cell a string."""
    source = part.source
    names = _header(source, handle, part.path.rpartition("/")[2], source.delimiter)
    written = {known_name(name, source): name for name in names}
    handle.seek(0)
    reader = pa.csv.open_csv(
        handle,
        read_options=pa.csv.ReadOptions(
            block_size=_BLOCK_BYTES,
            encoding="utf8" if _is_utf_8(source.encoding) else source.encoding,
        ),
        parse_options=pa.csv.ParseOptions(
            delimiter=source.delimiter,
            newlines_in_values=True,
            # An empty line of a file of one column is a record with an empty value.
            ignore_empty_lines=source.others_ignored
            or len(source.columns) + len(source.ignored) > 1,
        ),
        convert_options=pa.csv.ConvertOptions(
            include_columns=[written[name] for name in source.columns],
            column_types={written[name]: pa.string() for name in source.columns},
            strings_can_be_null=False,
        ),
    )
    return (batch.rename_columns(list(source.columns)) for batch in reader)


_FORMATS: Mapping[bytes, str] = {
    b"PAR1": "is a Parquet file; check data.format",
    b"PK\x03\x04": "is an archive, such as a workbook of Excel; let its name end in .xlsx",
    b"\x1f\x8b": "is compressed; let its name end in .gz",
}


def _other_format(start: bytes, encoding: str) -> str:
    """What the file is, by its first bytes, if it is no CSV in this encoding; else empty."""
    if not start:
        return "is empty; a header line is needed"
    for magic, fault in _FORMATS.items():
        if start.startswith(magic):
            return fault
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if wide and _is_utf_8(encoding):
        return "is written in UTF-16; say data.encoding: utf-16"
    if start.startswith(codecs.BOM_UTF8) and not _is_utf_8(encoding):
        return f"begins with the mark of UTF-8, but data.encoding is {encoding}; correct that"
    return ""


def _header(source: Source, handle: Any, name: str, delimiter: str) -> list[str]:
    """Names of the file's columns as it writes them; its records are not parsed."""
    encoding = "utf-8-sig" if _is_utf_8(source.encoding) else source.encoding
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(handle.read(_HEADER_BYTES))
    except UnicodeError:
        text = None
    if text is None:  # told outside the handler: the decoder's exception quotes the bytes
        raise other_characters(source, name)
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])


def other_characters(source: Source, name: str) -> SourceError:
    """The refusal of a file that holds bytes which mean nothing in the source's encoding."""
    return SourceError(
        f"data.source: {name} is not written in {source.encoding}; say data.encoding, such as "
        "latin-1, windows-1252 or utf-8"
    )


def _other_delimiter(source: Source, handle: Any, name: str) -> str:
    """How to fix the delimiter."""
    for delimiter in _DELIMITERS:
        handle.seek(0)
        if set(source.columns) <= {n.strip() for n in _header(source, handle, name, delimiter)}:
            return f"say data.delimiter: {delimiter!r}"
    return "fix data.delimiter"


def _is_utf_8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in (UTF_8, "utf-8-sig")
