"""Opening, migrating and losing the ledger's database."""

import os
import stat
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, make_url, text

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.ledger import database as ledger_database
from hallmark.mechanisms.privacy.ledger import rows as ledger_rows
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError, Standing
from hallmark.mechanisms.privacy.ledger.tables import METADATA, VERSION_TABLE

RECORD = Adjacency(neighbours=Neighbours.ADD_REMOVE)
ONE = Budget(epsilon=Fraction(1))
EVENT = ExponentialMechanism(epsilon=Fraction(1))


def prepare(ledger: Ledger) -> Ledger:
    ledger.open_account("people", cap=ONE, adjacency=RECORD, by="steward", reason="law")
    ledger.reserve("people", "r", ONE, adjacency=RECORD, binding="plan")
    return ledger


# Opening


def test_migrations_agree_with_the_tables(ledger: Ledger, ledger_url: str):
    with create_engine(ledger_url).connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, METADATA) == []
        connection.execute(text("ALTER TABLE ledger_releases ADD COLUMN extra TEXT"))
        assert compare_metadata(context, METADATA) != []  # a difference would be seen


def test_opening_again_keeps_everything(ledger_url: str):
    before = prepare(Ledger(ledger_url)).account("people")
    assert Ledger(ledger_url).account("people") == before


def test_a_fresh_database_can_be_opened_by_many_threads_at_once(ledger_url: str):
    with ThreadPoolExecutor(8) as threads:
        ledgers = list(threads.map(Ledger, [ledger_url] * 8))
    assert [ledger.accounts() for ledger in ledgers] == [[]] * 8


def test_a_ledger_from_a_newer_version_is_refused(ledger: Ledger, ledger_url: str):
    with create_engine(ledger_url).begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(LedgerError, match="written by another version of hallmark"):
        Ledger(ledger_url)


def test_a_migration_that_fails_leaves_nothing_behind(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger_database, "FIRST_PAUSE", 0)
    engine = create_engine(ledger_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE ledger_measurements (mine TEXT)"))
    with pytest.raises(LedgerError, match="ledger_measurements"):
        Ledger(ledger_url)
    assert inspect(engine).get_table_names() == ["ledger_measurements"]


def test_the_file_of_a_ledger_is_its_owner_s_alone(sqlite_url: str, tmp_path: Path):
    before = os.umask(0)
    try:
        prepare(Ledger(sqlite_url))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600


def test_a_relative_path_is_that_of_the_time_of_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    ledger = prepare(Ledger("sqlite:///ledger.db"))
    monkeypatch.chdir("/")
    assert ledger.account("people").entries == 2


def test_a_postgresql_url_may_leave_the_driver_out(postgres_url: str):
    plain = make_url(postgres_url).set(drivername="postgresql")
    assert Ledger(plain.render_as_string(hide_password=False)).accounts() == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ledger.db", "cannot be parsed"),
        ("mysql://host/name", "cannot be kept in 'mysql'"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:///file:ledger.db?uri=true", "needs a file"),
        ("sqlite:////no/such/folder/ledger.db", "create its folder"),
    ],
)
def test_a_url_that_is_no_ledger_is_refused(url: str, why: str):
    with pytest.raises(LedgerError, match=why):
        Ledger(url)


def test_a_server_that_does_not_answer_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(ledger_database, "FIRST_PAUSE", 0)
    with pytest.raises(LedgerError, match=r"postgres:\*\*\*@127.0.0.1:1/none does not answer") as e:
        Ledger("postgresql://postgres:secret@127.0.0.1:1/none")
    assert "secret" not in str(e.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_database, "FIRST_PAUSE", 0)
    (tmp_path / "notes.txt").write_text("these are notes, and not a database at all\n" * 99)
    with pytest.raises(LedgerError, match="file is not a database"):
        Ledger(f"sqlite:///{tmp_path / 'notes.txt'}")


# Durability


def settings(ledger: Ledger, names: Sequence[str]) -> list[Any]:
    show = "PRAGMA {}" if ledger._database._writer.dialect.name == "sqlite" else "SHOW {}"
    return ledger._database.write(
        lambda connection: [connection.scalar(text(show.format(name))) for name in names]
    )


def test_an_sqlite_commit_survives_a_loss_of_power(sqlite_url: str):
    names = ("journal_mode", "synchronous", "foreign_keys")
    assert settings(Ledger(sqlite_url), names) == ["delete", 3, 1]  # 3 is EXTRA


def test_a_postgresql_commit_is_synchronous_whatever_the_default(postgres_url: str):
    ledger = Ledger(postgres_url)
    name = make_url(postgres_url).database
    with create_engine(postgres_url).begin() as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
        connection.execute(
            text(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
        )
    names = ("synchronous_commit", "transaction_isolation", "lock_timeout")
    assert settings(ledger, names) == ["on", "read committed", "30s"]


def test_a_writer_waits_for_the_one_before_it_and_then_says_so(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger_database, "LOCK_SECONDS", 1)
    monkeypatch.setattr(ledger_database, "FIRST_PAUSE", 0)
    monkeypatch.setattr(ledger_database, "ATTEMPTS", 1)
    ledger = prepare(Ledger(ledger_url))

    def busy(_events: object) -> None:
        Ledger(ledger_url).cancel("r", by="operator", reason="meanwhile")

    with pytest.raises(LedgerError, match=r"does not answer: .*(locked|lock timeout)"):
        ledger.record("r", "a", "question", [EVENT], b"noisy", busy)
    assert ledger.calls("r") == []


# Another writer comes first


def first_meanwhile(
    monkeypatch: pytest.MonkeyPatch, name: str, meanwhile: Callable[[], object]
) -> None:
    """Let another process do something right after a writer first called `name`."""
    read = getattr(ledger_rows, name)
    seen: list[object] = []

    def and_then(*arguments: Any) -> Any:
        answer = read(*arguments)
        seen.append(answer)
        if len(seen) == 1:
            meanwhile()
        return answer

    monkeypatch.setattr(ledger_rows, name, and_then)


def test_two_processes_that_open_an_account_at_once_both_have_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    ledger, other = Ledger(postgres_url), Ledger(postgres_url)
    first_meanwhile(monkeypatch, "account_names", lambda: prepare(other))
    ledger.open_account("people", cap=ONE, adjacency=RECORD, by="steward", reason="law")
    assert ledger.account("people").entries == 2
    ledger.verify("people")


def test_a_release_name_is_given_once_even_where_two_accounts_ask_at_once(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    ledger, other = Ledger(postgres_url), Ledger(postgres_url)
    for name in ("people", "others"):
        ledger.open_account(name, cap=ONE, adjacency=RECORD, by="steward", reason="law")
    first_meanwhile(monkeypatch, "account_of", lambda: prepare(other))
    with pytest.raises(LedgerError, match="'r' belongs to account 'people', not 'others'"):
        ledger.reserve("others", "r", ONE, adjacency=RECORD, binding="plan")
    assert ledger.account("others").reserved == (0, 0)


# Losing the connection


def kill_connections(url: str) -> None:
    """Terminate every other connection to this database, as an administrator could."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_connection_lost_in_the_middle_of_a_record_charges_once(postgres_url: str):
    ledger = prepare(Ledger(postgres_url))
    checks = []

    def lose_the_first(standing: Standing) -> None:
        checks.append(standing.events)
        if len(checks) == 1:
            kill_connections(postgres_url)

    assert ledger.record("r", "a", "question", [EVENT], b"noisy", lose_the_first) == b"noisy"
    assert checks == [(EVENT,), (EVENT,)]
    assert ledger.events("r") == (EVENT,)
    ledger.verify("people")


def test_a_connection_lost_every_time_writes_nothing_and_can_be_retried(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger_database, "FIRST_PAUSE", 0)
    ledger = prepare(Ledger(postgres_url))
    before = ledger.account("people")
    with pytest.raises(LedgerError, match="does not answer: terminating connection"):
        ledger.record("r", "a", "q", [EVENT], b"lost", lambda _: kill_connections(postgres_url))
    assert (ledger.account("people"), ledger.lookup("r", "a", "q")) == (before, None)
    assert ledger.record("r", "a", "q", [EVENT], b"noisy", lambda _: None) == b"noisy"
    assert ledger.events("r") == (EVENT,)
    ledger.verify("people")


@pytest.mark.parametrize("answer", ["before", "after"])
def test_a_commit_whose_answer_is_lost_charges_once(postgres_url: str, answer: str):
    """The commit did not happen, or it did and nobody heard: the writer cannot know which."""
    ledger = prepare(Ledger(postgres_url))
    dialect = ledger._database._writer.dialect
    commit: Callable[[Any], None] = dialect.do_commit
    lost: list[str] = []

    def lossy(connection: Any) -> None:
        if lost or answer == "after":
            commit(connection)
        if not lost:
            lost.append(answer)
            kill_connections(postgres_url)
            raise psycopg.OperationalError("the connection is lost")

    dialect.do_commit = lossy  # type: ignore[method-assign]  # the one line between the two
    assert ledger.record("r", "a", "q", [EVENT], b"noisy", lambda _: None) == b"noisy"
    assert lost == [answer]
    assert ledger.events("r") == (EVENT,)
    ledger.verify("people")


def test_a_restarted_server_is_connected_to_again(postgres_url: str):
    ledger = prepare(Ledger(postgres_url))
    kill_connections(postgres_url)
    assert ledger.account("people").entries == 2


def test_errors_do_not_quote_outcomes(ledger_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_database, "FIRST_PAUSE", 0)
    ledger = prepare(Ledger(ledger_url))
    with create_engine(ledger_url).begin() as connection:
        connection.execute(text("ALTER TABLE ledger_measurements RENAME COLUMN outcome TO x"))
    with pytest.raises(LedgerError, match=r"does not answer: .*outcome") as e:
        ledger.record("r", "a", "q", [EVENT], b"NOISY", lambda _: None)
    error: BaseException | None = e.value
    while error is not None:
        assert "NOISY" not in str(error)
        error = error.__cause__ or error.__context__
