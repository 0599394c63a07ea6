"""Runs that are watched at the desk: where a release stands, told as it changes, to whom it may."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.flows.desk import runs as watched
from hallmark.tasks.gates.approvals import could_approve
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.gates.waiting import standing_of, waiting_of
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.progress import announce, listening
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.people import sessions
from hallmark.tasks.people.database import reading
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.runs import about, run_logged, status
from tests import example
from tests.flows.people import as_somebody, join, log_in
from tests.flows.test_desk import decision

MENDS, SEES = {"login": "olga"}, {"login": "vera"}


@pytest.fixture
def prepared(home: Path, tmp_path: Path) -> Prepared:
    return prepare(example.write(tmp_path / "data", rows=10))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams that end at once."""
    monkeypatch.setattr(watched, "_LONGEST", 0.3)
    monkeypatch.setattr(watched, "_EVERY", 0.05)
    monkeypatch.setattr(watched, "_UNSEEN", 0.1)


@pytest.fixture(autouse=True)
def of_a_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that have a number, as within a flow."""
    monkeypatch.setenv("PREFECT__RUNTIME__FLOW_RUN__ID", "the-first")


@contextmanager
def running(prepared: Prepared) -> Iterator[None]:
    """A run of the release, in the midst of the stage `generate`."""
    with Workspace.of(prepared.spec.release).held(), run_logged():
        about(prepared.spec)
        announce("reserve")
        announce("generate")
        tell("generate", 0.5, "moving particles")
        yield


def tell(stage: str, share: float, doing: str) -> None:
    """What a worker says of how far it is."""
    from hallmark.tasks.installation.progress import _listeners

    for listener in _listeners:
        listener(stage, share, doing)


def streamed(who: dict[str, str], seen: str | None = None) -> str:
    """What a page of the release is told."""
    client = TestClient(desk, headers=who)
    if seen is None:
        page = client.get("/releases/test-release").text
        seen = page.partition("live?seen=")[2].partition('"')[0]
    answer = client.get(f"/releases/test-release/live?seen={seen}")
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    return answer.text


def test_a_run_is_told_with_its_stage_and_log_to_those_who_steer_alone(prepared: Prepared):
    with running(prepared):
        steering = streamed(as_somebody(Role.OPERATOR, **MENDS))
        seeing = streamed(as_somebody(Role.VIEWER, **SEES))
    assert "generate (6 of 11)" in steering
    assert 'value="0.500"' in steering  # five of eleven stages and a half
    assert "moving particles" in steering
    assert "reserve ended after 0 s" in steering
    assert "a run is under way" in seeing
    for inside in ("generate", "reserve", "particles", "progress"):
        assert inside not in seeing


def test_a_page_is_told_that_more_of_it_changed(prepared: Prepared):
    who = as_somebody(Role.OPERATOR, **MENDS)
    with running(prepared):
        assert "event: changed" not in streamed(who)
    assert "event: changed" in streamed(who, seen="of-another-state")


def test_progress_is_kept_once_a_second_and_no_word_of_an_earlier_stage(prepared: Prepared):
    with running(prepared):
        tell("generate", 0.9, "too early to be kept")
        tell("reserve", 0.2, "of a stage that has ended")
        now = status("test-release")
        assert now is not None
        assert (now.stage, now.share, now.doing) == ("generate", 0.5, "moving particles")
        announce("certify")
        later = status("test-release")
        assert later is not None
        assert (later.stage, later.share, later.doing) == ("certify", 0.0, "")


def test_one_person_keeps_some_pages_up_to_date_and_no_more(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
):
    who = as_somebody(Role.OPERATOR, **MENDS)
    monkeypatch.setitem(watched._open, "olga", watched._MOST)
    refused = TestClient(desk, headers=who).get("/releases/test-release/live")
    assert (refused.status_code, "close some" in refused.json()["detail"]) == (429, True)


def test_a_page_that_is_left_open_keeps_nobody_logged_in(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
):
    with running(prepared):
        pass
    join("olga", Role.OPERATOR)
    client = TestClient(desk)
    log_in(client, "olga")

    def used() -> float:
        with reading() as connection:
            (at,) = connection.execute("SELECT seen FROM sessions").fetchone()
        return float(at)

    before, later = used(), time.time() + sessions.IDLE - 1
    monkeypatch.setattr(sessions.time, "time", lambda: later)
    assert client.get("/releases/test-release/live").status_code == 200
    assert used() == before
    client.get("/me")
    assert used() == later


def test_all_runs_of_a_release_are_one_list(prepared: Prepared, monkeypatch: pytest.MonkeyPatch):
    for stage in ("reserve", "certify"):
        monkeypatch.setenv("PREFECT__RUNTIME__FLOW_RUN__ID", f"that-came-to-{stage}")
        with run_logged(), listening(lambda *_: None):
            about(prepared.spec)
            announce(stage)
    page = TestClient(desk, headers=as_somebody(Role.OPERATOR, **MENDS)).get(
        "/releases/test-release"
    )
    assert page.text.count("What it did") == 2
    assert "certify began" in page.text
    seen = TestClient(desk, headers=as_somebody(Role.VIEWER, **SEES)).get("/releases/test-release")
    assert "What it did" not in seen.text
    assert "certify began" not in seen.text


def test_those_who_may_still_approve_are_named(keys: dict[str, Path]):
    client = TestClient(desk, headers=as_somebody(Role.REVIEWER))
    assert "Who can act: as methodologist: Ada." in client.get("/releases/test-release").text
    book, known, waits = open_ledger(ledger_url()), profile(), waiting_of("test-release")

    def acting() -> dict[str, tuple[str, ...]]:
        history = History.in_ledger(book, "test-release")
        return could_approve(history, standing_of(waits, history, known), known.approvers)

    assert acting() == {"methodologist": ("Ada",)}
    assert client.post("/decisions", json=decision(keys, decision="reject")).status_code == 200
    assert acting() == {"methodologist": ()}
