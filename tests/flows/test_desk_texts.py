"""What people write at the desk: with lines as they typed them, and nothing unseen."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from hallmark.flows.desk import (
    accounts,
    calendar,
    desk,
    keys,
    log_in,
    pages,
    people,
    releases,
    specs,
)
from hallmark.flows.desk.pages import ledger
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.comments import comments
from hallmark.tasks.people.rights import Role
from hallmark.tasks.people.sessions import tokens
from tests.flows.people import TEST
from tests.flows.people import log_in as session_of

CAP = {"epsilon": "1", "delta": "0", "reason": "the board, item 1"}
OPEN = CAP | {"name": "people", "neighbours": "replace_one"}
FREE: dict[tuple[str, str], dict[str, Any]] = {
    # route and field of a free text, and the whole form
    ("/me/tokens", "name"): {"name": "nightly", "days": "3", "roles": "viewer"},
    ("/people", "name"): {"login": "eve", "name": "Eve E", "roles": "viewer"},
    ("/accounts", "reason"): OPEN,
    ("/accounts", "person"): OPEN | {"neighbours": "add_remove", "person": "id", "records": "2"},
    ("/accounts/{account}/cap", "reason"): CAP,
    ("/releases/{release}/comments", "text"): {"text": "fine"},
    ("/releases/{release}/looks", "reason"): {"reason": "it was wrong"},
    ("/releases/{release}/reopen", "reason"): {"reason": "it was explained"},
    ("/releases/{release}/withdraw", "reason"): {"reason": "it is not needed"},
}
OTHERS = {
    # fields that are compared with what there is, or read as numbers, times or specs
    "login", "password", "again", "code", "next", "epsilon", "delta", "table", "spec", "period",
    "at", "timezone", "embargo_days", "embargo_at", "text", "name",
}  # fmt: skip


@pytest.fixture
def somebody(home: Path) -> TestClient:
    client = TestClient(desk)
    directory.add("ada", "Ada A", list(Role), by=TEST)
    client.headers["X-CSRF"] = session_of(client, "ada")
    return client


def test_the_table_has_every_free_text_of_a_form():
    rooms = (accounts, calendar, keys, log_in, people, releases, specs)
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
    place = path.format(release="none", account="none")
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


def test_pages_of_the_log_end_somewhere(somebody: TestClient):
    assert somebody.get("/log", params={"before": 2**70}).status_code == 422
