"""Parquet: parts of whole row groups, each about as many rows as a worker should read at once."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from hallmark.tasks.sources import parquet_bounds
from hallmark.tasks.sources.parts import (
    BATCH_ROWS,
    PART_ROWS,
    FilePart,
    Source,
    SourceError,
    column_problems,
    with_optional,
)


def parts(source: Source, path: str, handle: Any) -> list[FilePart]:
    """The file's row groups, some together where they are small."""
    name = path.rpartition("/")[2]
    names = column_names(source, path, handle)
    footer = parquet_bounds.footer(handle, (*source.columns, *source.optional))
    if problems := column_problems(source, names):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    source = with_optional(source, names)
    groups: list[list[int]] = [[]]
    rows = 0  # of the last
    for index in range(footer.num_row_groups):
        count = footer.row_group(index).num_rows
        if groups[-1] and rows + count > PART_ROWS:
            groups.append([])
            rows = 0
        groups[-1].append(index)
        rows += count
    return [
        FilePart(source=source, path=path, format="parquet", row_groups=tuple(g)) for g in groups
    ]


def column_names(source: Source, path: str, handle: Any) -> list[str]:
    """Names of the columns."""
    if handle.read(4) != b"PAR1":
        name = path.rpartition("/")[2]
        raise SourceError(f"data.source: {name} is not a Parquet file; check data.format")
    handle.seek(0)
    return list(parquet_bounds.footer(handle).schema.to_arrow_schema().names)


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The rows of the part's row groups, in the file's own types, texts in a dictionary."""
    return parquet_bounds.batches(
        handle, part.source.columns, part.row_groups, rows=min(BATCH_ROWS, part.source.batch_rows)
    )
