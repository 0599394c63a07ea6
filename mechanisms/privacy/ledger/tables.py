"""Tables of the ledger and of the measurement log.

`ENTRIES` is the source of truth: append-only and hash-chained. `MEASUREMENTS` is also append-only,
and each outcome refers to the entry that charged it. The other two can be derived from these:
`ACCOUNTS` has the row that writers lock, with the head of the chain, and `RELEASES` makes the name
of a release unique over all accounts. Alembic creates them (`migrations`), with the triggers that
refuse changes and deletions of append-only rows.
"""

from sqlalchemy import (
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

METADATA = MetaData()
VERSION_TABLE = "hallmark_ledger_version"  # not Alembic's default: the database may be shared

ACCOUNTS = Table(
    "ledger_accounts",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("hash", Text, nullable=False),
)

# Without row ids, SQLite has no second key through which REPLACE could overwrite a row.
ENTRIES = Table(
    "ledger_entries",
    METADATA,
    Column("account", Text, ForeignKey("ledger_accounts.name"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("release", Text),
    Column("payload", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    sqlite_with_rowid=False,
)

RELEASES = Table(
    "ledger_releases",
    METADATA,
    Column("release", Text, primary_key=True),
    Column("account", Text, ForeignKey("ledger_accounts.name"), nullable=False),
)

MEASUREMENTS = Table(
    "ledger_measurements",
    METADATA,
    Column("release", Text, primary_key=True),
    Column("call", Text, primary_key=True),
    Column("request", Text, nullable=False),
    Column("outcome", LargeBinary, nullable=False),
    Column("account", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    ForeignKeyConstraint(["account", "seq"], ["ledger_entries.account", "ledger_entries.seq"]),
    sqlite_with_rowid=False,
)
