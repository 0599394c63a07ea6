"""Read a private table in bounded batches, whatever its size: files, folders of parts, databases.

Every batch is a frame of text: one string a cell, `None` where the spec's null markers stand (or
where Parquet or the database holds a null). What a text means is decided in one place,
`tasks.coding`. No message in here shows a cell, nor a column name that the spec does not know: in a
file without a header line those names would be a person's values.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pandas as pd

from schemas.table_sections import DataSource
from tasks.sources import database as databases
from tasks.sources import files
from tasks.sources.cells import framed
from tasks.sources.parts import DatabasePart, DatabaseTable, FilePart, Part, Source, SourceError
from tasks.sources.places import overlap

__all__ = [
    "DatabasePart",
    "DatabaseTable",
    "FilePart",
    "Part",
    "Source",
    "SourceError",
    "batches",
    "consistent",
    "file_digests",
    "is_there",
    "overlap",
    "parts",
    "source_digest",
    "source_of",
]


def source_of(
    data: DataSource,
    folder: Path,
    columns: tuple[str, ...],
    *,
    others_ignored: bool = False,
    snapshot: str | None = None,
) -> Source:
    """The private table of a spec whose relative paths start at `folder`."""
    database = None
    if data.in_database:
        database = DatabaseTable(
            table=data.table,
            query=data.query,
            partition_column=data.partition_column,
            credentials=data.credentials,
            expected_rows=data.expected_rows,
            snapshot=snapshot,
        )
    return Source(
        location=data.located(folder),
        format=data.file_format,
        delimiter=data.delimiter,
        null_markers=tuple(data.null_markers),
        columns=columns,
        ignored=tuple(data.ignore),
        others_ignored=others_ignored,
        options=data.options,
        database=database,
    )


def consistent(source: Source) -> AbstractContextManager[Source]:
    """`source` such that all its parts, read by whomever meanwhile, show one state of the table.

    A database is held at one snapshot by the process that calls this. Files are taken as they are:
    nobody should write to them during a release.
    """
    return nullcontext(source) if source.database is None else databases.snapshot(source)


def parts(source: Source) -> list[Part]:
    """All parts of `source`, in a fixed order (by name, then by row group or by page).

    Raises:
        SourceError: nothing is there, the format is unknown or mixed, or a column is missing.
    """
    found: list[Part] = []
    found += files.parts(source) if source.database is None else databases.parts(source)
    return found


def batches(part: Part) -> Iterator[pd.DataFrame]:
    """The part's rows as frames of text of at most `BATCH_ROWS` rows, columns as in the source.

    Raises:
        SourceError: it cannot be read to its end; the message names the file or the table, never
            what is in it.
    """
    match part:
        case FilePart():
            yield from files.batches(part)
        case DatabasePart():
            for batch in databases.batches(part):
                yield framed(batch, part.source)


def source_digest(source: Source) -> str:
    """A digest of the whole private table; equal tables have equal ones on one installation.

    It is keyed by a secret of the installation: a plain hash of private data, once published,
    would confirm a guess of the whole table.
    """
    with consistent(source) as fixed:
        return (files if fixed.database is None else databases).digest(fixed)


def file_digests(source: Source) -> frozenset[str]:
    """SHA-256 of every file of a table; none of a database. As internal as the table."""
    return frozenset() if source.database is not None else files.digests(source)


def is_there(source: Source) -> bool:
    """Whether anything is at the source's location; of a database only reading tells."""
    return source.database is not None or files.is_there(source)
