"""Load a published release into a new database table: all of it in one transaction, or nothing.

The table's comment holds the digest of the release's manifest, so that a run after a crash sees
whether its own load went through, and a table of anybody else is never touched.
"""

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pandas as pd
import psycopg
from prefect import task
from psycopg import sql

from hallmark.schemas.columns.columns import BooleanColumn, Column, DateColumn, NumericColumn
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.spec_sections import OutputTable
from hallmark.tasks.installation.databases import connected, sql_reason
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.output.released import released_source
from hallmark.tasks.planning.coding import codec_of
from hallmark.tasks.sources import batches, parts


class TableRefused(SafeError):
    """The table cannot be made; nothing was spent."""


class TableNotLoaded(SafeError):
    """The release is published, but its table is not there."""


def refuse_occupied(spec: ReleaseSpec) -> None:
    """Refuse an output table that cannot be made, where the spec asks for one.

    Raises:
        TableRefused: it exists, its schema does not, or nothing may be made in it.
        DatabaseRefused: the database is not reached.
    """
    table = spec.output.table
    if table is None:
        return
    schema, _ = table.name.split(".")
    with closing(_connected(table)) as connection:
        try:
            occupied = _comment(connection, table) is not None
            there = connection.execute(
                "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = %s",
                [schema],
            ).fetchone()
        except psycopg.Error as error:
            raise TableRefused(f"output.table: {table.url}: {sql_reason(error)}") from error
    if occupied:
        raise TableRefused(
            f"output.table.name: {table.name} exists in the database, and what it holds is not "
            "this release as it will be published; name another table, or have it dropped"
        )
    if there is None:
        raise TableRefused(f"output.table.name: the database has no schema {schema}; have it made")
    if not there[0]:
        raise TableRefused(
            f"output.table.name: nothing may be made in schema {schema}; grant CREATE on it to the "
            "role that loads"
        )


def load_into_database(spec: ReleaseSpec, folder: Path) -> None:
    """Load the release that is published in `folder`, where the spec asks for a table; once.

    Raises:
        TableNotLoaded: the database refuses, or holds something else under that name.
        DatabaseRefused: the database is not reached.
    """
    if spec.output.table is not None:
        _load_into(spec.output.table, spec, folder)


@task(name="load-into-database")
def _load_into(table: OutputTable, spec: ReleaseSpec, folder: Path) -> None:
    mark = _mark(spec, folder)
    with closing(_connected(table)) as connection:
        try:
            standing = _load(connection, table, spec, folder, mark)
            connection.commit()
        except psycopg.Error as error:
            raise _not_loaded(table, folder, sql_reason(error)) from error
    if standing != mark:
        raise _not_loaded(table, folder, "it exists and holds something else")


def _load(
    connection: psycopg.Connection, table: OutputTable, spec: ReleaseSpec, folder: Path, mark: str
) -> str:
    """The comment of the table that stands there now; makes it where there is none."""
    # Another run of this release waits here until this one has loaded, and then finds the table.
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"hallmark {table.name}"]
    )
    standing = _comment(connection, table)
    if standing is not None:
        return standing
    columns = spec.published
    name = sql.Identifier(*table.name.split("."))
    connection.execute(
        sql.SQL("CREATE TABLE {} ({})").format(
            name, sql.SQL(", ").join(_definition(*item) for item in columns.items())
        )
    )
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy,
    ):
        for row in _rows(spec, folder):
            copy.write_row(row)
    connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(name, sql.Literal(mark)))
    for key, column in columns.items():
        if column.description:
            connection.execute(
                sql.SQL("COMMENT ON COLUMN {}.{} IS {}").format(
                    name, sql.Identifier(key), sql.Literal(column.description)
                )
            )
    return mark


def _connected(table: OutputTable) -> psycopg.Connection:
    return connected(
        table.url, where="output.table.url", purpose="OUTPUT", credentials=table.credentials
    )


def _mark(spec: ReleaseSpec, folder: Path) -> str:
    return f"{spec.title}. Hallmark release {spec.release}, manifest SHA-256 " + digest(
        folder / MANIFEST_FILE
    )


def _comment(connection: psycopg.Connection, table: OutputTable) -> str | None:
    """The comment of what stands under the table's name; None where nothing does."""
    row = connection.execute(
        "SELECT coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class AS c "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
        table.name.split("."),
    ).fetchone()
    return None if row is None else str(row[0])


def _definition(name: str, column: Column) -> sql.Composed:
    return sql.SQL("{} {}{}").format(
        sql.Identifier(name),
        sql.SQL(_type(column)),
        sql.SQL("" if column.nulls else " NOT NULL"),
    )


def _type(column: Column) -> str:
    match column:
        case NumericColumn(step=Fraction(), decimals=int(decimals)):
            before = max(len(str(int(abs(end)))) for end in (column.minimum, column.maximum))
            return f"numeric({before + decimals}, {decimals})"
        case NumericColumn():
            return "bigint" if column.integer else "double precision"
        case DateColumn():
            return "date"
        case BooleanColumn():
            return "boolean"
    return "text"


def _rows(spec: ReleaseSpec, folder: Path) -> Iterator[tuple[str | None, ...]]:
    """The released records, each value as the database reads it."""
    columns = spec.published
    source = released_source(spec, folder / spec.data_files[spec.output.formats[0]])
    for frame in (frame for part in parts(source) for frame in batches(part)):
        texts = [_texts(name, columns[name], frame[name]) for name in frame.columns]
        yield from zip(*texts, strict=True)


def _texts(name: str, column: Column, text: pd.Series) -> list[str | None]:
    if isinstance(column, DateColumn):
        days, _ = codec_of(name, column).read(text)
        text = days.dt.strftime("%Y-%m-%d")
    elif isinstance(column, BooleanColumn):
        text = text.map(dict(zip(column.codes, ("false", "true"), strict=True)), na_action="ignore")
    values = text.astype(object)
    return values.where(values.notna(), None).tolist()


def _not_loaded(table: OutputTable, folder: Path, reason: str) -> TableNotLoaded:
    return TableNotLoaded(
        f"output.table: the release is published in {folder}, but table {table.name} was not "
        f"loaded ({reason}); fix that and run again, which loads the table alone"
    )
