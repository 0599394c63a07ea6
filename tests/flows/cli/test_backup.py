"""A backup that is older than two releases: nothing is overspent, and both are counted."""

import json
from pathlib import Path

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from tests import example
from tests.flows.conftest import Hallmark
from tests.tasks.cut import ACCOUNT


@pytest.mark.slow
def test_a_backup_that_two_releases_are_missing_in(
    hallmark: Hallmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, out = tmp_path / "kept.tar", tmp_path / "out"
    opening = ("--epsilon", "2.5", "--delta", "1e-4", "--reason", "board")
    assert hallmark("ledger", "open", ACCOUNT, *opening).code == 0

    def release(name: str) -> int:
        (tmp_path / name).mkdir(exist_ok=True)
        spec = example.write(tmp_path / name, 300, release=name, mechanism={"name": "mst"})
        return hallmark("release", spec, "--out", out).code

    assert release("before") == 0
    done = hallmark("backup", kept)
    assert done.code == 0
    assert f"Wrote {kept}: 1 accounts with" in done.out
    assert hallmark("backup", kept).code == ExitCode.USAGE
    assert [release(name) for name in ("one", "two")] == [0, 0]
    whole = open_ledger(ledger_url()).account(ACCOUNT)
    assert whole.spent[0] == 3  # together within the cap, by zCDP

    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "new"))  # the machine was lost, and anchors
    done = hallmark("restore", kept)
    assert done.code == 0
    assert f"hallmark ledger restored {ACCOUNT} --releases FOLDER --reason WHY" in done.out
    assert open_ledger(ledger_url()).account(ACCOUNT).spent[0] == 1
    early = hallmark(
        "release", tmp_path / "one" / "spec.yaml", "--out", tmp_path / "other", "--resume"
    )
    assert early.code == ExitCode.BUDGET  # it would have been drawn anew
    assert "was put back from a backup of" in early.error
    assert "release nothing on this account until you have" in hallmark("doctor").out
    for shown in (hallmark("ledger", "list"), hallmark("ledger", "show", ACCOUNT)):
        assert "Warning: nothing can be charged on" in shown.out
        assert "was put back from a backup of" in shown.out
    (listed,) = json.loads(hallmark("ledger", "list", "--json").out)
    assert "was put back from a backup of" in listed["refused"]
    answer = ("ledger", "restored", ACCOUNT, "--reason", "a flood in May")
    for wrong in ((), ("--releases", tmp_path / "mistyped"), ("--releases", out / "one")):
        assert hallmark(*answer, *wrong).code == ExitCode.USAGE
    told = (*answer, "--releases", out)
    done = hallmark(*told)
    assert done.code == 0
    assert [f"Entered: {name} spent" in done.out for name in ("one", "two", "before")] == [
        True, True, False,
    ]  # fmt: skip
    now = open_ledger(ledger_url()).account(ACCOUNT)
    assert now.spent == whole.spent
    assert "Warning" not in hallmark("ledger", "list").out
    assert now.composed == pytest.approx(whole.composed)
    assert "nothing was written" in hallmark(*told).out
    for name in ("before", "one", "two"):
        assert hallmark("verify", out / name).code == 0
    again = hallmark("release", tmp_path / "two" / "spec.yaml", "--out", tmp_path / "x", "--resume")
    assert again.code == ExitCode.BUDGET
    assert "nothing more may be drawn" in again.error
    assert release("next") == 0
    assert open_ledger(ledger_url()).account(ACCOUNT).spent[0] == 4
