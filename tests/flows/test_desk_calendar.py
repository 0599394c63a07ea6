"""Recurring releases that are scheduled at the desk, without a server; with one in
test_server_mode."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import calendar, desk
from hallmark.schemas.loading import load_calendar
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import ordering
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.recurring import recurring_calendar, recurring_calendars, scheduled_by
from tests import example
from tests.flows.people import as_somebody

FORM = {
    "spec": "visits",
    "period": "quarter",
    "day": "5",
    "at": "06:30",
    "timezone": "Europe/Berlin",
    "about": "last",
    "epsilon": "1/2",
    "delta": "1e-5",
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The calendars that the server was given, by a server that takes all."""
    found = list[Path]()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(engine, "calendar", list)
    monkeypatch.setattr(calendar, "deploy_calendar", lambda given, _: found.append(given))
    monkeypatch.setattr(calendar, "take_off", found.remove)
    return found


@pytest.fixture
def client(home: Path, tmp_path: Path) -> TestClient:
    """Somebody who runs releases, where there is a template."""
    sections = example.only(tmp_path / "made", "age", "region")
    made = example.write(tmp_path / "made", 5, release="visits-{period}", **sections)
    text = made.read_text().replace(f"{made.parent}/", "")
    (specs_folder() / "visits.yaml").write_text(text)
    (made.parent / "table.csv").rename(tables_folder() / "table.csv")
    return TestClient(desk, headers=as_somebody(Role.OPERATOR, login="ada"))


def say(client: TestClient, **changes: str) -> tuple[int, str]:
    answer = client.post("/calendar", data=FORM | changes, follow_redirects=False)
    return answer.status_code, str(answer.json()["detail"]) if answer.status_code != 303 else ""


def test_a_release_recurs_as_somebody_said(client: TestClient, taken: list[Path]):
    assert say(client, embargo_days="4", embargo_at="09:00") == (303, "")
    assert taken == recurring_calendars() == [recurring_calendar("visits")]
    entry = load_calendar(taken[0]).releases["visits"]
    assert (entry.cron, entry.timezone, entry.lag) == ("30 6 5 1,4,7,10 *", "Europe/Berlin", 1)
    assert entry.embargo is not None
    assert (entry.embargo.days, entry.embargo.at) == (4, "09:00")
    assert scheduled_by(taken[0], "visits") == "ada"
    assert actions(most=1)[0].action == "scheduled"
    assert client.post("/calendar/visits/remove", follow_redirects=False).status_code == 303
    assert taken == recurring_calendars() == []
    assert actions(most=1)[0].action == "unscheduled"


@pytest.mark.parametrize(
    ("changes", "cron"),
    [
        ({"period": "day"}, "30 6 * * *"),
        ({"period": "week"}, "30 6 * * 5"),
        ({"period": "week", "day": "7"}, "30 6 * * 0"),
        ({"period": "month", "at": "00:05"}, "5 0 5 * *"),
        ({"period": "year"}, "30 6 5 1 *"),
    ],
)
def test_days_become_fields_of_cron(
    client: TestClient, taken: list[Path], changes: dict[str, str], cron: str
):
    assert say(client, **changes) == (303, "")
    assert load_calendar(taken[0]).releases["visits"].cron == cron


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"spec": "others"}, 409, "there is no spec 'others' whose release is named others-{per"),
        ({"spec": "../people"}, 409, "there is no spec '../people'"),
        ({"period": "week", "day": "8"}, 409, "a week has no day 8; give 1 for Monday"),
        ({"day": "29"}, 422, "the desk did not understand: day"),
        ({"at": "25:00"}, 422, "the desk did not understand: at"),
        ({"timezone": "Berlin"}, 409, "timezone: is 'Berlin', which is not a time zone"),
        ({"epsilon": "much"}, 409, "budget.epsilon: "),
        ({"epsilon": "0"}, 409, "budget.epsilon: is 0; give a number above 0"),
        ({"embargo_days": "-1"}, 409, "embargo.days: "),
    ],
)
def test_what_cannot_be_scheduled_is_refused(
    client: TestClient, taken: list[Path], changes: dict[str, str], code: int, said: str
):
    assert (told := say(client, **changes))[0] == code, told
    assert told[1].startswith(said)
    assert taken == recurring_calendars() == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("visits-{period}", "visit-{period}", "release: a spec of every period that is kept as"),
        ("name: pmm", "name: pnm", "the spec is not complete yet:\nmechanism.name: "),
        ("table.csv", "/etc/table.csv", "data.source: must be a table that was uploaded"),
    ],
)
def test_a_template_is_looked_at_first(
    client: TestClient, taken: list[Path], old: str, new: str, said: str
):
    file = specs_folder() / "visits.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert (told := say(client))[0] == 409
    assert told[1].startswith(said), told[1]
    assert recurring_calendars() == []


def test_an_entry_of_the_agency_s_calendar_is_not_replaced(
    client: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    there = engine.CalendarEntry(
        name="visits",
        calendar="/agency/calendar.yaml",
        out="",
        schedules=(),
        paused=False,
        next=None,
    )
    monkeypatch.setattr(engine, "calendar", lambda: [there])
    assert "/agency/calendar.yaml has an entry 'visits' already" in say(client)[1]
    assert client.post("/calendar/visits/remove").status_code == 404


def test_a_server_that_does_not_answer_leaves_everything_as_it_was(
    client: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == (303, "")
    before = recurring_calendar("visits").read_text()

    def silent(*_: object) -> None:
        raise ConnectionError("http://inner:4200")

    monkeypatch.setattr(calendar, "deploy_calendar", silent)
    code, said = say(client, day="6")
    assert (code, "the orchestrator does not answer (ConnectionError)" in said) == (503, True)
    assert "inner" not in said
    assert recurring_calendar("visits").read_text() == before


def test_what_was_scheduled_does_not_change_with_the_spec(client: TestClient, taken: list[Path]):
    assert say(client) == (303, "")
    entry = load_calendar(taken[0]).releases["visits"]
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD, login="stella"))
    assert steward.post("/calendar", data=FORM).status_code == 403
    file = specs_folder() / "visits.yaml"
    changed = file.read_text().replace("A table", "Another table")
    assert steward.post("/specs/visits", data={"text": changed}).status_code == 200
    assert "Another table" not in (taken[0].parent / entry.spec).read_text()
    assert load_calendar(taken[0]).releases["visits"] == entry


def test_what_went_wrong_since_is_told_and_can_be_removed(
    client: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == (303, "")
    spec = taken[0].parent / load_calendar(taken[0]).releases["visits"].spec
    spec.write_text(spec.read_text().replace("name: pmm", "name: pnm"))
    there = engine.CalendarEntry(
        name="visits", calendar=str(taken[0]), out="", schedules=(), paused=False, next=None
    )
    monkeypatch.setattr(engine, "calendar", lambda: [there])
    page = html.unescape(client.get("/calendar").text)
    assert "mechanism.name: " in page
    assert "scheduled by ada" in page
    assert client.post("/calendar/visits/remove").status_code == 200
    assert recurring_calendars() == []


def test_a_release_is_linked_once_it_has_begun(
    client: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == (303, "")
    there = engine.CalendarEntry(
        name="visits",
        calendar=str(taken[0]),
        out="",
        schedules=(("30 6 5 1,4,7,10 *", "Europe/Berlin"),),
        paused=False,
        next=None,
    )
    monkeypatch.setattr(engine, "calendar", lambda: [there])
    page = client.get("/calendar").text
    words = "on day 5 of January, April, July and October at 06:30 (Europe/Berlin)"
    assert words in page
    assert "cron: <code>30 6 5 1,4,7,10 * Europe/Berlin</code>" in page
    assert "not begun yet" in page
    assert 'href="/releases/' not in page
    (release,) = re.findall(r">(visits-\d[^<]*)<", page)
    with ordering(release, "ada"):
        pass
    page = client.get("/calendar").text
    assert f'<a href="/releases/{release}">' in page
    assert client.get(f"/releases/{release}").status_code == 200


def test_a_template_is_no_release(client: TestClient, home: Path):
    assert client.get("/releases/visits").status_code == 404
    assert client.post("/releases/visits/start").status_code == 404
    assert "visits" not in client.get("/").text
    page = html.unescape(client.get("/specs/visits").text)
    assert "{period}" in page
    assert '<a href="/calendar">visits</a> in every period' in page


def test_a_template_is_checked_and_planned_as_of_this_month(client: TestClient, home: Path):
    text = (specs_folder() / "visits.yaml").read_text()

    def checked(text: str) -> dict[str, Any]:
        found: dict[str, Any] = client.post(
            "/specs/check", json={"text": text, "name": "visits"}
        ).json()
        return found

    assert checked(text)["complete"]
    found = checked(text.replace("visits-{period}", "{period}-visits"))
    assert [one["message"] for one in found["problems"] if one["severity"] == "error"] == [
        "a spec of every period that is kept as 'visits' is about release visits-{period}; write "
        "that"
    ]
    example.open_account()
    plan = client.post("/specs/plan", json={"text": text})
    assert plan.status_code == 200, plan.text


def test_without_a_server_the_page_says_so(
    client: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert "runs without an orchestrator" in client.get("/calendar").text
    with pytest.raises(SafeError, match="runs without an orchestrator"), engine.answering():
        pass
    assert "runs without an orchestrator" in say(client)[1]
