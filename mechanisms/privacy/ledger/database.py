"""The database of a ledger: an SQLite file or a PostgreSQL database, with durable transactions.

Promise. `write` runs its work in one transaction that no other writer of the same account
         interleaves with, and returns only after the commit is on disk. If the commit may or may
         not have happened (the connection broke, another writer came first), the work runs again
         from the start; so it must detect what it wrote before, as the ledger's work does.

SQLite: writers take the write lock before they read (BEGIN IMMEDIATE). A rollback journal with
synchronous=EXTRA survives a power loss right after the commit; the write-ahead log would need
shared memory, which network drives lack. PostgreSQL: writers lock the account's row, and commits
are synchronous whatever the server's default.

Every transaction has its own connection, so a ledger survives forks and restarts of the server.
"""

import os
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from hallmark.mechanisms.privacy.ledger.errors import LedgerError, LedgerUnreachable
from hallmark.mechanisms.privacy.ledger.tables import VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")

ATTEMPTS = 6
FIRST_PAUSE = 0.1  # seconds before the second attempt; doubles with each
LOCK_SECONDS = 30  # how long one attempt waits for another writer

_MIGRATION_LOCK = 0x48414C4C  # PostgreSQL advisory lock, any fixed number
_MIGRATING = threading.Lock()  # Alembic keeps the running migration in module globals
_WRITES = "ledger_writes"
_FULL = ("disk is full", "No space left", "Disk quota exceeded")  # as the databases say it


class Database:
    """Transactions on the ledger's tables; opening it creates or migrates them.

    Args:
        url: `sqlite:///path/to/file` or `postgresql://user:password@host:port/name`.
    Raises:
        LedgerError: not such a URL, or the database cannot be opened.
    """

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self._name = parsed.render_as_string(hide_password=True)
        if parsed.get_backend_name() == "sqlite":
            self._reader, self._writer = _sqlite(parsed)
        else:
            self._reader, self._writer = _postgresql(parsed)
        self._migrate()

    def read(self, work: Callable[[Connection], T]) -> T:
        """Result of `work` on one consistent snapshot."""
        return self._run(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Result of `work`, after everything it wrote is durable; its exceptions undo all of it."""
        return self._run(self._writer, work)

    def _run(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with engine.begin() as connection:
                    return work(connection)
            except DBAPIError as error:
                again = isinstance(error, OperationalError | IntegrityError)
                if attempt == ATTEMPTS or not (again or error.connection_invalidated):
                    raise self._unreachable(error) from error
            time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
        raise AssertionError("the last attempt returns or raises")

    def _unreachable(self, error: DBAPIError) -> LedgerUnreachable:
        reason = str(error.orig).strip().partition("\n")[0]
        is_full = any(sign in reason for sign in _FULL)
        return LedgerUnreachable(
            (
                f"the disk of the ledger at {self._name} is full: {reason}. Free some space there"
                if is_full
                else f"the ledger at {self._name} does not answer: {reason}. Check that it can be "
                "reached and written, and that no process holds it for long"
            )
            + "; then run again (a release: with --resume): what was charged is in the log and "
            "will be read back, not charged again"
        )

    def _migrate(self) -> None:
        # Imported where it is used: not every process that knows of ledgers opens one.
        from alembic import command
        from alembic.util import CommandError

        scripts = f"{__package__}:migrations"
        if self.read(_revision) == _newest_revision(scripts):
            return
        config = _config(scripts)

        def upgrade(connection: Connection) -> None:
            if connection.dialect.name == "postgresql":
                key = {"key": _MIGRATION_LOCK}
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), key)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

        try:
            with _MIGRATING:
                self.write(upgrade)
        except CommandError as error:
            raise LedgerError(
                f"the ledger at {self._name} was written by another version of hallmark ({error}); "
                "use that version, or a newer one"
            ) from error


def _config(scripts: str) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", scripts)
    return config


@cache  # a program that opens ledgers again and again runs the scripts of all revisions once
def _newest_revision(scripts: str) -> str | None:
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config(scripts)).get_current_head()


def _revision(connection: Connection) -> str | None:
    from alembic.runtime.migration import MigrationContext

    options = {"version_table": VERSION_TABLE}
    return MigrationContext.configure(connection, opts=options).get_current_revision()


def _parsed(url: str) -> URL:
    advice = "give sqlite:///path/to/ledger.db, or postgresql://user@host:5432/name"
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except ArgumentError:  # not quoted: it may hold a password
        raise LedgerError(f"the ledger's URL cannot be parsed; {advice}") from None
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise LedgerError(f"a ledger cannot be kept in {backend!r}; {advice}")
    path = parsed.database or ":memory:"
    if path == ":memory:" or path.startswith("file:"):
        raise LedgerError(
            f"a ledger needs a file, not {path!r}, to remember what is spent; {advice}"
        )
    return parsed.set(drivername="sqlite+pysqlite", database=str(Path(path).absolute()))


def _sqlite(url: URL) -> tuple[Engine, Engine]:
    path = Path(str(url.database))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerError(
            f"the ledger's file {path} cannot be opened for writing ({error.strerror}); create its "
            "folder, or ask for the right to write there"
        ) from error
    engine = create_engine(
        url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": LOCK_SECONDS}
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine, engine.execution_options(**{_WRITES: True})


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions; we do
    for pragma in ("journal_mode = DELETE", "synchronous = EXTRA", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(url: URL) -> tuple[Engine, Engine]:
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
    # Each statement of a writer must see what was committed before it got the account's lock.
    writer = engine.execution_options(isolation_level="READ COMMITTED")
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    event.listen(writer, "begin", _begin_postgresql)
    return reader, writer


def _begin_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
