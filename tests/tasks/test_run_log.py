"""All runs of a release, as they are found in the log."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from hallmark.tasks import run_log
from hallmark.tasks.installation.log import log_file
from hallmark.tasks.run_log import last_run, logged_runs

pytestmark = pytest.mark.usefixtures("home")


def write(*events: dict[str, Any], number: int | None = None) -> None:
    """Append events to the log, or to an older file of it."""
    file = log_file() if number is None else log_file().with_name(f"{log_file().name}.{number}")
    with file.open("a") as log:
        for event in events:
            log.write(json.dumps({"time": datetime.now(UTC).isoformat(), **event}) + "\n")


def run(flow_run: str, release: str = "own", flow: str = "release") -> list[dict[str, Any]]:
    about = {"release": release, "flow_run": flow_run}
    return [
        {"event": "run-started", "flow_run": flow_run, "flow": flow},
        {"event": "stage-begun", "stage": "reserve", **about},
        {"event": "stage-ended", "stage": "reserve", "seconds": 3, **about},
        {"event": "run-ended", "how": "waiting", "seconds": 4, **about},
    ]


def test_no_run_is_known_where_there_is_no_log():
    assert logged_runs("own") == []
    assert last_run("own") is None


def test_runs_are_found_in_all_files_the_newest_first():
    write(*run("a"), number=2)
    write(*run("b", flow="certify")[:2], number=1)
    write(*run("b", flow="certify")[2:])
    write(*run("c")[:2])
    found = logged_runs("own")
    assert [one.flow_run for one in found] == ["c", "b", "a"]
    assert [(one.flow, one.how, one.seconds) for one in found] == [
        ("release", "", None), ("certify", "waits", 4), ("release", "waits", 4),
    ]  # fmt: skip
    assert [line.words for line in found[1].lines] == [
        "reserve began", "reserve ended after 3 s", "the run ended: waits",
    ]  # fmt: skip
    last = last_run("own")
    assert last is not None
    assert last.flow_run == "c"


def test_another_release_whose_name_begins_alike_is_none_of_it():
    write(*run("a", release="own-2"), *run("b", release="ow"))
    write({"event": "failed", "release": "other", "flow_run": "c", "message": '"release": "own"'})
    assert logged_runs("own") == []
    assert last_run("own") is None


def test_a_line_that_is_being_written_is_left_for_the_next_look():
    write(*run("a")[:2])
    with log_file().open("a") as log:
        log.write('{"time": "2026-01-01T00:00:00+00:00", "event": "run-ended", "release": "own"')
    (found,) = logged_runs("own")
    assert found.how == ""


def test_the_latest_runs_alone_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_log, "MOST_RUNS", 2)
    for name in "abc":
        write(*run(name))
    assert [one.flow_run for one in logged_runs("own")] == ["c", "b"]


def test_every_event_of_the_log_has_words():
    from hallmark.tasks.installation.log import FIELDS

    texts = {"accounts": ["a"], "required": ["reviewer"], "how": "published"}
    for event, fields in FIELDS.items():
        said = {"event": event, "release": "own", "flow_run": event}
        write(said | {field: texts.get(field, "x") for field in fields})
        (found, *_) = logged_runs("own")
        assert bool(found.lines) == (event != "run-started"), event
