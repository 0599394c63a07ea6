"""The location of a table in a PostgreSQL database. A spec never says who may open it."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from hallmark.schemas.exact import shown

_PROTOCOLS = ("postgresql", "postgres")
_URL = re.compile(r"postgres(?:ql)?://(?P<host>[^/@?#\s]*)/(?P<database>[^/@?#\s]+)")
_NAME_BYTES = 63  # PostgreSQL cuts off what is longer


def is_database(location: str) -> bool:
    """Whether a location is the URL of a database, not of a file."""
    return location.partition("://")[0] in _PROTOCOLS and "://" in location


def check_url(url: str) -> str:
    """The URL unchanged, if it is a PostgreSQL database without user and password.

    Raises:
        ValueError: it is not; the message says how to fix it.
    """
    if "@" in url or "?" in url:
        raise ValueError(
            "contains a user or options, which may be secret, but the spec is published; give only "
            "host, port and database, and credentials through the environment or a Secret block"
        )
    if not _URL.fullmatch(url):
        raise ValueError(f"must be like postgresql://host:5432/database, not {shown(url)}")
    return url


def check_name(name: str) -> str:
    """The name unchanged, if PostgreSQL accepts it in full for a table, column or schema.

    Raises:
        ValueError: it does not.
    """
    if not name or len(name.encode()) > _NAME_BYTES or "\0" in name:
        raise ValueError(
            f"{shown(name)} is not a valid name in PostgreSQL; give 1 to {_NAME_BYTES} bytes"
        )
    return name


def _check_table(name: str) -> str:
    parts = name.split(".")
    if len(parts) != 2 or '"' in name:
        raise ValueError(
            f"must be schema.table, such as public.persons, without quotes, not {shown(name)}; "
            "use a query for anything else"
        )
    for part in parts:
        check_name(part)
    return name


def _check_query(query: str) -> str:
    words = query.split(None, 1)
    if not words or words[0].upper() not in ("SELECT", "WITH"):
        raise ValueError("must be a single SELECT")
    if ";" in query:
        raise ValueError(
            "contains a semicolon; give a single SELECT without one (in a text, write chr(59))"
        )
    return query.strip()


DatabaseUrl = Annotated[str, AfterValidator(check_url)]
"""The URL of a PostgreSQL database."""

TableName = Annotated[str, AfterValidator(_check_table)]
"""A table with its schema, spelled as the database lists them."""

ColumnName = Annotated[str, AfterValidator(check_name)]
"""A column of a table in a database."""

Query = Annotated[str, AfterValidator(_check_query)]
"""A single statement that reads."""

BlockName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,100}$")]
"""The name of a Prefect Secret block."""
