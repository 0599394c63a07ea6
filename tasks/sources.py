"""Read a private table in bounded batches, whatever its size, from CSV, Parquet or a folder.

Every batch is a frame of text: one string a cell, `None` where the spec's null markers stand (or
where Parquet holds a null). What a text means is decided in one place, `tasks.coding`.
No message in here shows a cell, nor a column name that the spec does not know: in a file
without a header line those names would be a person's values.
"""

import csv
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from tasks.errors import SafeError

BATCH_ROWS = 250_000
_CSV_BLOCK_BYTES = 1 << 24
_EXACT_FLOATS = 2.0**53  # above, floats skip whole numbers
_BROKEN = (pa.ArrowException, csv.Error, UnicodeDecodeError, OSError, EOFError, zlib.error)

R = TypeVar("R")


class SourceError(SafeError):
    """The private table cannot be read as the spec says; the message is safe to show."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """How to read a table. Every field is public."""

    location: str  # local path or fsspec URL of a file or a folder
    format: str | None  # "csv" or "parquet"; None: by the suffix
    delimiter: str
    null_markers: tuple[str, ...]
    columns: tuple[str, ...]  # read, in this order
    ignored: tuple[str, ...] = ()  # known to be in the file, never read
    others_ignored: bool = False  # whether columns beyond these may be there, never read


@dataclass(frozen=True, kw_only=True)
class Part:
    """One independently readable piece of a source: a CSV file, or row groups of a Parquet file."""

    source: Source
    path: str
    format: str
    row_groups: tuple[int, ...] = ()


def parts(source: Source) -> list[Part]:
    """All parts of `source`, in a fixed order (by name, then by row group).

    Raises:
        SourceError: nothing is there, the format is unknown or mixed, or a header is wrong.
    """
    filesystem, root = _filesystem(source)
    if not filesystem.exists(root):
        raise SourceError(f"data.source: nothing is at {source.location}; mend the path or URL")
    paths = [root]
    if filesystem.isdir(root):
        paths = sorted(p for p in filesystem.find(root) if _suffix(p) in _FORMATS)
        if not paths:
            raise SourceError(f"data.source: no .csv or .parquet file in folder {source.location}")
    found: list[Part] = []
    for path in paths:
        kind = source.format or _FORMATS.get(_suffix(path))
        if kind is None:
            raise SourceError(
                f"data.source: cannot tell the format of {source.location}; "
                "set data.format to csv or parquet"
            )
        split = _parquet_parts if kind == "parquet" else _csv_parts
        found += _attempt(split, source, path, kind)
    if len({part.format for part in found}) > 1:
        raise SourceError(
            "data.source: the folder mixes CSV and Parquet; set data.format, or split"
        )
    return found


def batches(part: Part) -> Iterator[pd.DataFrame]:
    """The part's rows as frames of text of at most `BATCH_ROWS` rows, columns as in the source.

    Raises:
        SourceError: the file is malformed; the message names the file, never its content.
    """
    try:
        with _opened(part.source, part.path) as handle:
            reader = _parquet_batches if part.format == "parquet" else _csv_batches
            for batch in reader(part, handle):
                table = pa.Table.from_batches([batch]).select(list(part.source.columns))
                yield _as_text(table, part.source.null_markers)
            return
    except _BROKEN as error:
        reason = _public_reason(error)
    # Raised outside the handler: the reader's own exception quotes the row that it stopped at.
    raise _unreadable(part.path, part.format, reason)


_FORMATS = {"csv": "csv", "parquet": "parquet", "pq": "parquet"}
_MEND = {
    "csv": "check the delimiter, quotes and encoding (UTF-8), and that lines have as many fields "
    "as the header",
    "parquet": "it may be truncated or damaged; copy or write it again",
}


def _filesystem(source: Source) -> tuple[Any, str]:
    try:
        filesystem, root = fsspec.core.url_to_fs(source.location)
    except (ImportError, ValueError) as error:  # a protocol that is unknown, or lacks its package
        raise SourceError(f"data.source: {source.location} cannot be opened: {error}") from error
    return filesystem, root


def _opened(source: Source, path: str) -> Any:
    # A file whose name ends in .gz, .bz2, .xz or .zst is decompressed on the way.
    return _filesystem(source)[0].open(path, "rb", compression="infer")


def _attempt(read: Callable[[Source, str], R], source: Source, path: str, form: str) -> R:
    try:
        return read(source, path)
    except _BROKEN as error:
        reason = _public_reason(error)
    # Raised outside the handler, as in `batches`.
    raise _unreadable(path, form, reason)


def _unreadable(path: str, form: str, reason: str) -> SourceError:
    return SourceError(
        f"data.source: {_name(path)} cannot be read as {form} ({reason}); {_MEND[form]}"
    )


def _suffix(path: str) -> str:
    return path.lower().removesuffix(".gz").rsplit(".", 1)[-1]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _public_reason(error: Exception) -> str:
    """Why the reader stopped, in those words of its message that cannot hold a cell."""
    known = re.search(r"Expected \d+ columns, got \d+|invalid UTF8", str(error))
    if known:
        return known.group()
    if isinstance(error, OSError) and error.errno and error.strerror:
        return error.strerror  # the system's words, such as Permission denied
    return type(error).__name__


def _csv_parts(source: Source, path: str) -> list[Part]:
    with _opened(source, path) as handle:
        if handle.read(1) == b"":
            raise SourceError(f"data.source: {_name(path)} is empty; a header line is needed")
        handle.seek(0)
        if handle.read(4) == b"PAR1":
            raise SourceError(f"data.source: {_name(path)} is a Parquet file; check data.format")
        handle.seek(0)
        # The header alone: opening a CSV reader would parse, and perhaps refuse, records too.
        header = handle.readline().decode("utf-8-sig", errors="replace")
    names = next(csv.reader([header], delimiter=source.delimiter), [])
    if len(names) == 1 < len(source.columns):
        raise SourceError(
            f"data.source: the header of {_name(path)} is a single field when split at "
            f"{source.delimiter!r}; mend data.delimiter"
        )
    _check_header(source, names, path)
    return [Part(source=source, path=path, format="csv")]


def _parquet_parts(source: Source, path: str) -> list[Part]:
    with _opened(source, path) as handle:
        magic = handle.read(4)
        if magic != b"PAR1":
            raise SourceError(
                f"data.source: {_name(path)} is not a Parquet file; check data.format"
            )
        handle.seek(0)
        file = pq.ParquetFile(handle)
        _check_header(source, file.schema_arrow.names, path)
        rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    groups: list[list[int]] = [[]]
    for index, count in enumerate(rows):
        if groups[-1] and sum(rows[i] for i in groups[-1]) + count > 4 * BATCH_ROWS:
            groups.append([])
        groups[-1].append(index)
    return [Part(source=source, path=path, format="parquet", row_groups=tuple(g)) for g in groups]


def _check_header(source: Source, names: Sequence[str], path: str) -> None:
    missing = [name for name in source.columns if name not in names]
    repeated = [name for name in source.columns if list(names).count(name) > 1]
    unknown = sum(name not in source.columns and name not in source.ignored for name in names)
    unknown = 0 if source.others_ignored else unknown
    problems = []
    if missing:
        problems.append(f"it lacks the columns {', '.join(missing)}")
    if repeated:
        problems.append(f"it has the columns {', '.join(repeated)} more than once")
    if unknown:
        problems.append(
            f"it has {unknown} columns that the spec does not name (list them under columns, or "
            "under data.ignore; their names are not shown, since without a header line they "
            "would be a record)"
        )
    if problems:
        raise SourceError(f"data.source: the header of {_name(path)}: {'; '.join(problems)}")


def _csv_batches(part: Part, handle: Any) -> Iterator[pa.RecordBatch]:
    columns = list(part.source.columns)
    return iter(
        pa.csv.open_csv(
            handle,
            read_options=pa.csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=pa.csv.ParseOptions(
                delimiter=part.source.delimiter,
                newlines_in_values=True,
                # An empty line of a file of one column is a record with an empty value.
                ignore_empty_lines=part.source.others_ignored
                or len(columns) + len(part.source.ignored) > 1,
            ),
            convert_options=pa.csv.ConvertOptions(
                include_columns=columns,
                column_types={name: pa.string() for name in columns},
                strings_can_be_null=False,
            ),
        )
    )


def _parquet_batches(part: Part, handle: Any) -> Iterator[pa.RecordBatch]:
    return iter(
        pq.ParquetFile(handle).iter_batches(
            batch_size=BATCH_ROWS,
            row_groups=list(part.row_groups),
            columns=list(part.source.columns),
        )
    )


def _as_text(table: pa.Table, null_markers: Sequence[str]) -> pd.DataFrame:
    markers = pa.array(null_markers, pa.string())
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        text = pc.utf8_trim_whitespace(_text_of(column))
        columns[name] = pc.if_else(pc.is_in(text, value_set=markers), None, text)
    return pa.table(columns).to_pandas(types_mapper={pa.string(): pd.StringDtype("pyarrow")}.get)


def _text_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    if pa.types.is_timestamp(column.type):
        # Its day as its own clock shows it: columns of a spec know days, not hours.
        column = column if column.type.tz is None else pc.local_timestamp(column)
        return pc.floor_temporal(column, unit="day").cast(pa.date32()).cast(pa.string())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)  # how pandas writes a null
        # 3.0 is written 3, so that whole numbers that became floats through nulls keep their code
        whole = pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), _EXACT_FLOATS))
        as_integer = pc.if_else(whole, column, None).cast(pa.int64(), safe=False)
        return pc.if_else(whole, as_integer.cast(pa.string()), column.cast(pa.string()))
    return column.cast(pa.string())
