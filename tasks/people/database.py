"""The file that remembers people: `people.db` in the home folder, SQLite, for its owner alone.

Writers take the write lock before they read (BEGIN IMMEDIATE), and a commit is on disk when it
returns. Secrets that come from people or go to them (passwords, links, session and access tokens)
are not in the file, only digests that do not reveal them; the seeds of one-time codes are, since
codes are computed from them. The log of actions can only grow: triggers refuse every other change.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home

_LOCK_SECONDS = 30  # how long a writer waits for another
_VERSION = 2  # of the tables

_TABLES = """
CREATE TABLE people (
  login TEXT PRIMARY KEY, name TEXT NOT NULL, roles TEXT NOT NULL,
  password TEXT, seed TEXT, last_step INTEGER NOT NULL DEFAULT 0,
  subject TEXT UNIQUE, departed TEXT
);
CREATE TABLE invitations (
  digest TEXT PRIMARY KEY, login TEXT NOT NULL UNIQUE REFERENCES people, seed TEXT NOT NULL,
  expires REAL NOT NULL, maker TEXT
);
CREATE TABLE sessions (
  digest TEXT PRIMARY KEY, login TEXT NOT NULL REFERENCES people, csrf TEXT NOT NULL,
  began REAL NOT NULL, seen REAL NOT NULL
);
CREATE TABLE tokens (
  id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, login TEXT NOT NULL REFERENCES people,
  name TEXT NOT NULL, roles TEXT NOT NULL, made TEXT NOT NULL, expires REAL NOT NULL
);
CREATE TABLE comments (
  number INTEGER PRIMARY KEY, release TEXT NOT NULL, login TEXT NOT NULL, at TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX comments_of_release ON comments (release);
CREATE TABLE actions (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, signature TEXT NOT NULL);
CREATE TRIGGER actions_stay BEFORE UPDATE ON actions
  BEGIN SELECT RAISE(ABORT, 'the log of actions can only grow'); END;
CREATE TRIGGER actions_are_kept BEFORE DELETE ON actions
  BEGIN SELECT RAISE(ABORT, 'the log of actions can only grow'); END;
"""

_CHANGES = {2: "ALTER TABLE invitations ADD COLUMN maker TEXT"}
"""What makes the tables of a version of those of the one before."""


def people_file() -> Path:
    """Where people are remembered."""
    return home() / "people.db"


@contextmanager
def writing() -> Iterator[sqlite3.Connection]:
    """One transaction that no other writer interleaves with; an exception takes it all back."""
    with reading() as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextmanager
def reading() -> Iterator[sqlite3.Connection]:
    """A connection to read from."""
    file = people_file()
    if not file.exists():
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    with closing(sqlite3.connect(file, timeout=_LOCK_SECONDS, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = EXTRA")
        _make_tables(connection)
        yield connection


def _make_tables(connection: sqlite3.Connection) -> None:
    if _version(connection) == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    found = _version(connection)  # once more: another process may have been first
    if found > _VERSION:
        raise SafeError(f"{people_file()} is of a newer version of Hallmark; install that one")
    changes = (_CHANGES[number] for number in range(found + 1, _VERSION + 1))
    for statement in changes if found else _statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _statements() -> Iterator[str]:
    """The statements of `_TABLES`: `executescript` would end the transaction."""
    statement = ""
    for line in _TABLES.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
