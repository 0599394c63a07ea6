"""Recurring releases: one person proposes them at the desk, and another approves; without a server.
With one in test_server_mode."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import desk, schedules
from hallmark.schemas.loading import load_calendar
from hallmark.tasks import governance
from hallmark.tasks.governance import proposals
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import ordering
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.recurring import recurring_calendar, recurring_calendars, scheduled_by
from tests import example
from tests.flows.people import TEST, as_somebody, log_in

FORM = {
    "spec": "visits",
    "period": "quarter",
    "day": "5",
    "at": "06:30",
    "timezone": "Europe/Berlin",
    "lag": "1",
    "epsilon": "1/2",
    "delta": "1e-5",
    "reason": "the board",
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The calendars that the server was given, by a server that takes all."""
    found = list[Path]()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(engine, "calendar", list)
    monkeypatch.setattr(schedules, "deploy_calendar", lambda given, _: found.append(given))
    monkeypatch.setattr(schedules, "take_off", found.remove)
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


@pytest.fixture
def gina(client: TestClient) -> TestClient:
    """A governor at a browser."""
    return governor("gina")


def governor(login: str) -> TestClient:
    directory.add(login, f"The {login}", [Role.GOVERNOR], by=TEST)
    browser = TestClient(desk)
    browser.headers["X-CSRF"] = log_in(browser, login)
    return browser


def decide(browser: TestClient, answer: str = "approved") -> tuple[int, str]:
    """Decide about the last proposal."""
    number = proposals()[0].number
    said = browser.post(
        f"/agency/proposals/{number}",
        data={"answer": answer, "reason": "agreed"},
        follow_redirects=False,
    )
    return said.status_code, str(said.json()["detail"]) if said.status_code != 303 else ""


def test_a_release_recurs_as_one_proposed_and_another_approved(
    client: TestClient, gina: TestClient, taken: list[Path]
):
    assert say(client, embargo_days="4", embargo_at="09:00") == (303, "")
    assert taken == recurring_calendars() == []
    assert decide(gina) == (303, "")
    assert taken == recurring_calendars() == [recurring_calendar("visits")]
    entry = load_calendar(taken[0]).releases["visits"]
    assert (entry.cron, entry.timezone, entry.lag) == ("30 6 5 1,4,7,10 *", "Europe/Berlin", 1)
    assert entry.embargo is not None
    assert (entry.embargo.days, entry.embargo.at) == (4, "09:00")
    assert scheduled_by(taken[0], "visits") == "ada"
    reason = {"reason": "not needed"}
    assert client.post("/calendar/visits/remove", data=reason).status_code == 200
    assert taken == recurring_calendars() != []
    assert decide(gina) == (303, "")
    assert taken == recurring_calendars() == []
    told = [(one.who, one.action, one.about) for one in actions(most=4)]
    assert told == [
        ("gina", "change-decided", "2"), ("ada", "change-proposed", "calendar/visits"),
        ("gina", "change-decided", "1"), ("ada", "change-proposed", "calendar/visits"),
    ]  # fmt: skip


def test_nobody_changes_the_calendar_alone(client: TestClient, gina: TestClient, taken: list[Path]):
    """Neither an operator, nor a governor, nor whoever is both."""
    both = TestClient(desk)
    directory.add("hugo", "Hugo", [Role.GOVERNOR, Role.OPERATOR], by=TEST)
    both.headers["X-CSRF"] = log_in(both, "hugo")
    for one, other in ((gina, both), (both, gina)):
        assert say(one) == (303, "")
        code, said = decide(one)
        assert (code, "nobody decides about their own proposal" in said) == (409, True)
        assert recurring_calendars() == []
        assert decide(other, "refused") == (303, "")
    assert say(client) == (303, "")
    assert decide(client)[0] == 403
    assert TestClient(desk, headers=as_somebody(Role.STEWARD, login="stella")).post(
        "/calendar", data=FORM
    ).status_code == 403  # fmt: skip
    withdrawn = {"reason": "a slip"}
    number = proposals()[0].number
    assert both.post(f"/calendar/proposals/{number}", data=withdrawn).status_code == 409
    assert client.post(f"/calendar/proposals/{number}", data=withdrawn).status_code == 200
    assert decide(gina)[1] == f"proposal {number} was withdrawn already"
    assert recurring_calendars() == taken == []


def test_an_entry_that_changed_meanwhile_is_proposed_anew(
    client: TestClient, gina: TestClient, taken: list[Path]
):
    assert say(client) == say(client, day="6") == (303, "")
    assert decide(gina) == (303, "")
    for path, data in (("2", "approved"), ("1", "approved")):
        answer = gina.post(f"/agency/proposals/{path}", data={"answer": data, "reason": "agreed"})
        assert answer.status_code == 409
    assert "the entry visits of the calendar has changed since proposal 1" in answer.text
    assert load_calendar(taken[0]).releases["visits"].cron == "30 6 6 1,4,7,10 *"
    assert "This can no longer be approved" in gina.get("/calendar").text


def test_an_operator_who_became_a_steward_lets_nothing_recur(
    client: TestClient, gina: TestClient, taken: list[Path]
):
    """An entry is proposed by whoever may propose entries, who need not govern."""
    assert say(client) == (303, "")
    directory.set_roles("ada", [Role.STEWARD], by=TEST)
    code, said = decide(gina)
    assert (code, "proposal 1 was made by ada, who may no longer propose" in said) == (409, True)
    assert taken == recurring_calendars() == []
    directory.set_roles("ada", [Role.OPERATOR], by=TEST)
    assert decide(gina) == (303, "")


def test_what_is_approved_is_the_spec_that_was_proposed(
    client: TestClient, gina: TestClient, taken: list[Path]
):
    """Whoever writes specs cannot change what waits for approval; and it is shown whole."""
    file = specs_folder() / "visits.yaml"
    before = file.read_text()
    assert say(client) == (303, "")
    file.write_text(before.replace("A table", "Another table"))
    assert "+title: A table" in gina.get("/calendar").text
    assert decide(gina) == (303, "")
    entry = load_calendar(taken[0]).releases["visits"]
    assert (taken[0].parent / entry.spec).read_text() == before
    assert say(client, reason="the new spec") == (303, "")
    page = gina.get("/calendar").text
    assert "+title: Another table" in page
    assert "All of it, as it would be" in page
    assert "+period" not in page.partition("Earlier changes")[0]


def test_a_desk_that_is_killed_after_it_scheduled_catches_up(
    client: TestClient, gina: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == (303, "")

    def die(_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(governance, "_keep", die)
        with pytest.raises(OSError, match="the disk is gone"):
            decide(gina)
    assert proposals()[0].decided is None
    assert decide(gina) == (303, "")
    assert len(taken) == 2  # the server was told again
    assert len(recurring_calendars()) == 1


def test_the_form_shows_an_entry_as_it_is(client: TestClient, gina: TestClient, taken: list[Path]):
    assert say(client, embargo_days="4", embargo_at="09:00") == (303, "")
    assert decide(gina) == (303, "")
    page = client.get("/calendar?entry=visits").text
    for shown in ('value="5"', 'value="06:30"', 'value="1/2"', 'value="1e-5"', 'value="4"'):
        assert shown in page
    assert '<option value="each" selected>' in page
    assert say(client, cron="0 2 1-7 * 1", plan_approved="once") == (303, "")
    assert decide(gina) == (303, "")
    assert load_calendar(taken[0]).releases["visits"].plan_approved == "once"
    assert '<option value="once" selected>' in client.get("/calendar?entry=visits").text
    assert 'value="0 2 1-7 * 1"' in client.get("/calendar?entry=visits").text
    assert client.get("/calendar?entry=others").status_code == 404


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
    client: TestClient, gina: TestClient, taken: list[Path], changes: dict[str, str], cron: str
):
    assert say(client, **changes) == decide(gina) == (303, "")
    assert load_calendar(taken[0]).releases["visits"].cron == cron


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"spec": "others"}, 409, "there is no spec 'others' whose release is named others-{per"),
        ({"spec": "../people"}, 409, "there is no spec '../people'"),
        ({"period": "week", "day": "8"}, 409, "a week has no day 8; give 1 for Monday"),
        ({"day": "29"}, 409, "a quarter has no day 29; give 1 to 28"),
        ({"at": "25:00"}, 409, "at: is '25:00'; give a time such as 02:00"),
        ({"cron": "tomorrow"}, 409, "cron: is 'tomorrow'; give five fields"),
        ({"lag": "-1"}, 409, "lag: is -1; give at least 0"),
        ({"timezone": "Berlin"}, 409, "timezone: is 'Berlin', which is not a time zone"),
        ({"epsilon": "much"}, 409, "budget.epsilon: "),
        ({"epsilon": "0"}, 409, "budget.epsilon: is 0; give a number above 0"),
        ({"embargo_days": "-1"}, 409, "embargo.days: "),
        ({"embargo_days": "1", "embargo_at": "9"}, 409, "embargo.at: is '9'; give a time"),
        ({"reason": "no"}, 409, "say why"),
        ({"period": "decade"}, 422, "the desk did not understand: period"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_at_its_field(
    client: TestClient, taken: list[Path], changes: dict[str, str], code: int, said: str
):
    answer = client.post("/calendar", data=FORM | changes)
    assert (answer.status_code, answer.json()["detail"][: len(said)]) == (code, said)
    if code == 409:
        (field,) = answer.json()["at"]
        assert {field.replace(".", "_"), *field.split(".")} & {*changes}
    assert taken == recurring_calendars() == []
    assert proposals() == []


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
    client: TestClient, gina: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    there = engine.CalendarEntry(
        name="visits",
        calendar="/agency/calendar.yaml",
        out="",
        schedules=(),
        paused=False,
        next=None,
    )
    assert say(client) == (303, "")
    monkeypatch.setattr(engine, "calendar", lambda: [there])
    assert "/agency/calendar.yaml has an entry 'visits' already" in say(client)[1]
    assert "/agency/calendar.yaml has an entry 'visits' already" in decide(gina)[1]
    assert client.post("/calendar/visits/remove", data={"reason": "none"}).status_code == 404


def test_a_server_that_does_not_answer_leaves_everything_as_it_was(
    client: TestClient, gina: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == decide(gina) == (303, "")
    before = recurring_calendar("visits").read_text()

    def silent(*_: object) -> None:
        raise ConnectionError("http://inner:4200")

    monkeypatch.setattr(schedules, "deploy_calendar", silent)
    assert say(client, day="6") == (303, "")
    code, said = decide(gina)
    assert (code, "the orchestrator does not answer (ConnectionError)" in said) == (503, True)
    assert "inner" not in said
    assert recurring_calendar("visits").read_text() == before
    assert proposals()[0].decided is None


def test_what_was_scheduled_does_not_change_with_the_spec(
    client: TestClient, gina: TestClient, taken: list[Path]
):
    assert say(client) == decide(gina) == (303, "")
    entry = load_calendar(taken[0]).releases["visits"]
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD, login="stella"))
    assert steward.post("/calendar", data=FORM).status_code == 403
    file = specs_folder() / "visits.yaml"
    changed = file.read_text().replace("A table", "Another table")
    assert steward.post("/specs/visits", data={"text": changed}).status_code == 200
    assert "Another table" not in (taken[0].parent / entry.spec).read_text()
    assert load_calendar(taken[0]).releases["visits"] == entry


def test_what_went_wrong_since_is_told_and_can_be_removed(
    client: TestClient, gina: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == decide(gina) == (303, "")
    spec = taken[0].parent / load_calendar(taken[0]).releases["visits"].spec
    spec.write_text(spec.read_text().replace("name: pmm", "name: pnm"))
    there = engine.CalendarEntry(
        name="visits", calendar=str(taken[0]), out="", schedules=(), paused=False, next=None
    )
    monkeypatch.setattr(engine, "calendar", lambda: [there])
    page = html.unescape(client.get("/calendar").text)
    assert "mechanism.name: " in page
    assert "scheduled by ada" in page
    assert client.post("/calendar/visits/remove", data={"reason": "none"}).status_code == 200
    assert decide(gina) == (303, "")
    assert recurring_calendars() == []


def test_a_release_is_linked_once_it_has_begun(
    client: TestClient, gina: TestClient, taken: list[Path], monkeypatch: pytest.MonkeyPatch
):
    assert say(client) == decide(gina) == (303, "")
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
    plan = client.post("/specs/plan", json={"text": text, "name": "visits"})
    assert plan.status_code == 200, plan.text
    assert '<a href="/specs/visits/mechanism">' in plan.text
    for name, code in (("../x", 409), ("none", 404)):
        assert client.post("/specs/plan", json={"text": text, "name": name}).status_code == code


def test_without_a_server_the_page_says_so(
    client: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert "runs without an orchestrator" in client.get("/calendar").text
    with pytest.raises(SafeError, match="runs without an orchestrator"), engine.answering():
        pass
    assert "runs without an orchestrator" in say(client)[1]
