"""Read a private table in bounded batches, whatever its size: files, folders of parts, databases.

Every batch is a frame of text: one string a cell, `None` where the spec's null markers stand (or
where Parquet or the database holds a null). What a text means is decided in one place,
`tasks.spec.coding`. No message in here shows a cell, nor a column name that the spec does not know:
in a file without a header line those names would be a person's values.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pandas as pd

from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.columns.number_marks import PLAIN
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import DataSource, TableFile
from hallmark.tasks.sources import database as databases
from hallmark.tasks.sources import files
from hallmark.tasks.sources.cells import framed, plain_text
from hallmark.tasks.sources.parts import (
    DatabasePart,
    DatabaseTable,
    FilePart,
    Part,
    Source,
    SourceError,
    told_of,
)
from hallmark.tasks.sources.places import overlap

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
    "plain_text",
    "source_digest",
    "source_of",
    "told_of",
    "written_as",
    "written_as_released",
]


def source_of(
    data: DataSource,
    folder: Path,
    columns: Mapping[str, Column],
    *,
    person: str | None = None,
    others_ignored: bool = False,
    snapshot: str | None = None,
) -> Source:
    """The private table of a spec whose relative paths start at `folder`.

    Args:
        columns: what is read, and how its cells are written.
        person: the column that names a person, which is read after them.
    """
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
    known = written_as(data, columns, location=data.located(folder), others=others_ignored)
    return replace(
        known,
        format=data.file_format,
        columns=known.columns if person is None else (*known.columns, person),
        ignored=tuple(data.ignore),
        options=data.options,
        database=database,
    )


def written_as(
    table: TableFile,
    columns: Mapping[str, Column],
    *,
    location: str,
    others: bool = True,
) -> Source:
    """The file or folder at `location`, whose cells are written as the table's are.

    Args:
        others: whether columns beyond these may be there.
    """
    return Source(
        location=location,
        delimiter=table.delimiter,
        encoding=table.characters,
        null_markers=tuple(table.null_markers),
        columns=tuple(columns),
        own_markers=tuple(
            (name, tuple(column.null_markers))
            for name, column in columns.items()
            if column.null_markers is not None
        ),
        marks=tuple(
            (name, column.marks)
            for name, column in columns.items()
            if isinstance(column, NumericColumn) and column.marks != PLAIN
        ),
        others_ignored=others,
    )


def written_as_released(spec: ReleaseSpec, names: Sequence[str], *, location: str) -> Source:
    """A file of these columns at `location` as a release of the spec writes it.

    Where a column has no null marker, its nulls are empty cells.
    """
    columns = {name: spec.columns[name] for name in names}
    known = written_as(spec.data, columns, location=location)
    markers = {name: column.markers(spec.data.null_markers) for name, column in columns.items()}
    return replace(known, own_markers=tuple((name, of or ("",)) for name, of in markers.items()))


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
