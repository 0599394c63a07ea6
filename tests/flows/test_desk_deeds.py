"""Whatever is done at the desk is in its log before it is done, wherever the desk is killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import desk
from hallmark.flows.desk.routes import NEEDED
from hallmark.mechanisms.privacy.adjacency import Neighbours
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import Action, actions
from hallmark.tasks.people.rights import Right, Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.recurring import scheduling
from hallmark.tasks.planning.uploads import Place, keep
from tests import example
from tests.flows.people import as_somebody, log_in
from tests.flows.test_desk import decision

Send = Callable[[str], Response]
HERE = "hallmark.flows.desk"
REASON = {"reason": "for the test"}
TABLE = {"table": ("t.csv", b"a\n1\n")}
CAP = {"epsilon": "1", "delta": "1e-6", **REASON}
RECURS = {"spec": "weekly", "period": "week", "at": "06:00", "epsilon": "1", "delta": "1e-6"}
MONTHLY = {"period": "month", "cron": "0 6 1 * *", "budget": {"epsilon": "1", "delta": "1e-6"}}
DEEDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # route: what does it, what the log calls it, and what is sent
    "/decisions": (f"{HERE}.releases.decide", "decided", {}),
    "/releases/{release}/ask": (f"{HERE}.asking.looked_at", "asked", {}),
    "/releases/{release}/decline": (
        "hallmark.tasks.asked.decline", "declined", {"data": REASON},
    ),
    "/releases/{release}/start": ("hallmark.flows.engine.start", "ordered", {}),
    "/releases/{release}/rehearse": ("hallmark.flows.engine.start", "ordered", {}),
    "/releases/{release}/stop": ("hallmark.flows.engine.stop", "stopped", {}),
    "/releases/{release}/reopen": (
        "hallmark.tasks.gates.approvals.reopen", "reopened", {"data": REASON},
    ),
    "/releases/{release}/withdraw": (f"{HERE}.releases.withdraw", "withdrawn", {"data": REASON}),
    "/releases/{release}/notice": (
        f"{HERE}.releases.refuse_to_withdraw", "ordered", {"data": REASON},
    ),
    "/accounts": (
        f"{HERE}.accounts.refuse_rolled_back", "account-opened",
        {"data": CAP | {"name": "others", "neighbours": Neighbours.REPLACE_ONE.value}},
    ),
    "/accounts/{account}/cap": (
        f"{HERE}.accounts.refuse_rolled_back", "cap-changed", {"data": CAP},
    ),
    "/accounts/{account}/plan": (
        f"{HERE}.accounts.refuse_rolled_back", "series-planned",
        {"data": {"first": "2026", "periods": "3", **REASON}},
    ),
    "/calendar": (
        "hallmark.tasks.governance.propose", "change-proposed", {"data": REASON | RECURS},
    ),
    "/calendar/{entry}/run": ("hallmark.flows.engine.start", "ordered", {}),
    "/calendar/{entry}/remove": (
        "hallmark.tasks.governance.propose", "change-proposed", {"data": REASON},
    ),
    "/calendar/proposals/{number}": (
        "hallmark.tasks.governance.decide", "change-decided", {"data": REASON},
    ),
    "/tables": (f"{HERE}.tables.keep", "table-uploaded", {"files": TABLE}),
    "/tables/{kind}/{name}/form": (f"{HERE}.tables.confirm", "form-confirmed", {}),
    "/tables/{kind}/{name}/replace": (f"{HERE}.tables.keep", "table-replaced", {"files": TABLE}),
    "/tables/{kind}/{name}/remove": (f"{HERE}.tables.remove", "table-removed", {}),
    "/tables/{kind}/{name}/private": (f"{HERE}.tables.make_private", "table-made-private", {}),
    "/specs/{name}/validate": ("hallmark.flows.engine.start", "ordered", {}),
    "/specs": (
        f"{HERE}.drafts.keep", "spec-saved",
        {"data": {"name": "another"}, "files": {"spec": ("s.yaml", b"release: another\n")}},
    ),
    "/specs/{name}": (f"{HERE}.drafts.keep", "spec-saved", {"data": {"text": "release: draft\n"}}),
    "/specs/{name}/about": (f"{HERE}.drafts.keep", "spec-saved", {"data": {"title": "A title"}}),
    "/specs/{name}/columns": (
        f"{HERE}.drafts.keep", "spec-saved", {"data": {"column": "age", "type": "numeric"}},
    ),
    "/specs/{name}/mechanism": (
        f"{HERE}.drafts.keep", "spec-saved", {"data": {"chosen": "pmm"}},
    ),
    "/specs/{name}/questions": (
        f"{HERE}.drafts.keep", "spec-saved", {"data": {"title": "A title"}},
    ),
    "/specs/{name}/columns/ignore": (
        f"{HERE}.drafts.keep", "spec-saved", {"data": {"column": "age"}},
    ),
    "/specs/{name}/rules": (
        f"{HERE}.drafts.keep", "spec-saved",
        {"data": {"then.column": "age", "then.is": ">", "then.value": "1", "source": "the book"}},
    ),
    "/specs/{name}/rules/remove": (
        f"{HERE}.drafts.keep", "spec-saved", {"data": {"number": "0"}},
    ),
    "/specs/{name}/remove": ("pathlib.Path.unlink", "spec-removed", {}),
    "/agency/proposals": (
        "hallmark.tasks.governance.propose", "change-proposed", {"data": REASON | {"text": "a"}},
    ),
    "/agency/gates": ("hallmark.tasks.governance.propose", "change-proposed", {"data": REASON}),
    "/agency/cluster": (
        "hallmark.tasks.governance.propose", "change-proposed",
        {"data": REASON | {"place": "here"}},
    ),
    "/agency/approvers": (
        "hallmark.tasks.governance.propose", "change-proposed",
        {"data": REASON | {"name": "Bo", "roles": "reviewer", "key": "x"}},
    ),
    "/agency/approvers/remove": (
        "hallmark.tasks.governance.propose", "change-proposed", {"data": REASON | {"name": "Bo"}},
    ),
    "/agency/proposals/{number}": (
        "hallmark.tasks.governance.decide", "change-decided",
        {"data": REASON | {"answer": "refused"}},
    ),
}  # fmt: skip
NOTHING_CHANGES = {
    "/specs/check",
    "/specs/plan",
    "/specs/alternative",
    "/specs/frontier",
    "/tables/{kind}/{name}/look",
    "/specs/{name}/columns/type",
    "/specs/{name}/mechanism/name",
}
IN_ONE_TRANSACTION = {"/releases/{release}/comments"}  # with their entry, in the file of people


def test_no_deed_is_left_out_here():
    """But for what administrators and everybody do about people, which is one transaction."""
    done = {
        path
        for (method, path), needed in NEEDED.items()
        if method == "POST" and isinstance(needed, Right) and needed != Right.MANAGE
    }
    assert done == {*DEEDS, *NOTHING_CHANGES, *IN_ONE_TRANSACTION}


@pytest.fixture
def send(keys: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Send:
    """Sends a request to a route, for which all is there that it needs."""
    (specs_folder() / "draft.yaml").write_text(
        "release: draft\ncolumns: {age: {}}\nconstraints: [{rule: a = 1}]\n"
    )
    few = example.only(tmp_path / "monthly", "age", "region")
    monthly = example.write(tmp_path / "monthly", 5, release="monthly-{period}", **few)
    with scheduling("monthly", monthly.read_text(), MONTHLY, "tess") as calendar:
        pass
    entry = engine.CalendarEntry(
        name="monthly",
        calendar=str(calendar),
        out="",
        schedules=(),
        paused=False,
        next=None,
    )
    monkeypatch.setattr(engine, "calendar", lambda: [entry])
    few = example.only(tmp_path / "weekly", "age", "region")
    weekly = example.write(tmp_path / "weekly", 5, release="weekly-{period}", **few)
    text = weekly.read_text().replace(f"{weekly.parent}/", "")
    (specs_folder() / "weekly.yaml").write_text(text)
    (weekly.parent / "table.csv").rename(tables_folder() / "table.csv")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    everything = [role for role in Role if role != Role.ADMINISTRATOR]
    sender = TestClient(desk, headers=as_somebody(*everything))
    browser = TestClient(desk)
    browser.headers["X-CSRF"] = log_in(browser, "tess")
    codes = Place("public", "codes.csv")
    (tmp_path / "codes.csv").write_text("code\n1\n")
    keep(codes, tmp_path / "codes.csv", "tess", replace=False)

    def send(route: str) -> Response:
        name = "weekly" if route.endswith("/validate") else "draft"
        path = route.format(
            release="draft" if route.endswith("/ask") else "test-release",
            account="test-people",
            entry="monthly",
            number=1,
            kind=codes.kind,
            name=codes.name if route.startswith("/tables") else name,
        )
        given = dict(DEEDS[route][2])
        if route == "/decisions":
            given["json"] = decision(keys)
        in_person = route.endswith(("/form", "/notice")) or route.startswith("/agency")
        person = browser if in_person else sender
        return person.post(path, follow_redirects=False, **given)

    return send


@pytest.mark.parametrize("route", DEEDS)
def test_a_deed_is_told_before_it_is_done_and_if_it_is_refused(
    send: Send, route: str, monkeypatch: pytest.MonkeyPatch
):
    seen: list[Action] = []

    def refuse(*_: object, **__: object) -> None:
        seen.extend(actions(most=1))
        raise SafeError("not today")

    deed, called, _ = DEEDS[route]
    with monkeypatch.context() as patched:
        patched.setattr(deed, refuse)
        answer = send(route)
    assert (answer.status_code, answer.json()) == (409, {"detail": "not today"})
    (told,) = seen
    assert (told.who, told.action) == ("tess", called)
    after, same = actions(most=2)
    assert same == told
    assert (after.action, after.about) == ("not-done", told.about)
    assert after.details == {"entry": str(told.number), "why": "not today"}


def test_of_an_unexpected_error_only_the_kind_is_told(send: Send, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise ValueError("of person 4711")

    monkeypatch.setattr("hallmark.flows.desk.releases.withdraw", fail)
    with pytest.raises(ValueError, match="4711"):
        send("/releases/{release}/withdraw")
    assert actions(most=1)[0].details["why"] == "ValueError"
