"""Parquet: parts of whole row groups, each about as many rows as a worker should read at once."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hallmark.tasks.sources.parts import (
    BATCH_ROWS,
    PART_ROWS,
    FilePart,
    Source,
    SourceError,
    column_problems,
)


def parts(source: Source, path: str, handle: Any) -> list[FilePart]:
    """The file's row groups, some together where they are small."""
    name = path.rpartition("/")[2]
    if handle.read(4) != b"PAR1":
        raise SourceError(f"data.source: {name} is not a Parquet file; check data.format")
    handle.seek(0)
    file = pq.ParquetFile(handle)
    if problems := column_problems(source, list(file.schema_arrow.names)):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    groups: list[list[int]] = [[]]
    for index, count in enumerate(rows):
        if groups[-1] and sum(rows[i] for i in groups[-1]) + count > PART_ROWS:
            groups.append([])
        groups[-1].append(index)
    return [
        FilePart(source=source, path=path, format="parquet", row_groups=tuple(g)) for g in groups
    ]


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The rows of the part's row groups, in the file's own types."""
    return iter(
        pq.ParquetFile(handle).iter_batches(
            batch_size=BATCH_ROWS,
            row_groups=list(part.row_groups),
            columns=list(part.source.columns),
        )
    )
