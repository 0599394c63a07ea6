"""PostgreSQL for the ledger and the orchestrator: a named server, or Hallmark's own."""

import os
import shutil
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import make_url

SERVER_VARIABLE = "HALLMARK_DATABASE"
_PREFIX = "hallmark"  # of the databases' names, unless the URL has another
_PURPOSES = ("ledger", "prefect")


class DatabaseMissing(Exception):
    """No usable PostgreSQL; the message says what to do."""


def server(home: Path) -> str:
    """URL of a PostgreSQL server: the named one, or else Hallmark's own, which is started.

    Raises:
        DatabaseMissing: there is neither.
    """
    named = os.environ.get(SERVER_VARIABLE)
    return named or _own(home)


def create_databases(url: str) -> None:
    """Create the two databases on the server, unless they exist."""
    server = make_url(url).set(database="postgres").render_as_string(hide_password=False)
    try:
        with psycopg.connect(server, autocommit=True, connect_timeout=10) as connection:
            for name in (str(make_url(of(url, purpose)).database) for purpose in _PURPOSES):
                query = "SELECT 1 FROM pg_database WHERE datname = %s"
                if connection.execute(query, [name]).fetchone() is None:
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    except psycopg.OperationalError as error:
        raise DatabaseMissing(
            f"the PostgreSQL server of {SERVER_VARIABLE} does not answer: {error}"
        ) from None


def of(url: str, purpose: str) -> str:
    """URL of the database for the ledger or for Prefect: PREFIX_ledger, PREFIX_prefect.

    The prefix is the database that `url` names, by default `hallmark`.
    """
    parsed = make_url(url)
    name = f"{parsed.database or _PREFIX}_{purpose}"
    return parsed.set(database=name).render_as_string(hide_password=False)


def stop(home: Path) -> None:
    """Stop Hallmark's own server, if one was started."""
    folder = home / "postgres"
    if folder.exists() and (programs := postgres_programs()) is not None:
        subprocess.run(
            [programs / "pg_ctl", "-D", folder, "-m", "fast", "stop"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _own(home: Path) -> str:
    """Start a server that listens only on a socket in the home folder; returns its URL."""
    programs = postgres_programs()
    if programs is None:
        raise DatabaseMissing(
            "PostgreSQL is not installed; install it (Debian: apt-get install postgresql), or name "
            f"a server: {SERVER_VARIABLE}=postgresql://user:password@host:5432"
        )
    if os.geteuid() == 0:
        raise DatabaseMissing(
            "PostgreSQL refuses to run as root; start this as another user, or name a server: "
            f"{SERVER_VARIABLE}=postgresql://user:password@host:5432"
        )
    folder = home / "postgres"
    if not folder.exists():
        _run(programs / "initdb", "-D", folder, "-U", "hallmark", "-A", "trust", "-E", "UTF8")
    running = subprocess.run(
        [programs / "pg_ctl", "-D", folder, "status"], stdout=subprocess.DEVNULL
    )
    if running.returncode:
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
        log = folder / "server.log"
        _run(programs / "pg_ctl", "-D", folder, "-l", log, "-w", "-o", options, "start")
    return f"postgresql://hallmark@/?host={folder}"


def postgres_programs() -> Path | None:
    """The folder of PostgreSQL's programs, which Debian does not put on the path."""
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return versions[-1].parent if versions else None


def _run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise DatabaseMissing(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
