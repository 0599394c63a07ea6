"""A ledger with a reservation, and what its administrator can do to it behind its triggers."""

from fractions import Fraction

from sqlalchemy import NullPool, create_engine, make_url, text

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from tests import example

ACCOUNT = "test-people"


def opened() -> Ledger:
    """The default ledger with the example's account and a reservation on it, both anchored."""
    example.open_account()
    book = open_ledger(ledger_url())
    budget, record = Budget(epsilon=Fraction(1)), Adjacency(neighbours=Neighbours.REPLACE_ONE)
    book.reserve(ACCOUNT, "test-release", budget, adjacency=record, binding="plan")
    return book


def cut(url: str, entries: int, account: str = ACCOUNT) -> None:
    """Cut the account's chain off after so many entries, triggers off, outcomes and head with it.

    What is left is whole in itself, as after the account's first `entries` entries; 0 drops it.
    """
    keys = {"account": account, "entries": entries}
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    with create_engine(parsed, poolclass=NullPool).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL session_replication_role = replica"))
        else:
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for name in connection.scalars(text(triggers)).all():
                connection.execute(text(f"DROP TRIGGER {name}"))
        for table in ("ledger_measurements", "ledger_entries"):
            statement = f"DELETE FROM {table} WHERE account = :account AND seq > :entries"
            connection.execute(text(statement), keys)
        left = "SELECT release FROM ledger_entries WHERE account = :account AND kind = 'reserve'"
        releases = "DELETE FROM ledger_releases WHERE account = :account AND release NOT IN"
        connection.execute(text(f"{releases} ({left})"), keys)
        if entries:
            head = "SELECT hash FROM ledger_entries WHERE account = :account AND seq = :entries"
            connection.execute(
                text(
                    "UPDATE ledger_accounts SET seq = :entries, "
                    f"hash = ({head}) WHERE name = :account"
                ),
                keys,
            )
        else:
            connection.execute(text("DELETE FROM ledger_accounts WHERE name = :account"), keys)
