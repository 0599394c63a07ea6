"""A whole release as its log and its metrics tell it, with planted values that neither may tell."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from hallmark.flows.desk import app, desk
from hallmark.tasks.people.rights import Right, Role, rights_of
from hallmark.tasks.prometheus import Exposition, state_of
from hallmark.tasks.runs import statuses
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.people import as_somebody, introduce
from tests.flows.search import Canary, found

ROWS = 400
VALUE = Canary("a region that goes to the catch-all", "canary-7d1f06c2")
QUOTED = Canary("a record that a library quotes", "canary-91b3ae55")


def write_planted(folder: Path, **changes: Any) -> Path:
    sections = example.only(folder, "age", "region")
    sections["columns"]["region"] |= {"outside": "catch_all", "other": "07"}
    spec = example.write(folder, ROWS, **sections, **changes)
    table = example.table(ROWS)
    table.loc[7, "region"] = VALUE.text
    table.to_csv(folder / "table.csv", index=False, na_rep="NA")
    return spec


def logged(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "logs/hallmark.jsonl").read_text().splitlines()]


def test_a_release_through_a_gate_is_logged_and_measured(
    hallmark: Hallmark, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    keys = introduce(tmp_path / "keys", home)
    spec = write_planted(tmp_path / "data", approvals={"plan": ["methodologist"]})
    example.open_account()
    assert hallmark("release", spec, "--out", tmp_path / "out").code == 7
    words = ["--name", "Ada", "--key", keys["Ada"], "--role", "methodologist"]
    assert hallmark("approve", "test-release", *words, "--reason", "for the test").code == 0
    assert hallmark("release", spec, "--out", tmp_path / "out", "--resume").code == 0

    lines = logged(home)
    events = [(line["event"], line.get("stage") or line.get("how", "")) for line in lines]
    stages = ["validate", "discretize", "select", "privatize", "generate", "certify", "finalise"]
    both = [
        (event, stage)
        for stage in ["reserve", *stages, "report", "publish"]
        for event in ("stage-begun", "stage-ended")
    ]
    first, second = events.index(("run-ended", "waiting")) + 1, len(events)
    assert events[:first] == [
        ("run-started", ""), ("stage-begun", "reserve"), ("reserved", ""), ("gate-waiting", ""),
        ("stage-ended", "reserve"), ("run-ended", "waiting"),
    ]  # fmt: skip
    told = events[first:second]
    assert [one for one in told if one[0].startswith("stage")] == both
    assert [one[0] for one in told if not one[0].startswith("stage")] == [
        "run-started", "reserved", "gate-passed", "published", "run-ended",
    ]  # fmt: skip
    assert len({line["flow_run"] for line in lines}) == 2
    assert {line.get("release") for line in lines[1:]} == {"test-release", None}
    reserved = next(line for line in lines if line["event"] == "reserved")
    assert (reserved["epsilon"], reserved["left_epsilon"]) == ("1", "1")

    client = TestClient(desk)
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers=as_somebody(Role.MONITOR))
    assert answer.headers["content-type"].startswith("text/plain")
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"hallmark_budget_epsilon", "hallmark_stage_seconds", "hallmark_releases"} <= names
    assert 'hallmark_releases{state="published"} 1.0' in answer.text
    assert not VALUE.is_in(answer.content)
    assert found(home / "logs", [VALUE]) == set()

    shutil.rmtree(tmp_path / "out")  # as the temporary folder of a worker's run was
    assert [state_of(status) for status in statuses()] == ["lost"]
    before = example.charges()
    monkeypatch.setenv("HALLMARK_RELEASES", str(tmp_path / "lasting"))
    assert hallmark("release", spec, "--resume").code == 0
    assert example.charges() == before  # of what was drawn
    assert [state_of(status) for status in statuses()] == ["published"]
    assert hallmark("verify", tmp_path / "lasting" / "test-release").code == 0


def test_what_a_library_quotes_is_in_no_log(
    hallmark: Hallmark, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from hallmark.tasks import reading

    def fail(*_: object) -> None:
        raise KeyError(f"row 7: {QUOTED.text}")

    monkeypatch.setattr(reading, "batches_of_cells", fail)
    spec = write_planted(tmp_path / "data")
    example.open_account()
    assert hallmark("release", spec, "--out", tmp_path / "out").code == 1
    assert found(home, [QUOTED]) == {f"work/test-release/failures.log: {QUOTED.what}"}
    failed = next(line for line in logged(home) if line["event"] == "failed")
    assert (failed["level"], failed.keys() & {"error", "message"}) == ("error", set())
    (run,) = statuses()
    assert "stage validate failed with KeyError" in str(run.message)


WHY = ("columns.age", "ValidationFailed", "validate")
"""What tells that the table breaks its spec, and where."""


def test_why_a_run_failed_is_told_to_those_alone_who_write_specs_or_run_releases(
    hallmark: Hallmark, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spec = write_planted(tmp_path)
    table = (tmp_path / "table.csv").read_text().splitlines()
    (tmp_path / "table.csv").write_text("\n".join([*table, table[-1].replace(",", "x,", 1)]))
    monkeypatch.setenv("HALLMARK_DATA", str(tmp_path))
    for name, accounts in {"_metrics": False, "_metrics_with_accounts": True}.items():
        monkeypatch.setattr(app, name, Exposition(accounts=accounts, seconds=0))
    example.open_account()
    done = hallmark("release", spec, "--out", tmp_path / "out")
    assert (done.code, "columns.age: not all rows" in done.err) == (3, True)
    (failed,) = (line for line in logged(home) if line["event"] == "failed")
    assert failed.keys().isdisjoint({"error", "message"})
    for role in Role:
        program = TestClient(desk, headers=as_somebody(role, login=str(role)))
        pages = "/", "/releases/test-release", "/metrics", "/accounts/test-people", "/calendar"
        told = "".join(program.get(path).text for path in (*pages, "/log/export"))
        assert "failed" in told
        mends = not rights_of([role]).isdisjoint({Right.PREPARE, Right.RUN})
        assert [word in told for word in WHY] == [mends, False, mends], role
        sees_accounts = Right.ACCOUNTS in rights_of([role])
        assert ("hallmark_budget_epsilon{" in told) == sees_accounts, role
        assert ("test-people" in told) == sees_accounts, role
