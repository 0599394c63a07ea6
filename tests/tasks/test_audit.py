"""The audit of a release on the installation that made it: folder and ledger together."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from hallmark.tasks.audit import audit_release
from tests.tasks.released import Released


@pytest.fixture
def ledger(run: Released, tmp_path: Path) -> str:
    """A copy of the ledger that a test may spoil."""
    shutil.copy(run.ledger.removeprefix("sqlite:///"), tmp_path / "ledger.db")
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def tampered(ledger: str, *statements: str) -> None:
    """Change the ledger behind the back of its triggers."""
    with create_engine(ledger, poolclass=NullPool).begin() as connection:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for name in list(connection.scalars(text(triggers))):
            connection.execute(text(f"DROP TRIGGER {name}"))
        for statement in statements:
            connection.execute(text(statement))


def found(run: Released, ledger: str, folder: Path | None = None) -> tuple[bool, str]:
    audited = audit_release(folder or run.folder, None, ledger)
    return audited.ok, audited.checks[-1].detail


def test_a_release_agrees_with_the_ledger_that_it_was_charged_to(run: Released, ledger: str):
    assert found(run, ledger) == (
        True,
        "its chain is intact, and it charged the events in the record",
    )


def test_an_entry_that_was_changed_shows(run: Released, ledger: str):
    tampered(ledger, "UPDATE ledger_entries SET at = '2020' WHERE kind = 'charge'")
    ok, detail = found(run, ledger)
    assert not ok
    assert "its content was changed after it was written" in detail


def test_a_ledger_that_never_heard_of_the_release_shows(run: Released, tmp_path: Path):
    ok, detail = found(run, f"sqlite:///{tmp_path / 'other.db'}")
    assert not ok
    assert "no account" in detail


def test_a_broken_folder_is_told_before_the_ledger_is_asked(
    run: Released, ledger: str, tmp_path: Path
):
    folder = tmp_path / "copy"
    shutil.copytree(run.folder, folder)
    (folder / "data.csv").write_text("age\n1\n")
    ok, _ = found(run, "sqlite:////nowhere/ledger.db", folder)
    assert not ok
