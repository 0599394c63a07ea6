"""A release that waits, and whose charges the ledger forgets: never published without them."""

import shutil
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.tasks.gates import gates
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from tests import example
from tests.flows.conftest import Hallmark
from tests.tasks.cut import ACCOUNT, opened

PMM = {
    "mechanism": {"name": "pmm"},
    "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": "1"},
    "constraints": [],
}


def write(folder: Path, release: str, **more: str) -> Path:
    """The spec of a release of one column, on a table of its own folder."""
    folder.mkdir(exist_ok=True)
    spec = example.spec(folder / "table.csv")
    spec |= PMM | {"release": release, "columns": {"age": spec["columns"]["age"]}} | more
    spec["data"]["ignore"] = ["person", "income", "region", "employed", "since"]
    return example.write(folder, 50, **spec)


class _Later(datetime):
    """The clock after the embargo."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=2)


@pytest.fixture
def staged(hallmark: Hallmark, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The spec of a release that was staged under an embargo, which has ended, and whose ledger
    was put back from a copy that does not know it."""
    opening = ("--epsilon", "1", "--delta", "1e-5", "--reason", "board")
    assert hallmark("ledger", "open", ACCOUNT, *opening).code == 0
    assert hallmark("backup", tmp_path / "kept.tar").code == 0
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    spec = write(tmp_path / "r1", "r1", embargo=tomorrow)
    assert hallmark("release", spec, "--out", tmp_path / "out").code == ExitCode.WAITING
    for file in home.glob("ledger.db*"):
        file.unlink()
    assert hallmark("restore", tmp_path / "kept.tar").code == 0
    monkeypatch.setattr(gates, "datetime", _Later)
    return spec


def answer(hallmark: Hallmark, tmp_path: Path) -> str:
    """What `hallmark ledger restored` says, of a folder without a release."""
    (tmp_path / "empty").mkdir(exist_ok=True)
    words = ("--releases", tmp_path / "empty", "--reason", "a flood")
    done = hallmark("ledger", "restored", ACCOUNT, *words)
    assert done.code == 0
    return done.out


def test_restoring_enters_what_a_staged_release_spent(
    staged: Path, hallmark: Hallmark, tmp_path: Path
) -> None:
    assert "Entered: r1 spent epsilon 1" in answer(hallmark, tmp_path)
    assert hallmark("ledger", "cancel", "r1", "--reason", "mine").code == ExitCode.BUDGET
    done = hallmark("release", staged, "--out", tmp_path / "out", "--resume")
    assert done.code == 0, done.err
    assert hallmark("verify", tmp_path / "out" / "r1").code == 0
    account = open_ledger(ledger_url()).account(ACCOUNT)
    assert (account.spent[0], account.reserved[0]) == (1, 0)
    assert hallmark("ledger", "cancel", "r1", "--reason", "mine").code == ExitCode.BUDGET
    second = hallmark("release", write(tmp_path / "r2", "r2"), "--out", tmp_path / "out")
    assert second.code == ExitCode.BUDGET
    words = ("--releases", tmp_path / "out", "--reason", "a flood")
    again = hallmark("ledger", "restored", ACCOUNT, *words)
    assert (again.code, "Entered" in again.out) == (0, False), "it was entered as staged"


def test_a_staged_release_that_nobody_entered_is_not_published(
    staged: Path, hallmark: Hallmark, tmp_path: Path, home: Path
) -> None:
    (home / "work" / "r1").rename(tmp_path / "elsewhere")  # so that `restored` does not see it
    assert "Entered" not in answer(hallmark, tmp_path)
    (tmp_path / "elsewhere").rename(home / "work" / "r1")
    done = hallmark("release", staged, "--out", tmp_path / "out", "--resume")
    assert done.code == ExitCode.BUDGET
    assert "'r1' is finished, but the ledger has no charge of what it drew" in done.error
    assert not (tmp_path / "out" / "r1").exists()
    assert open_ledger(ledger_url()).reservation("r1") is None
    assert "Entered: r1 spent epsilon 1" in answer(hallmark, tmp_path)
    assert hallmark("release", staged, "--out", tmp_path / "out", "--resume").code == 0


def test_a_staged_release_of_another_draw_is_not_published_for_what_was_entered(
    staged: Path, hallmark: Hallmark, tmp_path: Path, home: Path
) -> None:
    answer(hallmark, tmp_path)
    shutil.rmtree(home / "work" / "r1")
    done = hallmark("release", staged, "--out", tmp_path / "out", "--resume")
    assert done.code == ExitCode.BUDGET
    assert "nothing more may be drawn" in done.error


def test_a_published_release_keeps_its_reservation(home: Path) -> None:
    book = opened()
    book.state("test-release", "publish", {})
    with pytest.raises(LedgerError, match="it was published, so its budget is gone"):
        book.cancel("test-release", by="Ada", reason="mine")
