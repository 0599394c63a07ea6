"""The workspace: for its owner alone, one run at a time."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hallmark.tasks.installation.workspace import (
    AlreadyRunning,
    Workspace,
    ledger_url,
    private_folder,
    whole,
)
from hallmark.tasks.installation.workspace import home as home_folder


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_folder_is_its_owners_whatever_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        workspace = Workspace.of("r")
        folders = [workspace.codes, workspace.staging, workspace.path, home]
    finally:
        os.umask(before)
    assert {mode(folder) for folder in folders} == {0o700}


def test_a_folder_that_was_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    assert mode(private_folder(tmp_path / "open")) == 0o700


def test_the_ledger_is_in_the_home_unless_said_otherwise(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger_url() == f"sqlite:///{home}/ledger.db"
    monkeypatch.setenv("HALLMARK_LEDGER", "postgresql://db/ledger")
    assert ledger_url() == "postgresql://db/ledger"


def test_an_empty_home_means_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALLMARK_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_folder() == tmp_path / ".hallmark"


def test_a_second_run_is_refused_while_the_first_holds_it(home: Path) -> None:
    with (
        Workspace.of("r").held(),
        pytest.raises(AlreadyRunning, match="another run of release 'r'"),
        Workspace.of("r").held(),
    ):
        pass
    with Workspace.of("r").held():
        pass  # let go


def test_a_killed_run_lets_go(home: Path) -> None:
    code = (
        "import os\nfrom hallmark.tasks.installation.workspace import Workspace\n"
        "with Workspace.of('r').held():\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -9
    with Workspace.of("r").held():
        pass


def test_coded_records_last_no_longer_than_the_run(home: Path) -> None:
    workspace = Workspace.of("r")
    with workspace.held():
        (workspace.codes / "part.npy").write_bytes(b"x")
    assert not list(workspace.path.rglob("*.npy"))


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with suppress(RuntimeError), whole(path) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert not path.exists()
    with whole(path) as draft:
        draft.write_text("all")
    assert path.read_text() == "all"
