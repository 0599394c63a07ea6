"""What a first visitor is told: by the demonstration, and by the command that makes a key."""

import subprocess
from pathlib import Path

import pytest

from hallmark.flows import demo
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests.flows.house import HALLMARK
from tests.flows.services import without_ours


def run(*command: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """A command in a session without a terminal."""
    return subprocess.run(
        [str(word) for word in command],
        env=without_ours() | {"HALLMARK_HOME": str(home), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )


def test_the_demonstration_says_which_account_it_opened(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    demo.main(tmp_path / "table.csv")
    said = capsys.readouterr().out
    assert "Opened account rand-hie-participants with epsilon 4" in said
    assert f"{home}/ledger.db" in said
    demo.main(tmp_path / "table.csv")
    assert "Opened" not in capsys.readouterr().out


def test_the_demonstration_opens_no_account_in_the_ledger_of_a_server(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    ledger = f"sqlite:///{tmp_path}/agency.db"
    monkeypatch.setenv("HALLMARK_LEDGER", ledger)
    demo.main(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").exists()
    assert "Opened no account: HALLMARK_LEDGER names a ledger" in capsys.readouterr().out
    assert Ledger(ledger).accounts() == []


def test_without_a_terminal_a_key_is_not_made_and_the_way_out_is_named(home: Path, tmp_path: Path):
    key = tmp_path / "ada.pem"
    done = run(HALLMARK, "approver-key", key, home=home)
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "there is no terminal to ask for a passphrase" in said
    assert "--plain" in said
    assert "Warning" not in done.stderr
    assert not key.exists()
    assert run(HALLMARK, "approver-key", key, "--plain", home=home).returncode == 0
