"""The agency's profile at the desk: two governors, and nobody else, change it."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.flows.desk.schedules import ScheduleText
from hallmark.tasks import governance
from hallmark.tasks.governance import proposals
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.rights import Role
from tests.flows.people import TEST, as_somebody, introduce, log_in


def governor(login: str) -> TestClient:
    directory.add(login, f"The {login}", [Role.GOVERNOR], by=TEST)
    browser = TestClient(desk, headers={"Accept": "text/html"})
    browser.headers["X-CSRF"] = log_in(browser, login)
    return browser


@pytest.fixture
def listed(home: Path, tmp_path: Path) -> Path:
    introduce(tmp_path / "keys", home)
    return home


def test_two_governors_change_the_gates_and_all_of_it_is_told(listed: Path):
    gina, hugo = governor("gina"), governor("hugo")
    page = gina.post("/agency/gates", data={"plan": "methodologist", "reason": "from <now> on"})
    assert page.status_code == 200
    assert "Withdraw it" in page.text
    assert "Approve: it is in force at once" not in page.text
    (made,) = proposals()
    alone = gina.post("/agency/proposals/1", data={"answer": "approved", "reason": "I like it"})
    assert alone.status_code == 409
    assert "nobody decides about their own proposal" in alone.text
    assert profile().approvals.plan == ()
    seen = hugo.get("/agency").text
    assert "+approvals:" in seen
    assert "from &lt;now&gt; on" in seen
    assert hugo.post(
        "/agency/proposals/1", data={"answer": "approved", "reason": "agreed"}
    ).status_code == 200  # fmt: skip
    assert profile().approvals.plan == ("methodologist",)
    assert "1, profile: approved by hugo" in gina.get("/agency").text
    told = [(one.who, one.action) for one in actions()[:4]]
    assert told == [
        ("hugo", "change-decided"), ("gina", "not-done"), ("gina", "change-decided"),
        ("gina", "change-proposed"),
    ]  # fmt: skip
    assert made.by == "gina"


def test_approvers_come_and_go(listed: Path):
    gina, hugo = governor("gina"), governor("hugo")
    for path, form, left in (
        ("remove", {"name": "Bo"}, {"Ada", "Cy", "Ola"}),
        ("", {"name": "Ada", "roles": "reviewer, lead", "key": profile().approvers[0].key},
         {"Ada", "Cy", "Ola"}),
    ):  # fmt: skip
        gina.post(f"/agency/approvers/{path}".rstrip("/"), data=form | {"reason": "changes"})
        number = str(proposals()[0].number)
        hugo.post(f"/agency/proposals/{number}", data={"answer": "approved", "reason": "agreed"})
        assert {one.name for one in profile().approvers} == left
    ada = next(one for one in profile().approvers if one.name == "Ada")
    assert ada.roles == ("reviewer", "lead")


def test_a_proposal_that_was_overtaken_is_said_to_be_so(listed: Path):
    gina, hugo = governor("gina"), governor("hugo")
    for plan in ("methodologist", "reviewer"):
        gina.post("/agency/gates", data={"plan": plan, "reason": "changes"})
    assert "has changed since" not in hugo.get("/agency").text
    hugo.post("/agency/proposals/2", data={"answer": "approved", "reason": "agreed"})
    page = hugo.get("/agency").text
    assert "This can no longer be approved: the profile has changed since proposal 1" in page
    assert "it is in force at once" not in page
    assert "Refuse it" in page


def test_somebody_who_left_is_no_half_of_two_people(listed: Path):
    """One governor is left with what another one proposed, and cannot bring it into force alone."""
    gina, hugo = governor("gina"), governor("hugo")
    gina.post("/agency/gates", data={"plan": "methodologist", "reason": "changes"})
    assert "Approve: it is in force at once" in hugo.get("/agency").text
    directory.leave("gina", by=TEST)
    page = hugo.get("/agency").text
    assert "proposal 1 was made by gina, who may no longer propose it; propose it anew" in page
    assert "it is in force at once" not in page
    agreed = {"answer": "approved", "reason": "agreed"}
    refused = hugo.post("/agency/proposals/1", data=agreed)
    assert refused.status_code == 409
    assert "who may no longer propose it" in refused.text
    assert profile().approvals.plan == ()
    assert [(one.who, one.action) for one in actions()[:2]] == [
        ("hugo", "not-done"), ("hugo", "change-decided"),
    ]  # fmt: skip
    assert hugo.post(
        "/agency/gates", data={"plan": "methodologist", "reason": "anew"}
    ).status_code == 200  # fmt: skip
    assert hugo.post("/agency/proposals/2", data=agreed).status_code == 409


def test_what_is_no_profile_is_refused_with_its_lines(listed: Path):
    refused = governor("gina").post(
        "/agency/proposals", data={"text": "approvers: 3", "reason": "a slip"}
    )
    assert refused.status_code == 409
    assert "line 1: approvers" in refused.text
    assert str(listed) not in refused.text


def test_no_administrator_becomes_a_governor_nor_two(listed: Path):
    governor("gina")
    directory.add("adam", "Adam Admin", [Role.ADMINISTRATOR], by=TEST)
    adam = TestClient(desk, headers={"Accept": "text/html"})
    adam.headers["X-CSRF"] = log_in(adam, "adam")
    for path, form in (
        ("/people", {"login": "eve", "name": "Eve Else", "roles": "governor"}),
        ("/people/adam/roles", {"roles": ["administrator", "governor"]}),
        ("/people/gina/roles", {"roles": "viewer"}),
        ("/people/gina/invite", {}),
    ):
        refused = adam.post(path, data=form)
        assert refused.status_code == 409, path
        assert "decided where the installation is run" in refused.text
    page = adam.get("/people").text
    assert 'value="governor"' not in page
    assert "/people/gina/invite" not in page
    assert "/people/adam/invite" in page
    assert adam.get("/agency").status_code == 403
    assert directory.person("eve") is None


def test_a_link_that_was_made_before_somebody_became_governor_ends(listed: Path):
    directory.add("hugo", "Hugo", [Role.VIEWER], by=TEST)
    link = directory.invite("hugo", by=TEST)
    directory.set_roles("hugo", [Role.GOVERNOR], by=TEST)
    assert directory.invitation(link) is None


def test_no_program_governs(listed: Path):
    program = TestClient(desk, headers=as_somebody(Role.GOVERNOR))
    assert program.get("/agency").status_code == 403
    refused = program.post("/agency/gates", data={"plan": "x", "reason": "none"})
    assert refused.status_code == 403
    assert "no program does this" in refused.json()["detail"]


def test_two_governors_say_by_a_form_where_releases_run(listed: Path):
    gina, hugo = governor("gina"), governor("hugo")
    form = {"place": "local", "processes": "2", "memory": "4", "address": "kept out"}
    refused = gina.post("/agency/cluster", data=form | {"reason": "faster"})
    assert refused.status_code == 409
    assert '<li data-field="cluster.local.memory">must be a size, such as 4GiB' in refused.text
    gina.post("/agency/cluster", data=form | {"memory": "4GiB", "reason": "faster"})
    assert profile().cluster is None
    assert gina.post(
        "/agency/proposals/1", data={"answer": "approved", "reason": "mine"}
    ).status_code == 409  # fmt: skip
    hugo.post("/agency/proposals/1", data={"answer": "approved", "reason": "agreed"})
    cluster = profile().cluster
    assert cluster is not None
    assert cluster.local is not None
    assert (cluster.local.processes, cluster.local.memory) == (2, "4GiB")
    page = gina.get("/agency").text
    assert '<option value="local" selected>' in page
    assert 'name="memory" aria-describedby="in-memory-help" value="4GiB"' in page


def test_the_calendar_is_proposed_to_governors_on_their_first_page(listed: Path):
    made = governance.propose(
        Told(), "cron: 1\n---\nrelease: x", "the board", by="olga"
    )  # an entry that a desk with an orchestrator checked
    page = governor("gina").get("/").text
    assert f"Proposal {made.number}" in page
    assert "olga proposes to change the entry visits of the calendar" in page


class Told(ScheduleText):
    """An entry that is sound."""

    def __init__(self) -> None:
        super().__init__("visits")

    def refuse_unsound(self, text: str) -> None:
        pass
