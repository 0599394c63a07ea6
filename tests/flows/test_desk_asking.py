"""Stewards ask for releases, operators start or decline them, and everybody finds what waits."""

import html
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import desk
from hallmark.schemas.loading import load_spec
from hallmark.tasks.asked import asked_for
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from tests import example
from tests.flows.people import as_somebody
from tests.flows.test_desk import decision
from tests.flows.test_desk_tables import Person


@pytest.fixture
def steward(home: Path, tmp_path: Path) -> Person:
    example.open_account()
    few = example.only(tmp_path, "age", "region")
    spec = example.write(tmp_path, 400, release="survey", title="The survey", **few)
    (tmp_path / "table.csv").rename(tables_folder() / "table.csv")
    text = spec.read_text().replace(f"{tmp_path}/", "")
    (specs_folder() / "survey.yaml").write_text(text)
    assert load_spec(specs_folder() / "survey.yaml", tables_folder()).release == "survey"
    return Person("stella", Role.STEWARD)


@pytest.fixture
def operator(steward: Person) -> Person:
    return Person("olga", Role.OPERATOR)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the orchestrator is told to start."""
    told: list[dict[str, Any]] = []
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(engine, "run_deployment", lambda *_, **more: _kept(told, more))
    return told


def _kept(told: list[dict[str, Any]], more: dict[str, Any]) -> Any:
    told.append(more)
    return type("Run", (), {"name": "a-run"})


def shown(person: Person, path: str = "/") -> str:
    return html.unescape(person.get(path).text)


def ask(steward: Person, **form: str) -> None:
    answer = steward.post("/releases/survey/ask", **form)
    assert answer.status_code == 200, answer.text


def test_a_request_waits_for_operators_and_for_nobody_else(steward: Person, operator: Person):
    assert "What waits for you" not in shown(operator)
    ask(steward, words="for the <press>\r\non Friday")
    assert "stella asks for it: start or decline it" in shown(operator)
    assert "What waits for you" not in shown(steward)
    assert "What waits for you" not in shown(Person("vera", Role.VIEWER))
    page = operator.get("/releases/survey").text
    assert "for the &lt;press&gt;\non Friday" in page
    assert "Decline it" in page
    assert "Decline it" not in steward.get("/releases/survey").text
    assert "for the" not in Person("vera", Role.VIEWER).get("/releases/survey").text
    assert "stella asked for it" in shown(steward, "/specs/survey")


def test_who_declines_says_why_to_who_asked(steward: Person, operator: Person):
    ask(steward)
    assert operator.post("/releases/survey/decline", reason=" x ").status_code == 409
    assert operator.post("/releases/survey/decline", reason="not\nthis week").status_code == 200
    assert "What waits for you" not in shown(operator)
    assert "olga declined it: not this week" in shown(steward)
    assert "olga declined it" in shown(steward, "/releases/survey")
    assert "Ask once more" in shown(steward, "/releases/survey")
    again = operator.post("/releases/survey/decline", reason="once more")
    assert "nobody asks for survey any more" in again.text
    ask(steward, words="now?")
    assert "declined" not in shown(steward)
    log = [(one.who, one.action) for one in actions() if one.action in ("asked", "declined")]
    assert log.count(("stella", "asked")) == 2
    assert ("olga", "declined") in log


def test_who_starts_answers_the_request_under_their_own_name(
    steward: Person, operator: Person, started: list[dict[str, Any]]
):
    ask(steward)
    assert operator.post("/releases/survey/start").status_code == 200
    assert len(started) == 1
    known = asked_for("survey")
    assert known is not None
    assert known.answered is not None
    assert (known.answered.answer, known.answered.by) == ("started", "olga")
    assert "What waits for you" not in shown(operator)
    assert "olga" in next(iter((tables_folder().parent / "orders").iterdir())).read_text()


def test_a_steward_starts_nothing(steward: Person, started: list[dict[str, Any]]):
    ask(steward)
    assert steward.post("/releases/survey/start").status_code == 403
    assert steward.post("/releases/survey/decline", reason="mine").status_code == 403
    assert started == []


def test_what_is_not_complete_or_asked_for_already_is_not_asked_for(steward: Person):
    ask(steward)
    twice = steward.post("/releases/survey/ask")
    assert "stella asked for survey already" in twice.text
    text = (specs_folder() / "survey.yaml").read_text()
    every = text.replace("release: survey", "release: weekly-{period}")
    (specs_folder() / "weekly.yaml").write_text(every)
    assert "an operator schedules it" in steward.post("/releases/weekly/ask").text
    (specs_folder() / "half.yaml").write_text("release: half\n")
    refused = steward.post("/releases/half/ask")
    assert refused.status_code == 409
    assert "the spec is not complete yet" in refused.text
    assert asked_for("half") is None
    assert steward.post("/releases/none/ask").status_code == 404


def test_an_operator_sees_that_the_spec_changed_since(steward: Person, operator: Person):
    ask(steward)
    file = specs_folder() / "survey.yaml"
    assert "Its spec was changed since" not in shown(operator, "/releases/survey")
    file.write_text(file.read_text().replace("The survey", "Another survey"))
    assert "Its spec was changed since" in shown(operator, "/releases/survey")


def test_nobody_decides_about_what_they_asked_for(keys: dict[str, Path], home: Path):
    """The fixture's release waits at its plan gate, which somebody else opened."""
    from hallmark.tasks.asked import ask as asks
    from hallmark.tasks.asked import decline

    asks("test-release", by="tess", spec="0", words="")
    decline("test-release", by="olga", reason="later")
    asks("test-release", by="stella", spec="0", words="")
    client = TestClient(desk, headers=as_somebody(Role.REVIEWER))
    refused = client.post("/decisions", json=decision(keys))
    assert refused.status_code == 409
    assert "tess asked for the release" in refused.json()["detail"]
    other = TestClient(desk, headers=as_somebody(Role.REVIEWER, login="rita"))
    assert other.post("/decisions", json=decision(keys)).status_code == 200


def test_a_gate_waits_for_whom_the_profile_lists(keys: dict[str, Path], home: Path):
    profile = YAML().load(home / "profile.yaml")
    for one in profile["approvers"]:
        if one["name"] == "Ada":
            one["login"] = "ada"
    YAML().dump(profile, home / "profile.yaml")
    ada, rita = Person("ada", Role.REVIEWER), Person("rita", Role.REVIEWER)
    assert "decide about its plan as methodologist" in shown(ada)
    assert "What waits for you" not in shown(rita)
