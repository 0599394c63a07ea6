"""The log: whole lines of JSON, only fields that are public, for the owner alone, never fatal."""

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hallmark.tasks.installation import log
from hallmark.tasks.installation.log import FIELDS, log_file, tell


def lines(path: Path | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path or log_file()).read_text().splitlines()]


def test_an_event_is_one_json_object_a_line(home: Path) -> None:
    tell("stage-begun", stage="select")
    tell("failed", error="KeyError", message=None)
    first, second = lines()
    assert first | {"time": ""} == {
        "time": "", "level": "info", "event": "stage-begun", "stage": "select",
    }  # fmt: skip
    assert first["time"].endswith("+00:00")
    assert (second["level"], second["error"], "message" in second) == ("error", "KeyError", False)


def test_the_release_that_a_run_is_about_is_in_every_line(home: Path) -> None:
    token = log.RELEASE.set("acs-2026")
    tell("gate-passed", gate="plan")
    log.RELEASE.reset(token)
    tell("gate-passed", gate="plan")
    assert [line.get("release") for line in lines()] == ["acs-2026", None]


@pytest.mark.parametrize(("event", "field"), [("stage-ended", "rows"), ("unknown", "stage")])
def test_what_nobody_decided_to_be_public_is_not_logged(event: str, field: str, home: Path) -> None:
    with pytest.raises(ValueError, match="is no event of the log"):
        tell(event, **{field: "x"})
    assert not log_file().exists()


@pytest.mark.parametrize("event", FIELDS)
def test_every_event_can_be_told_with_all_its_fields(event: str, home: Path) -> None:
    tell(event, **dict.fromkeys(FIELDS[event], "1"))
    assert lines()[0].keys() == {"time", "level", "event", *FIELDS[event]}


def test_the_log_is_for_its_owner_alone(home: Path) -> None:
    mask = os.umask(0)
    try:
        tell("gate-passed", gate="plan")
    finally:
        os.umask(mask)
    assert {path.stat().st_mode & 0o777 for path in log_file().parent.iterdir()} == {0o600}
    assert log_file().parent.stat().st_mode & 0o777 == 0o700


def test_old_files_are_numbered_and_the_oldest_goes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MOST_BYTES", 400)
    for number in range(40):
        tell("stage-begun", stage=str(number))
    kept = sorted(path.name for path in log_file().parent.glob("*.jsonl*"))
    assert kept == ["hallmark.jsonl", *(f"hallmark.jsonl.{number}" for number in range(1, 5))]
    files = [log_file().with_name(name) for name in [*reversed(kept[1:]), kept[0]]]
    assert all(path.stat().st_size <= 400 for path in files)
    told = [int(line["stage"]) for path in files for line in lines(path)]
    assert told == list(range(told[0], 40))
    assert told[0] > 0


def test_writers_at_once_lose_no_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_BYTES", 2000)
    monkeypatch.setattr(log, "KEPT", 1000)

    def write(name: str) -> None:
        for number in range(50):
            tell("stage-begun", stage=f"{name}{number}")

    writers = [Thread(target=write, args=[name]) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    told = [line["stage"] for path in log_file().parent.glob("*.jsonl*") for line in lines(path)]
    assert sorted(told) == sorted(f"{name}{number}" for name in "abcd" for number in range(50))


def test_standard_error_has_the_lines_too_where_it_is_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell("gate-passed", gate="plan")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("HALLMARK_LOG", "json")
    tell("gate-passed", gate="disclosure")
    assert json.loads(capsys.readouterr().err)["gate"] == "disclosure"
    assert len(lines()) == 2


def test_a_log_that_cannot_be_written_ends_no_run(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log_file().mkdir()
    tell("gate-passed", gate="plan")
    assert "warning: the log cannot be written" in capsys.readouterr().err
