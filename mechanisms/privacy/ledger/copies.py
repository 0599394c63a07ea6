"""The rows of a whole ledger, to be kept elsewhere and put back into an empty one.

Rows are plain JSON and the same for every kind of database, so a copy of an SQLite file can be put
into PostgreSQL. They hold all outcomes that were drawn, also unpublished ones: a copy is as
confidential as the ledger.

Claim.   `copied` gives one consistent snapshot. After `put_back`, every account verifies and has
         the entries of the copy; where one does not, nothing was written.
Limits.  A copy that was cut off is whole in itself (`chain`): heads that were written down
         elsewhere tell.
Oracle.  tests/mechanisms/privacy/ledger/test_copies.py, between both databases.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any

from sqlalchemy import Connection, LargeBinary, insert, select

from hallmark.mechanisms.privacy.ledger import rows
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.mechanisms.privacy.ledger.tables import ACCOUNTS, ENTRIES, MEASUREMENTS, RELEASES

Row = Mapping[str, Any]
"""One row, with the name of its table under "table"; bytes as Base64."""

_TABLES = {table.name: table for table in (ACCOUNTS, ENTRIES, RELEASES, MEASUREMENTS)}
"""In an order in which each refers to earlier ones only."""

_AT_ONCE = 200  # rows of one statement


def copied(connection: Connection) -> Iterator[Row]:
    """All rows, in the order in which they can be put back."""
    for table in _TABLES.values():
        key = list(table.primary_key.columns)
        for row in connection.execute(select(table).order_by(*key)).mappings():
            plain = {
                name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
                for name, value in row.items()
            }
            yield {"table": table.name, **plain}


def put_back(connection: Connection, given: Iterable[Row]) -> None:
    """Write all rows of a copy.

    Raises:
        LedgerError: the ledger holds accounts already; a row is none of a ledger; or an account
            does not verify.
    """
    if held := rows.account_names(connection):
        raise LedgerError(
            f"the ledger holds accounts already ({', '.join(held)}), and a copy is put into an "
            "empty one; move this one away, or set HALLMARK_LEDGER to another"
        )
    for name, group in groupby(given, key=lambda row: row.get("table")):
        table = _TABLES.get(str(name))
        if table is None:
            raise LedgerError(f"the copy has rows of {name!r}, which is no table of a ledger")
        binary = [c.name for c in table.columns if isinstance(c.type, LargeBinary)]
        plain = ({c.name: row[c.name] for c in table.columns} for row in group)
        decoded = (row | {name: base64.b64decode(row[name]) for name in binary} for row in plain)
        while some := list(islice(decoded, _AT_ONCE)):
            connection.execute(insert(table), some)
    for account in rows.account_names(connection):
        rows.verify(connection, account)
