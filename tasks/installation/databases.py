"""Connect to the PostgreSQL databases that a spec names, with credentials from elsewhere.

A spec is published, so it contains neither user nor password. They come from the environment of the
connecting process, or from a Prefect Secret block that the spec names.
"""

import json
import os
import re
from typing import Any, Literal

import psycopg

from hallmark.tasks.installation.errors import SafeError

Purpose = Literal["SOURCE", "OUTPUT"]
_SECONDS = 15  # to connect, unless PGCONNECT_TIMEOUT is set


class DatabaseRefused(SafeError):
    """A database that cannot be reached or refuses us; the message shows no user and no value."""


def connected(
    url: str, *, where: str, purpose: Purpose, credentials: str | None
) -> psycopg.Connection:
    """A connection to `url`, without an open transaction.

    Args:
        where: key of the spec that names the database, for messages.
        purpose: selects the credentials HALLMARK_<purpose>_USER and _PASSWORD.
        credentials: the name of a Secret block to use instead.
    Raises:
        DatabaseRefused: there is no connection, or no such block.
    """
    login: dict[str, Any] = (
        _of_environment(purpose) if credentials is None else _of_block(credentials, where)
    )
    if "PGCONNECT_TIMEOUT" not in os.environ:
        login["connect_timeout"] = str(_SECONDS)
    try:
        return psycopg.connect(url, client_encoding="UTF8", application_name="hallmark", **login)
    except psycopg.Error as error:
        reason = _public_reason(str(error))
    # Raised outside the handler: libpq's message names the user.
    mend = (
        f"set HALLMARK_{purpose}_USER and HALLMARK_{purpose}_PASSWORD (or libpq's own, such as "
        "PGPASSFILE) wherever the run and its workers are"
        if credentials is None
        else f"fix the Secret block {credentials!r}"
    )
    raise DatabaseRefused(
        f"{where}: no connection to {url} ({reason}); check the address, and {mend}"
    )


def sql_reason(error: psycopg.Error) -> str:
    """Why a statement failed, without values: the condition's name and code."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()
    return f"{name}, SQLSTATE {error.sqlstate}" if error.sqlstate else "the connection was lost"


def _of_environment(purpose: Purpose) -> dict[str, str]:
    names = {"user": f"HALLMARK_{purpose}_USER", "password": f"HALLMARK_{purpose}_PASSWORD"}
    return {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}


def _of_block(name: str, where: str) -> dict[str, str]:
    from prefect.blocks.system import Secret  # seconds to import: only where it is needed

    try:
        block: Any = Secret.load(name)  # it is awaited only where a loop runs
        value = block.get()
        login = json.loads(value) if isinstance(value, str) else value
        return {"user": str(login["user"]), "password": str(login["password"])}
    except Exception as error:  # messages of Prefect or JSON may quote the secret
        kind = type(error).__name__
    raise DatabaseRefused(
        f"{where}: the Secret block {name!r} cannot be used ({kind}); save one on the Prefect "
        'server that this process uses, with the JSON value {"user": ..., "password": ...}'
    )


_WORDS = re.compile(
    r"password authentication failed|no password supplied|role \"[^\"]*\" does not exist"
    r"|database \"[^\"]*\" does not exist|Connection refused|timeout expired|no pg_hba.conf entry"
    r"|too many (?:clients|connections)|permission denied|certificate|SSL|starting up"
    r"|(?:failed to resolve|could not translate) host",
    re.IGNORECASE,
)


def _public_reason(message: str) -> str:
    """The part of a refusal that names neither a user nor anything else."""
    known = _WORDS.search(message)
    return re.sub(r' "[^"]*"', "", known.group()) if known else "it does not answer"
