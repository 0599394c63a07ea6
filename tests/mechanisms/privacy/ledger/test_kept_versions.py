"""Ledgers that earlier versions wrote, opened, checked and continued by this one.

Each file in `kept` is the text of an SQLite database; `kept/keep.py` says how it was made. For
PostgreSQL, the tables of its revision are made there, and its rows put into them.
"""

import importlib
import inspect
import json
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, NullPool, create_engine, make_url, text
from sqlalchemy import inspect as inspected
from sqlalchemy.exc import DBAPIError

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost
from hallmark.mechanisms.privacy.ledger import database as ledger_database
from hallmark.mechanisms.privacy.ledger.book import STATEMENTS, AccountState, Book
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, Ledger, LedgerError
from hallmark.mechanisms.privacy.ledger.tables import VERSION_TABLE
from tests.mechanisms.privacy.ledger.kept import keep

HOMES = ("1, 0", "1/3, 0", "0, 0", "2/3, 0", 3)
PEOPLE = ("3, 1/10000", "1/2, 1/1000000", "1/4, 0", "9/4, 99/1000000")
IN_ZCDP = {
    "earlier": ("2, 1/10000", "1/2, 1/1000000", "0, 0", "1571909/1000000, 1/10000", 4),
    "in-rho": (
        "8620965290522663/4503599627370496, 1/100000", "1/2, 1/1000000", "0, 0",
        "140431/100000, 1/100000", 3,
    ),
    "series": (
        "3, 1/100000", "1/2, 1/1000000", "1/2, 1/1000000", "132317/62500, 1/100000", 5,
    ),
}  # fmt: skip
PROVED = ("3, 1/10000", "5/8, 1/500000", "1/4, 0", "227643/125000, 99/1000000", 15)
MONTHLY = (
    "8620965290522663/4503599627370496, 1/100000", "1/2, 1/1000000", "0, 0",
    "10251/15625, 1/100000", 4,
)  # fmt: skip
BALANCES = {
    "0.1.0": {"homes": HOMES, "people": (*PEOPLE, 8)},
    "0.1.1": {"homes": HOMES, "people": (*PEOPLE, 11)},
    "after-0.1.3": {"homes": HOMES, "people": (*PEOPLE, 12)},
    "0.1.4": {"homes": HOMES, "people": (*PEOPLE, 14), **IN_ZCDP},
    "0.3.0": {"homes": HOMES, "people": (*PEOPLE, 14), **IN_ZCDP},
    "after-0.3.0": {"homes": HOMES, "people": PROVED, **IN_ZCDP},
    "after-0.3.0-series": {"homes": HOMES, "people": PROVED, **IN_ZCDP, "monthly": MONTHLY},
}
"""What each version itself said when it had written the copy, by account: cap, spent, reserved and
remaining, each epsilon and delta, and the number of entries."""
NEWEST, REFUSED = "after-0.3.0-series", "before-0.1.0"
MIGRATIONS = Path(inspect.getfile(ledger_database)).with_name("migrations")
SMALL = Budget(epsilon=Fraction(1, 100))


def kept(version: str) -> sqlite3.Connection:
    """A version's copy, in memory."""
    copy = sqlite3.connect(":memory:")
    copy.executescript((keep.FOLDER / f"{version}.sql").read_text())
    return copy


def revision(copy: sqlite3.Connection) -> str:
    """The revision of its tables."""
    (found,) = copy.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return str(found)


def put(version: str, url: str) -> None:
    """Put a version's copy into an empty database, as that version left it."""
    with closing(kept(version)) as copy:
        if make_url(url).get_backend_name() == "sqlite":
            with closing(sqlite3.connect(str(make_url(url).database))) as file:
                copy.backup(file)
            return
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        copy.row_factory = sqlite3.Row
        with create_engine(url, poolclass=NullPool).begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision(copy))
            tables = MetaData()
            tables.reflect(connection)
            for table in tables.sorted_tables:
                if table.name != VERSION_TABLE:
                    rows = copy.execute(f"SELECT * FROM {table.name}").fetchall()
                    connection.execute(table.insert(), [dict(row) for row in rows])


def told(state: AccountState) -> tuple[str, str, str, str, int]:
    """A balance as `BALANCES` has it."""
    cap = state.cap.epsilon, state.cap.delta
    pairs = (cap, state.spent, state.reserved, state.remaining)
    first, second, third, fourth = (f"{epsilon}, {delta}" for epsilon, delta in pairs)
    return first, second, third, fourth, state.entries


@pytest.fixture(params=BALANCES)
def version(request: pytest.FixtureRequest, ledger_url: str) -> str:
    """A version whose copy lies in the test's database."""
    put(request.param, ledger_url)
    return str(request.param)


def test_a_kept_ledger_is_whole_and_tells_what_its_version_told_drew_and_said(
    version: str, ledger_url: str
) -> None:
    ledger = Ledger(ledger_url)
    states = ledger.accounts()
    for state in states:
        ledger.verify(state.name)
    assert {state.name: told(state) for state in states} == BALANCES[version]
    for call in ("ages", "incomes"):
        assert ledger.lookup("spring", call, f"asked {call}") == keep.outcome(call)
    assert [entry.said for entry in ledger.statements("spring")] == [
        {"says": kind} for kind in STATEMENTS if kind in kinds(version)
    ]


def test_it_goes_on_where_it_ended(version: str, ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    for before in ledger.accounts():
        release = f"later on {before.name}"
        given = {"adjacency": before.adjacency, "binding": "plan", "period": "2026-02"}
        whole = Budget(epsilon=before.cap.epsilon, delta=before.cap.delta)
        dear = Cost(pure=None, rho=Fraction(9))
        with pytest.raises(BudgetRefused):
            ledger.reserve(before.name, release, whole, cost=dear, **given)
        stated = Cost(pure=SMALL.epsilon, rho=SMALL.epsilon**2 / 2)
        ledger.reserve(before.name, release, SMALL, cost=stated, **given)
        event = keep.ExponentialMechanism(epsilon=SMALL.epsilon)
        ledger.record(release, "new", "asked", [event], b"drawn", lambda standing: None)
        ledger.verify(before.name)
        after = ledger.account(before.name)
        assert after.spent[0] == before.spent[0] + SMALL.epsilon
        assert after.entries == before.entries + 2
    again = ledger.record("spring", "ages", "asked ages", [], b"fresh", lambda standing: None)
    assert again == keep.outcome("ages")


def test_its_rows_stay_append_only(version: str, ledger_url: str) -> None:
    Ledger(ledger_url)
    engine = create_engine(ledger_url, poolclass=NullPool)
    for table in ("ledger_entries", "ledger_measurements"):
        for statement in (f"UPDATE {table} SET seq = seq + 100", f"DELETE FROM {table}"):
            with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
                connection.execute(text(statement))


def test_accounts_that_do_not_say_whose_their_unit_is_are_refused(ledger_url: str) -> None:
    """Before 0.1.0 they added up epsilons of records and of persons: what they mean is unknown."""
    put(REFUSED, ledger_url)
    ledger = Ledger(ledger_url)
    for account in ("homes", "people"):
        with pytest.raises(LedgerError, match="entry 1: a 'open' entry, 'person'"):
            ledger.verify(account)


# Later revisions


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A made-up revision after the newest one."""
    head = str(ScriptDirectory(MIGRATIONS).get_current_head())
    shutil.copytree(MIGRATIONS, tmp_path / "of_a_later_version" / "migrations")
    (tmp_path / "of_a_later_version" / "__init__.py").touch()
    (tmp_path / "of_a_later_version" / "migrations" / "versions" / "r9999_later.py").write_text(
        "import sqlalchemy as sa\n"
        "from alembic import op\n"
        f"revision, down_revision = '9999', {head!r}\n"
        "def upgrade():\n"
        "    op.add_column('ledger_accounts', sa.Column('later', sa.Text))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ledger_database, "__package__", "of_a_later_version")
    importlib.invalidate_caches()
    yield "9999"
    sys.modules.pop("of_a_later_version", None)


def test_a_later_revision_finds_all_that_was_there(
    version: str, ledger_url: str, later: str
) -> None:
    ledger = Ledger(ledger_url)
    with create_engine(ledger_url, poolclass=NullPool).connect() as connection:
        assert connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}")) == later
        columns = inspected(connection).get_columns("ledger_accounts")
    assert columns[-1]["name"] == "later"
    for state in ledger.accounts():
        ledger.verify(state.name)
    assert {state.name: told(state) for state in ledger.accounts()} == BALANCES[version]


# What must be kept


def revisions(folder: Path) -> set[str]:
    """All revisions of the ledger's tables."""
    return {one.revision for one in ScriptDirectory(folder).walk_revisions()}


def without_copy(folder: Path, versions: Iterable[str]) -> set[str]:
    """Revisions that none of these versions' copies has."""
    found = set()
    for version in versions:
        with closing(kept(version)) as copy:
            found.add(revision(copy))
    return revisions(folder) - found


def kinds(version: str) -> set[str]:
    """Kinds of entries in a version's copy."""
    with closing(kept(version)) as copy:
        return {kind for (kind,) in copy.execute("SELECT kind FROM ledger_entries")}


def test_every_copy_has_its_balances_here() -> None:
    assert {file.stem for file in keep.FOLDER.glob("*.sql")} == {*BALANCES, REFUSED}


def test_a_copy_is_kept_of_every_revision() -> None:
    missing = without_copy(MIGRATIONS, BALANCES)
    assert not missing, f"no copy of revision {missing}: kept/keep.py writes one"


def test_a_revision_without_a_copy_is_found(later: str, tmp_path: Path) -> None:
    assert without_copy(tmp_path / "of_a_later_version" / "migrations", BALANCES) == {later}


def test_the_newest_copy_has_every_kind_of_entry() -> None:
    known = set(re.findall(r'case "(\w+)":', inspect.getsource(Book.apply)))
    assert {"open", "proved"} <= known
    assert kinds(NEWEST) == known | set(STATEMENTS)


def test_what_this_version_writes_is_what_the_newest_copy_has(ledger: Ledger) -> None:
    keep.fill(ledger)
    assert {state.name: told(state) for state in ledger.accounts()} == BALANCES[NEWEST]
    with closing(kept(NEWEST)) as copy:
        rows = copy.execute("SELECT account, seq, kind, payload FROM ledger_entries").fetchall()
    written = {
        (entry.account, entry.seq): (entry.kind, set(entry.payload))
        for state in ledger.accounts()
        for entry in ledger.entries(state.name)
    }
    assert written == {
        (account, seq): (kind, set(json.loads(payload))) for account, seq, kind, payload in rows
    }
