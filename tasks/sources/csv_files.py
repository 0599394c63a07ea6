"""CSV: one part a file, its header checked before a record is parsed."""

import csv
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv

from tasks.sources.parts import FilePart, Source, SourceError, column_problems

_BLOCK_BYTES = 1 << 24


def parts(source: Source, path: str, handle: Any) -> list[FilePart]:
    """The file as one part."""
    name = path.rpartition("/")[2]
    if handle.read(1) == b"":
        raise SourceError(f"data.source: {name} is empty; a header line is needed")
    handle.seek(0)
    if handle.read(4) == b"PAR1":
        raise SourceError(f"data.source: {name} is a Parquet file; check data.format")
    handle.seek(0)
    # The header alone: opening a CSV reader would parse, and perhaps refuse, records too.
    header = handle.readline().decode("utf-8-sig", errors="replace")
    names = next(csv.reader([header], delimiter=source.delimiter), [])
    if len(names) == 1 < len(source.columns):
        raise SourceError(
            f"data.source: the header of {name} is a single field when split at "
            f"{source.delimiter!r}; mend data.delimiter"
        )
    if problems := column_problems(source, names):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    return [FilePart(source=source, path=path, format="csv")]


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The file's rows, every cell a string."""
    source = part.source
    return iter(
        pa.csv.open_csv(
            handle,
            read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pa.csv.ParseOptions(
                delimiter=source.delimiter,
                newlines_in_values=True,
                # An empty line of a file of one column is a record with an empty value.
                ignore_empty_lines=source.others_ignored
                or len(source.columns) + len(source.ignored) > 1,
            ),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(source.columns),
                column_types={name: pa.string() for name in source.columns},
                strings_can_be_null=False,
            ),
        )
    )
