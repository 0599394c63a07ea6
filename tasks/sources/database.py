"""A table or a query of a PostgreSQL database, in stretches that workers read side by side.

All stretches show one snapshot: the process that runs the flow exports it and holds it open, and
every reader takes it over in a read-only transaction, so that rows written meanwhile are seen by
no reader or, if they were there before, by all. Values leave the server as text, through COPY.

A query is described before it is run, by the extended protocol, which admits a single statement.
Nothing is executed for that, so what the server says of it is about the text of the spec alone;
what it says of a statement that runs may quote a row, and is not shown.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from typing import Any, TypeVar

import psycopg
import pyarrow as pa
import pyarrow.csv
from psycopg import sql
from psycopg.pq import ExecStatus

from hallmark.tasks.installation.databases import connected, sql_reason
from hallmark.tasks.sources.parts import (
    BATCH_ROWS,
    PART_ROWS,
    DatabasePart,
    DatabaseTable,
    Source,
    SourceError,
    Stretch,
    column_problems,
    with_optional,
)
from hallmark.tasks.sources.secret import keyed_digest

PART_PAGES = 16_384  # of 8 KiB each: a worker reads about that much of a table as one part
_BLOCK_BYTES = 1 << 24

R = TypeVar("R")


@contextmanager
def snapshot(source: Source) -> Iterator[Source]:
    """`source` at a snapshot that lives as long as this context, and as this process.

    Raises:
        SourceError: the database does not answer.
    """
    if _table(source).snapshot is not None:
        yield source
        return
    with _session(source) as connection:
        exported = _attempt(source, partial(_export, connection))
        yield replace(source, database=replace(_table(source), snapshot=exported))


def parts(source: Source) -> list[DatabasePart]:
    """Stretches that hold every row once: of a table's pages, or of the partition column."""
    with _session(source) as connection:
        described = _described(source, connection)
        _check(source, described)
        stretches = _attempt(source, partial(_stretches, connection, _table(source)))
    source = with_optional(source, [name for name, _ in described])
    return [DatabasePart(source=source, stretch=stretch) for stretch in stretches]


def batches(part: DatabasePart) -> Iterator[pa.RecordBatch]:
    """The stretch's rows, every cell a string or null."""
    with _session(part.source) as connection:
        selected = _selected(part.source, _described(part.source, connection), part.stretch)
        try:
            with (
                connection.cursor() as cursor,
                cursor.copy(sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(selected)) as copy,
            ):
                for block in _blocks(copy):
                    yield from _parsed(block, part.source.columns).to_batches()
            return
        except (psycopg.Error, pa.ArrowException) as error:
            reason = _public_reason(error)
    # Raised outside the handler: the server's own message may quote a row.
    raise _unreadable(part.source, reason)


def digest(source: Source) -> str:
    """A keyed digest of the columns that are read; rows may lie in any order."""
    with _session(source) as connection:
        selected = _selected(source, _described(source, connection), None)
        statement = sql.SQL(
            "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM ({}) AS t"
        ).format(selected)
        rows = _attempt(source, partial(_row, connection, statement))
    return keyed_digest(sha256(repr((source.columns, rows)).encode()).digest())


def _table(source: Source) -> DatabaseTable:
    assert source.database is not None, "the source is files"
    return source.database


@contextmanager
def _session(source: Source) -> Iterator[psycopg.Connection]:
    """A connection in a read-only transaction, at the source's snapshot where it has one."""
    table = _table(source)
    connection = connected(
        source.location, where="data.source", purpose="SOURCE", credentials=table.credentials
    )
    with closing(connection):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        _attempt(source, partial(_begin, connection, table.snapshot))
        yield connection


def _begin(connection: psycopg.Connection, snapshot: str | None) -> None:
    if snapshot is not None:  # before anything else: a transaction sees what its first query sees
        connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
    connection.execute("SET LOCAL datestyle = 'ISO, YMD'")
    # The transaction that holds the snapshot idles while the workers read.
    connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")


def _export(connection: psycopg.Connection) -> str:
    return str(_row(connection, sql.SQL("SELECT pg_export_snapshot()"))[0])


def _row(connection: psycopg.Connection, statement: sql.SQL | sql.Composed) -> tuple[Any, ...]:
    row = connection.execute(statement).fetchone()
    assert row is not None, "aggregates have a row"
    return tuple(row)


# What is read


def _described(source: Source, connection: psycopg.Connection) -> list[tuple[str, int]]:
    """Every column that is there, with the number of its type.

    Raises:
        SourceError: the table is not there, or the query is none or more than one.
    """
    table = _table(source)
    text = sql.SQL("SELECT * FROM {}").format(_from(table)).as_string(connection)
    result = connection.pgconn.prepare(b"", text.encode())
    if result.status == ExecStatus.COMMAND_OK:
        result = connection.pgconn.describe_prepared(b"")
    if result.status != ExecStatus.COMMAND_OK:
        said = psycopg.errors.error_from_result(result).diag.message_primary
        key = "query" if table.table is None else "table"
        raise SourceError(f"data.{key}: the database says: {said}; fix data.{key}")
    return [((result.fname(i) or b"").decode(), result.ftype(i)) for i in range(result.nfields)]


def _selected(
    source: Source, described: Sequence[tuple[str, int]], stretch: Stretch | None
) -> sql.Composed:
    """The statement that selects the columns as text."""
    types = dict(described)
    return sql.SQL("SELECT {} FROM {} WHERE {}").format(
        sql.SQL(", ").join(_as_text(name, types[name]) for name in source.columns),
        _from(_table(source)),
        sql.SQL("true") if stretch is None else _within(stretch),
    )


_TYPES = psycopg.adapters.types
_WHOLE = frozenset(_TYPES[name].oid for name in ("int2", "int4", "int8"))
_NOT_A_NUMBER = frozenset(_TYPES[name].oid for name in ("float4", "float8", "numeric"))
_TIMESTAMP, _INSTANT = _TYPES["timestamp"].oid, _TYPES["timestamptz"].oid


def _as_text(name: str, kind: int) -> sql.Composed:
    """A column as the codecs read it; see `tasks.sources.cells` for what Parquet's types say."""
    form = "{}"
    if kind in _NOT_A_NUMBER:
        form = "nullif({}, 'NaN')"
    elif kind == _TIMESTAMP:
        form = "{}::date"
    return sql.SQL(form + "::text AS {}").format(sql.Identifier(name), sql.Identifier(name))


def _from(table: DatabaseTable) -> sql.Composable:
    if table.table is not None:
        return sql.Identifier(*table.table.split(".", 1))
    assert table.query is not None, "a spec names a table or a query"
    return sql.SQL("(\n{}\n) AS query").format(sql.SQL(table.query))


def _check(source: Source, described: Sequence[tuple[str, int]]) -> None:
    table, names = _table(source), [name for name, _ in described]
    if problems := column_problems(source, names, shown=True):
        what = "the result of data.query" if table.table is None else f"table {table.table}"
        raise SourceError(f"data.source: {what}: {problems}")
    for name, kind in described:
        if name in source.columns and kind == _INSTANT:
            raise SourceError(
                f"columns.{name}: is a timestamp with time zone, whose day depends on the reader's "
                f"clock; read it by a data.query with ({name} AT TIME ZONE 'Europe/Berlin')::date"
            )
    if table.partition_column is not None and (
        dict(described).get(table.partition_column) not in _WHOLE
    ):
        raise SourceError(
            f"data.partition_column: {table.partition_column} is no column of whole numbers there; "
            "name one, best with an index, or leave the key out"
        )


# In which stretches


def _stretches(connection: psycopg.Connection, table: DatabaseTable) -> Sequence[Stretch | None]:
    if table.partition_column is not None:
        return _stretches_of_values(connection, table, table.partition_column)
    return [None] if table.table is None else _stretches_of_pages(connection, table)


def _stretches_of_values(
    connection: psycopg.Connection, table: DatabaseTable, column: str
) -> Sequence[Stretch | None]:
    """Equal stretches between the least and the greatest value; their number is public."""
    ends = sql.SQL("SELECT min({}), max({}) FROM {}").format(
        sql.Identifier(column), sql.Identifier(column), _from(table)
    )
    low, high = _row(connection, ends)
    if low is None or high is None:
        return [None]
    wanted = min(-(-table.expected_rows // PART_ROWS), high + 1 - low)
    inner = [low + (high + 1 - low) * i // wanted for i in range(1, wanted)]
    return _between(column, inner)


def _stretches_of_pages(
    connection: psycopg.Connection, table: DatabaseTable
) -> Sequence[Stretch | None]:
    """Pages of the table, and of each of its partitions alike: the last stretch has no end."""
    kind, pages = _row(
        connection,
        sql.SQL(
            "SELECT c.relkind, greatest(pg_relation_size(c.oid), (SELECT max(pg_relation_size("
            "t.relid)) FROM pg_partition_tree(c.oid) AS t)) / current_setting('block_size')::int "
            "FROM pg_class AS c WHERE c.oid = {}::regclass"
        ).format(sql.Literal(_from(table).as_string(connection))),
    )
    if kind in ("f", b"f"):
        raise SourceError(
            f"data.table: {table.table} is a foreign table, of which no snapshot can be held; copy "
            "it into a table or a materialized view"
        )
    if kind in ("v", b"v"):  # its rows have no place
        return [None]
    return _between(None, range(PART_PAGES, pages, PART_PAGES))


def _between(key: str | None, inner: Sequence[int]) -> Sequence[Stretch | None]:
    if not inner:
        return [None]
    ends = [None, *inner, None]
    return [Stretch(key=key, low=low, high=high) for low, high in pairwise(ends)]


def _within(stretch: Stretch) -> sql.Composed:
    key: sql.Composable = sql.SQL("ctid") if stretch.key is None else sql.Identifier(stretch.key)

    def bound(value: int) -> sql.Composable:
        if stretch.key is not None:
            return sql.Literal(value)
        return sql.SQL("{}::tid").format(sql.Literal(f"({value},0)"))

    conditions = []
    if stretch.low is not None:
        conditions.append(sql.SQL("{} >= {}").format(key, bound(stretch.low)))
    if stretch.high is not None:
        conditions.append(sql.SQL("{} < {}").format(key, bound(stretch.high)))
    if stretch.low is None and stretch.key is not None:
        conditions = [sql.SQL("({} OR {} IS NULL)").format(*conditions, key)]
    return sql.SQL(" AND ").join(conditions)


# What comes back


def _blocks(copy: psycopg.Copy) -> Iterator[bytes]:
    """CSV of whole rows, in blocks; the server sends a row a message."""
    rows: list[bytes] = []
    size = 0
    for row in copy:
        rows.append(bytes(row))
        size += len(row)
        if size >= _BLOCK_BYTES or len(rows) >= BATCH_ROWS:
            yield b"".join(rows)
            rows, size = [], 0
    if rows:
        yield b"".join(rows)


def _parsed(block: bytes, columns: Sequence[str]) -> pa.Table:
    return pa.csv.read_csv(
        BytesIO(block),
        read_options=pa.csv.ReadOptions(column_names=list(columns)),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa.csv.ConvertOptions(
            column_types={name: pa.string() for name in columns},
            strings_can_be_null=True,  # a null is an empty cell, an empty text is quoted
            null_values=[""],
            quoted_strings_can_be_null=False,
        ),
    )


def _attempt(source: Source, ask: Callable[[], R]) -> R:
    try:
        return ask()
    except psycopg.Error as error:
        reason = _public_reason(error)
    # Raised outside the handler, as in `batches`.
    raise _unreadable(source, reason)


def _public_reason(error: psycopg.Error | pa.ArrowException) -> str:
    return sql_reason(error) if isinstance(error, psycopg.Error) else type(error).__name__


def _unreadable(source: Source, reason: str) -> SourceError:
    table = _table(source)
    what = "the result of data.query" if table.table is None else f"table {table.table}"
    return SourceError(
        f"data.source: {what} cannot be read ({reason}); fix it, or the rights and limits of the "
        "reading role, and run again. What the database said is in its own log alone"
    )
