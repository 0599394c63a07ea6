"""Alembic migrations of the ledger; opening a ledger runs them."""
