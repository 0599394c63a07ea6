"""A ledger's rows, from one database into another: the same accounts, outcomes and digests."""

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteLaplace
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError

RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
CAP = Budget(epsilon=Fraction(1), delta=Fraction(1, 1000))
LAPLACE = DiscreteLaplace(l1=2, scale=Fraction(7, 2))
Rows = list[dict[str, Any]]


@pytest.fixture
def busy(ledger_url: str) -> Ledger:
    return filled(ledger_url)


def filled(url: str) -> Ledger:
    """Two accounts, with releases that drew, gave back and said something."""
    ledger = Ledger(url)
    for name in ("people", "plants"):
        ledger.open_account(name, cap=CAP, adjacency=RECORD, by="steward", reason="law")
        for release in ("a", "b"):
            third = Budget(epsilon=Fraction(1, 3))
            called = f"{name}-{release}"
            ledger.reserve(name, called, third, adjacency=RECORD, binding="plan")
        for call in ("x", "y"):
            outcome = bytes(range(256)) + call.encode()
            ledger.record(f"{name}-a", call, "question", [LAPLACE], outcome, lambda s: None)
        ledger.state(f"{name}-a", "decision", {"says": "yes"})
        ledger.cancel(f"{name}-b", by="steward", reason="unused")
    return ledger


def rows(ledger: Ledger) -> Rows:
    copied: Rows = json.loads(json.dumps(ledger.copied(list)))  # as a file has them
    return copied


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "sqlite":
        return Ledger(f"sqlite:///{tmp_path / 'other.db'}")
    return Ledger(request.getfixturevalue("other_postgres_url"))


@pytest.fixture
def other_postgres_url(postgres_database: Any) -> str:
    from sqlalchemy import NullPool, create_engine, text

    with create_engine(postgres_database, poolclass=NullPool).begin() as connection:
        connection.execute(text("DROP SCHEMA IF EXISTS copied CASCADE"))
        connection.execute(text("CREATE SCHEMA copied"))
    url = postgres_database.update_query_dict({"options": "-csearch_path=copied"})
    return str(url.render_as_string(hide_password=False))


def test_what_is_put_back_is_the_same_ledger(busy: Ledger, empty: Ledger) -> None:
    kept = rows(busy)
    empty.put_back(lambda: kept)
    assert empty.accounts() == busy.accounts()
    for name in ("people", "plants"):
        empty.verify(name)
        assert empty.entries(name) == busy.entries(name)
        assert empty.lookup(f"{name}-a", "x", "question") == bytes(range(256)) + b"x"
        assert empty.statements(f"{name}-a") == busy.statements(f"{name}-a")
    assert rows(empty) == kept
    empty.record("people-a", "z", "question", [LAPLACE], b"later", lambda s: None)
    empty.verify("people")


def test_a_copy_is_put_into_no_ledger_that_holds_accounts(busy: Ledger) -> None:
    kept = rows(busy)
    with pytest.raises(LedgerError, match=r"holds accounts already \(people, plants\)"):
        busy.put_back(lambda: kept)
    assert rows(busy) == kept


def changed_outcome(kept: Rows) -> None:
    next(row for row in kept if row["table"] == "ledger_measurements")["outcome"] = "bm9uZQ=="


def lost_entry(kept: Rows) -> None:
    entries = [row for row in kept if row["table"] == "ledger_entries"]
    kept.remove(entries[3])


def lost_outcome(kept: Rows) -> None:
    kept.pop()


def cheaper(kept: Rows) -> None:
    entry = next(row for row in kept if row.get("kind") == "charge")
    entry["payload"] = entry["payload"].replace("7/2", "9/2")


def other_table(kept: Rows) -> None:
    kept.append({"table": "alembic_version"})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Rows of a ledger on SQLite, which are as they are of any database."""
    return rows(filled(f"sqlite:///{tmp_path_factory.mktemp('written') / 'ledger.db'}"))


@pytest.mark.parametrize("spoil", [changed_outcome, lost_entry, lost_outcome, cheaper, other_table])
def test_a_copy_that_was_changed_is_refused_whole(
    spoil: Callable[[Rows], None], written: Rows, empty: Ledger
) -> None:
    kept = deepcopy(written)
    spoil(kept)
    with pytest.raises(LedgerError):
        empty.put_back(lambda: kept)
    assert empty.accounts() == []
    assert rows(empty) == []
