"""Create the two databases, each with its own role; another run resets the roles' passwords.

    python -m deploy.databases

HALLMARK_DATABASE is the URL of the PostgreSQL server, with an administrator's rights. What is
created follows from the URLs that Hallmark and Prefect will use, HALLMARK_LEDGER and
PREFECT_API_DATABASE_CONNECTION_URL: user, password and database of each.
"""

import os
import sys

import psycopg
from psycopg import sql
from sqlalchemy import URL, make_url

ADMINISTRATOR = "HALLMARK_DATABASE"
USED = ("HALLMARK_LEDGER", "PREFECT_API_DATABASE_CONNECTION_URL")


def main() -> int:
    """Create both databases and report it; returns 1 if the server refuses."""
    missing = [name for name in (ADMINISTRATOR, *USED) if not os.environ.get(name)]
    if missing:
        print(f"error: {', '.join(missing)} not set", file=sys.stderr)
        return 1
    try:
        for name in USED:
            url = make_url(os.environ[name])
            create(os.environ[ADMINISTRATOR], url)
            print(f"Database {url.database}, owned by {url.username}")
    except (psycopg.Error, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def create(administrator: str, url: URL) -> None:
    """Create the database of a URL with its user as owner, and set the user's password.

    Raises:
        ValueError: the URL lacks a part.
        psycopg.Error: the server does not answer, or refuses.
    """
    if not (url.username and url.password and url.database):
        raise ValueError("a URL must name user, password and database")
    server = make_url(administrator).set(drivername="postgresql", database="postgres")
    place = server.render_as_string(hide_password=False)
    with psycopg.connect(place, autocommit=True, connect_timeout=10) as connection:
        # Hashed here, so that the server's log never sees the password itself.
        verifier = connection.pgconn.encrypt_password(
            str(url.password).encode(), url.username.encode(), b"scram-sha-256"
        ).decode()
        role, database = sql.Identifier(url.username), sql.Identifier(url.database)
        if not _there(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", url.username):
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(verifier)))
        if not _there(connection, "SELECT 1 FROM pg_database WHERE datname = %s", url.database):
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, role))
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))


def _there(connection: psycopg.Connection, query: str, name: str) -> bool:
    return connection.execute(query, [name]).fetchone() is not None


if __name__ == "__main__":
    sys.exit(main())
