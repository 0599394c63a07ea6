"""Alembic's entry point: migrates over the connection that the opening ledger hands in."""

from alembic import context

from hallmark.mechanisms.privacy.ledger.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
