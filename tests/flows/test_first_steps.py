"""What a first visitor is told: by the demonstration, and by the command that makes a key."""

import os
import subprocess
import sys
from pathlib import Path

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests.flows.house import HALLMARK


def run(*command: str | Path, home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """A command in a session without a terminal."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("HALLMARK_", "PREFECT_"))}
    return subprocess.run(
        [str(word) for word in command],
        env=ours | {"HALLMARK_HOME": str(home), "COLUMNS": "200"} | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )


def test_the_demonstration_says_which_account_it_opened(home: Path, tmp_path: Path):
    said = run(
        sys.executable, "-m", "hallmark.flows.demo", tmp_path / "table.csv", home=home
    ).stdout
    assert "Opened account rand-hie-participants with epsilon 4" in said
    assert f"{home}/ledger.db" in said
    again = run(
        sys.executable, "-m", "hallmark.flows.demo", tmp_path / "table.csv", home=home
    ).stdout
    assert "Opened" not in again


def test_the_demonstration_opens_no_account_in_the_ledger_of_a_server(home: Path, tmp_path: Path):
    ledger = f"sqlite:///{tmp_path}/agency.db"
    demo = (sys.executable, "-m", "hallmark.flows.demo", tmp_path / "table.csv")
    done = run(*demo, home=home, HALLMARK_LEDGER=ledger)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.csv").exists()
    assert "Opened no account: HALLMARK_LEDGER names a ledger" in done.stdout
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
