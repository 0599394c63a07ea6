"""Create the ledger, the measurement log, and the triggers that keep both append-only."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEYS = {"ledger_entries": ("account", "seq"), "ledger_measurements": ("release", "call")}


def upgrade() -> None:
    op.create_table(
        "ledger_accounts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger_entries",
        sa.Column("account", sa.Text, sa.ForeignKey("ledger_accounts.name"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("release", sa.Text),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("previous", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ledger_releases",
        sa.Column("release", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, sa.ForeignKey("ledger_accounts.name"), nullable=False),
    )
    op.create_table(
        "ledger_measurements",
        sa.Column("release", sa.Text, primary_key=True),
        sa.Column("call", sa.Text, primary_key=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("outcome", sa.LargeBinary, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["account", "seq"], ["ledger_entries.account", "ledger_entries.seq"]
        ),
        sqlite_with_rowid=False,
    )
    if op.get_context().dialect.name == "postgresql":
        _append_only_postgresql()
    else:
        _append_only_sqlite()


def _append_only_postgresql() -> None:
    op.execute(
        """
        CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    for table in _KEYS:
        op.execute(
            f"CREATE TRIGGER {table}_rows BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION ledger_append_only()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only()"
        )


def _append_only_sqlite() -> None:
    for table, (first, second) in _KEYS.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for verb in ("UPDATE", "DELETE"):
            op.execute(f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} {refuse}")
        # INSERT OR REPLACE deletes the old row without firing delete triggers.
        op.execute(
            f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} "
            f"WHEN EXISTS (SELECT 1 FROM {table} "
            f"WHERE {first} = NEW.{first} AND {second} = NEW.{second}) {refuse}"
        )
