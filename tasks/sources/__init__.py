"""Read a private table in bounded batches, whatever its size: files, folders of parts, databases.

Every batch is a frame of text: one string a cell, `None` where the spec's null markers stand (or
where Parquet or the database holds a null). What a text means is decided in one place,
`tasks.planning.coding`. No message in here shows a cell, nor a column name that the spec does not
know: in a file without a header line those names would be a person's values.

`database` is imported where a table is in one: its client takes a tenth of a second.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.columns.number_marks import PLAIN
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import DataSource, TableFile
from hallmark.tasks.sources import files
from hallmark.tasks.sources.cells import Cells, encoded, framed, plain_text
from hallmark.tasks.sources.parts import (
    DatabasePart,
    DatabaseTable,
    FilePart,
    Part,
    Recoded,
    Source,
    SourceError,
    told_of,
)
from hallmark.tasks.sources.places import overlap
from hallmark.tasks.sources.texts import Unbounded, refuse_long

__all__ = [
    "Cells",
    "DatabasePart",
    "DatabaseTable",
    "FilePart",
    "Part",
    "Source",
    "SourceError",
    "batches",
    "batches_of_cells",
    "consistent",
    "file_hash",
    "file_hashes",
    "file_paths",
    "first_rows",
    "is_there",
    "overlap",
    "parts",
    "plain_text",
    "recodes_of",
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
    optional: Collection[str] = (),
    others_ignored: bool = False,
) -> Source:
    """The private table of a spec whose relative paths start at `folder`.

    Args:
        columns: what is read, and how its cells are written.
        person: the column that names a person, which is read after them.
        optional: columns that are read where they are there, and not ignored.
    """
    database = None
    if data.in_database:
        database = DatabaseTable(
            table=data.table,
            query=data.query,
            partition_column=data.partition_column,
            credentials=data.credentials,
            expected_rows=data.expected_rows,
        )
    known = written_as(data, columns, location=data.located(folder), others=others_ignored)
    return replace(
        known,
        format=data.file_format,
        columns=known.columns if person is None else (*known.columns, person),
        optional=tuple(name for name in optional if name not in data.ignore),
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
        sheet=table.sheet,
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
        recodes=recodes_of(columns),
        others_ignored=others,
    )


def recodes_of(columns: Mapping[str, Column]) -> tuple[Recoded, ...]:
    """The columns whose codes become others, each with its rule."""
    return tuple(
        Recoded(name, column.recode, column.unlisted)
        for name, column in columns.items()
        if isinstance(column, CategoryColumn) and column.recode is not None
    )


def written_as_released(spec: ReleaseSpec, names: Sequence[str], *, location: str) -> Source:
    """A file of these columns at `location` as a release of the spec writes it: not to be recoded.

    Where a column has no null marker, its nulls are empty cells.
    """
    columns = {name: spec.file_columns[name] for name in names}
    known = written_as(spec.data, columns, location=location)
    markers = {name: column.markers(spec.data.null_markers) for name, column in columns.items()}
    return replace(known, own_markers=tuple((name, of or ("",)) for name, of in markers.items()))


def consistent(source: Source) -> AbstractContextManager[Source]:
    """`source` such that all its parts, read by whomever meanwhile, show one state of the table.

    A database is held at one snapshot by the process that calls this. Files are taken as they are:
    nobody should write to them during a release.
    """
    if source.database is None:
        return nullcontext(source)
    from hallmark.tasks.sources import database

    return database.snapshot(source)


def parts(source: Source) -> list[Part]:
    """All parts of `source`, in a fixed order (by name, then by row group or by page).

    Raises:
        SourceError: nothing is there, the format is unknown or mixed, or a column is missing.
    """
    if source.database is None:
        return [*files.parts(source)]
    from hallmark.tasks.sources import database

    return [*database.parts(source)]


def batches(part: Part) -> Iterator[pd.DataFrame]:
    """The part's rows as frames of text of at most `BATCH_ROWS` rows, columns as in the source.

    Raises:
        SourceError: it cannot be read to its end; the message names the file or the table, never
            what is in it.
    """
    return _read(part, framed)


def batches_of_cells(part: Part) -> Iterator[Mapping[str, Cells]]:
    """The part's rows column by column, each different cell of a batch once.

    Raises:
        SourceError: as `batches`.
    """
    return _read(part, encoded)


def first_rows(part: Part, rows: int) -> tuple[pd.DataFrame, Mapping[str, Cells]] | None:
    """So many of the part's first rows, both as `batches` and as `batches_of_cells` have them;
    None where it has none.

    Raises:
        SourceError: as `batches`.
    """

    def both(batch: Any, source: Source, *, written: bool = False) -> Any:
        start = batch.slice(0, rows)
        return framed(start, source, written=written), encoded(start, source, written=written)

    found: tuple[pd.DataFrame, Mapping[str, Cells]] | None = next(_read(part, both), None)
    return found


def _read(part: Part, read: Any) -> Iterator[Any]:
    """What `framed`, or what `encoded`, makes of every batch."""
    match part:
        case FilePart():
            yield from files.batches(
                part, lambda batch, written: read(batch, part.source, written=written)
            )
        case DatabasePart():
            from hallmark.tasks.sources import database

            for batch in database.batches(part):
                try:
                    refuse_long(batch)
                except Unbounded as error:
                    raise SourceError(f"data.source: {error}") from None
                yield read(batch, part.source)


def file_paths(source: Source) -> list[str]:
    """All files of a table, by name; none of a database.

    Raises:
        SourceError: there is none, or their place cannot be listed.
    """
    return [] if source.database is not None else files.paths(source)


def file_hash(source: Source, path: str) -> str:
    """SHA-256 of a file of a table, as decompressed. As internal as the table."""
    return files.hashed(source, path)


def file_hashes(source: Source) -> Mapping[str, str]:
    """SHA-256 of every file of a table, by path; none of a database. As internal as the table."""
    return {path: file_hash(source, path) for path in file_paths(source)}


def source_digest(source: Source, hashes: Mapping[str, str] | None = None) -> str:
    """A digest of the whole private table; equal tables have equal ones on one installation.

    It is keyed by a secret of the installation: a plain hash of private data, once published,
    would confirm a guess of the whole table.

    Args:
        hashes: of its files, where they are known; otherwise they are read.
    """
    if source.database is None:
        return files.digest(file_hashes(source) if hashes is None else hashes)
    from hallmark.tasks.sources import database

    with consistent(source) as fixed:
        return database.digest(fixed)


def is_there(source: Source) -> bool:
    """Whether anything is at the source's location; of a database only reading tells."""
    return source.database is not None or files.is_there(source)
