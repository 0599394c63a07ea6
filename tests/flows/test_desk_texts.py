"""What people write at the desk: with lines as they typed them, and nothing unseen."""

import html
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from hallmark.flows.desk import (
    accounts,
    agency,
    answers,
    asking,
    calendar,
    comparing,
    desk,
    keys,
    log_in,
    pages,
    people,
    questions,
    releases,
    specs,
)
from hallmark.flows.desk.pages import ledger
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.comments import comments
from hallmark.tasks.people.rights import Right, Role
from hallmark.tasks.people.sessions import tokens
from hallmark.tasks.planning.places import specs_folder
from tests import example
from tests.flows.people import TEST, as_somebody
from tests.flows.people import log_in as session_of

CAP = {"epsilon": "1", "delta": "0", "reason": "the board, item 1"}
OPEN = CAP | {"name": "people", "neighbours": "replace_one"}
GATES = {"plan": "reviewer", "disclosure": "", "reason": "the board, item 2"}
APPROVER = {"name": "Bo", "roles": "reviewer", "login": "bo", "key": "a", "reason": "Bo is new"}
RECURS = {"spec": "visits", "period": "month", "epsilon": "1", "at": "02:00", "reason": "the board"}
FREE: dict[tuple[str, str], dict[str, Any]] = {
    # route and field of a free text, and the whole form
    ("/me/tokens", "name"): {"name": "nightly", "days": "3", "roles": "viewer"},
    ("/people", "name"): {"login": "eve", "name": "Eve E", "roles": "viewer"},
    ("/accounts", "reason"): OPEN,
    ("/accounts", "person"): OPEN | {"neighbours": "add_remove", "person": "id", "records": "2"},
    ("/accounts/{account}/cap", "reason"): CAP,
    ("/accounts/{account}/plan", "reason"): {"first": "2026", "periods": "3", **CAP},
    ("/releases/{release}/comments", "text"): {"text": "fine"},
    ("/releases/{release}/ask", "words"): {"words": "for Friday"},
    ("/releases/{release}/decline", "reason"): {"reason": "not this week"},
    ("/releases/{release}/looks", "reason"): {"reason": "it was wrong"},
    ("/releases/{release}/reopen", "reason"): {"reason": "it was explained"},
    ("/releases/{release}/withdraw", "reason"): {"reason": "it is not needed"},
    ("/releases/{release}/notice", "reason"): {"reason": "it is wrong"},
    ("/calendar", "reason"): RECURS,
    ("/calendar/{entry}/run", "revision"): {"period": "2026-01", "revision": "it is wrong"},
    ("/calendar/{entry}/remove", "reason"): {"reason": "not needed"},
    ("/calendar/proposals/{number}", "reason"): {"reason": "a slip"},
    ("/agency/cluster", "reason"): {"place": "here", "reason": "a start"},
    ("/agency/proposals", "reason"): {"text": "hallmark_profile: 1", "reason": "a start"},
    ("/agency/proposals/{number}", "reason"): {"answer": "refused", "reason": "not so"},
    ("/agency/gates", "plan"): GATES,
    ("/agency/gates", "disclosure"): GATES,
    ("/agency/gates", "reason"): GATES,
    ("/agency/approvers", "name"): APPROVER,
    ("/agency/approvers", "roles"): APPROVER,
    ("/agency/approvers", "login"): APPROVER,
    ("/agency/approvers", "key"): APPROVER,
    ("/agency/approvers", "reason"): APPROVER,
    ("/agency/approvers/remove", "name"): APPROVER,
    ("/agency/approvers/remove", "reason"): APPROVER,
}
OTHERS = {
    # fields that are compared with what there is, or read as numbers, times or specs
    "login", "password", "again", "old", "code", "next", "epsilon", "delta", "table", "spec",
    "period", "at", "timezone", "embargo_days", "embargo_at", "text", "name",
    "day", "cron", "lag", "entry", "chosen",
    "column", "type_", "to", "seen", "rotation", "first", "dictionary",
}  # fmt: skip


@pytest.fixture
def somebody(home: Path) -> TestClient:
    client = TestClient(desk)
    directory.add("ada", "Ada A", list(Role), by=TEST)
    client.headers["X-CSRF"] = session_of(client, "ada")
    return client


def test_the_table_has_every_free_text_of_a_form():
    rooms = (
        accounts, agency, answers, asking, calendar, comparing, keys, log_in, people, questions,
        releases, specs,
    )  # fmt: skip
    fields = {
        (route.path, field.name): field.field_info
        for room in rooms
        for route in room.router.routes
        if isinstance(route, APIRoute)
        for field in route.dependant.body_params
    }
    texts = {one for one, info in fields.items() if info.annotation is str}
    assert {one for one in texts - set(FREE) if one[1] not in OTHERS} == set()
    checked = {one for one in texts if "AfterValidator" in repr(fields[one].metadata)}
    assert checked == set(FREE)


@pytest.mark.parametrize(("path", "field"), FREE)
def test_control_characters_are_refused_before_anything_is_done(
    path: str, field: str, somebody: TestClient
):
    form, before = FREE[path, field], len(actions())
    place = path.format(release="none", account="none", entry="none", number=1)
    for unseen in ("\0", "\x1b[2J", "\u2028"):
        answer = somebody.post(place, data=form | {field: f"so{unseen}so"})
        assert answer.status_code == 422
        says = f"did not understand: {field}: line 1 contains the control character U+"
        assert says in answer.json()["detail"]
    assert len(actions()) == before


def test_a_reason_in_lines_is_kept_on_one(somebody: TestClient):
    reason = {"reason": "  the board,\r\nitem 1 "}
    assert somebody.post("/accounts", data=OPEN | reason).status_code == 200
    cap = CAP | {"epsilon": "2"} | reason
    assert somebody.post("/accounts/people/cap", data=cap).status_code == 200
    found = ledger().history("people")
    assert found is not None
    assert [one.payload["reason"] for one in found[1]] == ["the board, item 1"] * 2
    form = {"name": "a\r\nb", "days": "3", "roles": "viewer"}
    assert somebody.post("/me/tokens", data=form).status_code == 200
    assert [one.name for one in tokens()] == ["a b"]


def test_a_comment_keeps_its_lines(somebody: TestClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(releases, "_release", lambda *_: None)
    said = {"text": "first\r\n\r\nlast"}
    answer = somebody.post("/releases/r/comments", data=said, follow_redirects=False)
    assert answer.status_code == 303
    assert [one.text for one in comments("r")] == ["first\n\nlast"]


def test_what_is_in_lines_is_shown_in_lines():
    shown = pages._templates.from_string("{{ said | lines }}").render(said="one\r\ntwo\x1b<b>")
    assert shown == "one\ntwo\\x1b&lt;b&gt;"


def test_a_refusal_in_lines_is_shown_in_lines(somebody: TestClient):
    (specs_folder() / "mine.yaml").write_text("release: mine\n")
    page = somebody.post(
        "/releases/mine/rehearse", headers={"Accept": "text/html"}, follow_redirects=False
    )
    assert page.status_code == 409
    assert "the spec is not complete yet:\nhallmark: " in page.text


def test_rights_are_told_as_sentences(somebody: TestClient):
    viewer = TestClient(desk, headers=as_somebody(Role.VIEWER, login="vic"))
    assert viewer.get("/accounts").json()["detail"] == (
        "this needs the right to see the balances of accounts, which vic does not have; ask an "
        "administrator for a role that has it: monitor or steward or operator or reviewer or "
        "auditor"
    )
    for page in (somebody.get("/me").text, somebody.get("/people").text):
        assert all(right.words in page for right in Right)


def test_a_plan_repeats_no_warning_of_the_check_beside_it(
    somebody: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_DATA", str(tmp_path))
    example.open_account()
    text = example.write(tmp_path, 400, **example.only(tmp_path, "age", "region")).read_text()
    found = somebody.post("/specs/check", json={"text": text}).json()["problems"]
    plan = html.unescape(somebody.post("/specs/plan", json={"text": text}).text)
    assert found
    assert not [one["message"] for one in found if one["message"] in plan]


def test_a_plan_says_whether_needs_are_met(
    somebody: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_DATA", str(tmp_path))
    example.open_account()
    need = {"question": "count by region", "within": 40, "stated_by": "the <regional> unit"}
    own = example.only(tmp_path, "age", "region") | {"needs": [need]}
    text = example.write(tmp_path, 400, **own).read_text()
    plan = somebody.post("/specs/plan", json={"text": text}).text
    assert "count by region within 40 at 95 %" in plan
    assert "whatever the answers are" in plan
    assert "the &lt;regional&gt; unit" in plan
    drawn = html.unescape(somebody.post("/specs/frontier", json={"text": text}).text)
    assert drawn.startswith('<img src="data:image/svg+xml;base64,')
    assert "count by region within 40: met from epsilon" in drawn
    assert "is the least that meets all needs" in drawn
    without = text.replace("needs:", "ignored:", 1)
    assert somebody.post("/specs/frontier", json={"text": without}).status_code == 409


def test_the_page_for_the_board_has_needs_risk_cost_and_who_signs(
    somebody: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_DATA", str(tmp_path))
    example.open_account()
    need = {"question": "count by region", "within": 40, "stated_by": "the <regional> unit"}
    own = example.only(tmp_path, "age", "region") | {
        "needs": [need], "approvals": {"plan": ["methodologist"]}, "title": "<b>A table</b>",
    }  # fmt: skip
    text = example.write(tmp_path, 400, **own).read_text()
    somebody.post("/specs", data={"name": "survey"}, files={"spec": ("s.yaml", text.encode())})
    answer = somebody.get("/specs/survey/board")
    assert answer.status_code == 200
    assert "script-src" not in answer.headers["Content-Security-Policy"]  # none may run
    for told in (
        "&lt;b&gt;A table&lt;/b&gt;", "the &lt;regional&gt; unit", "<svg", "methodologist",
        "before the private data are asked", "of guesses about one unit can be right at most",
        "epsilon 2, delta 0.0001 left", "Census Bureau",
    ):  # fmt: skip
        assert told in answer.text, told


@pytest.mark.parametrize(
    ("exact", "said"), [("1/100000", "1e-05"), ("9223577/500000", "18.447154"), ("1/3", "1/3")]
)
def test_an_exact_number_of_a_plan_is_decimal_where_that_is_exact(exact: str, said: str):
    shown = pages._templates.from_string("{{ exact | decimals }}").render(exact=exact)
    assert shown == said


def test_pages_of_the_log_end_somewhere(somebody: TestClient):
    assert somebody.get("/log", params={"before": 2**70}).status_code == 422
