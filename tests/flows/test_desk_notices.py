"""What the desk says of a published release: that it is withdrawn, and that its period is revised.

It has no key to sign with: it orders, and a run gives the notice.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from hallmark.flows import engine
from hallmark.flows.cli.app import app
from hallmark.flows.desk import desk
from hallmark.schemas.documents.manifest import REPORT_FILE
from hallmark.schemas.documents.notice import SignedNotice, notice_file
from hallmark.tasks.installation.operator import Order, OrderRefused, numbered
from hallmark.tasks.notices import NoticeRefused
from hallmark.tasks.ordered_withdrawals import ordered_withdrawal, withdraw_as_ordered
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.rights import Right, Role, rights_of
from hallmark.tasks.runs import status
from hallmark.tasks.verification import verify_release
from hallmark.tasks.verification.as_signed import NotAsSigned
from tests.flows.conftest import Done
from tests.flows.people import TEST, as_somebody, log_in
from tests.flows.series import MonthlySeries

PERIOD, NEXT = "2026-09", "2026-10"
RELEASE = f"acs-{PERIOD}"
REVISION = f"{RELEASE}-r1"
WHY = {"reason": "regions were\ncoded by the old list"}


def in_process(*arguments: str | Path) -> Done:
    ran = CliRunner().invoke(app, [*map(str, arguments)])
    return Done(ran.exit_code, ran.output, repr(ran.exception))


@pytest.fixture(scope="module")
def made(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MonthlySeries]:
    """A series whose first month is published."""
    folder = tmp_path_factory.mktemp("series")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        series = MonthlySeries(in_process, folder, folder / "home")
        series.plan()
        done = series.run(PERIOD)
        assert done.code == 0, done
        yield series


@dataclass
class Site:
    """A desk with a copy of that installation, and what it starts there."""

    out: Path
    started: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def notice(self) -> Path:
        return self.out / notice_file(RELEASE, "withdrawn")


@pytest.fixture
def site(made: MonthlySeries, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    shutil.copytree(made.home, home)
    site = Site(Path(shutil.copytree(made.out, tmp_path / "out")))
    run = home / "work" / RELEASE / "run.json"
    run.write_text(run.read_text().replace(str(made.out), str(site.out)))
    entry = engine.CalendarEntry(
        name="acs",
        calendar=str(made.calendar),
        out=str(site.out),
        schedules=(("0 2 1 * *", "UTC"),),
        paused=False,
        next=datetime.now(UTC),
    )
    monkeypatch.setattr(engine, "calendar", lambda: [entry])
    monkeypatch.setattr(engine, "start", lambda of, given, **_: site.started.append((of, given)))
    return site


def browser(login: str, *roles: Role) -> TestClient:
    directory.add(login, f"The {login}", roles, by=TEST)
    client = TestClient(desk, headers={"Accept": "text/html"}, follow_redirects=False)
    client.headers["X-CSRF"] = log_in(client, login)
    return client


def words(page: str) -> str:
    return " ".join(page.split())


@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.OPERATOR])
def test_what_is_ordered_at_the_desk_is_signed_by_a_run(role: Role, site: Site):
    from hallmark.flows.withdrawal import withdrawal

    gina = browser("gina", role)
    assert "Withdraw it" in gina.get(f"/releases/{RELEASE}").text
    assert gina.post(f"/releases/{RELEASE}/notice", data=WHY).status_code == 303
    ((of, given),) = site.started
    assert (of, given["release"]) == ("withdrawal/on-demand", RELEASE)
    assert not site.notice.exists()
    assert "gina ordered that it is withdrawn" in gina.get(f"/releases/{RELEASE}").text

    before = {one: one.read_bytes() for one in (site.out / RELEASE).iterdir()}
    assert withdrawal(**given) == str(site.notice)
    said = site.notice.read_bytes()
    notice = SignedNotice.model_validate_json(said).notice
    assert (notice.kind, notice.reason) == ("withdrawn", "regions were coded by the old list")
    assert {one: one.read_bytes() for one in (site.out / RELEASE).iterdir()} == before
    assert not verify_release(site.out / RELEASE, notices=[site.out]).ok
    page = words(gina.get(f"/releases/{RELEASE}").text)
    assert "A signed notice says: withdrawn on" in page
    assert "ordered that it is withdrawn" not in page
    assert "Withdraw it" not in page
    viewer = browser("vera", Role.VIEWER)
    assert "A signed notice says: withdrawn on" in viewer.get(f"/releases/{RELEASE}").text
    assert "a notice beside it says that it is withdrawn" in viewer.get("/").text
    told = next(one for one in actions() if one.action == "ordered")
    assert (told.who, told.about, told.details["notice"]) == ("gina", RELEASE, "withdrawn")

    # Twice is once: for the order, and for another one.
    assert withdrawal(**given) == str(site.notice)
    again = gina.post(f"/releases/{RELEASE}/notice", data=WHY)
    assert (again.status_code, "was withdrawn on" in again.text) == (409, True)
    assert site.notice.read_bytes() == said
    assert len(site.started) == 1


def test_nobody_else_withdraws_a_release(site: Site):
    """Neither by a role, nor by a stolen token, nor from another site's page."""
    for role in Role:
        if Right.WITHDRAW in rights_of([role]):
            program = TestClient(desk, headers=as_somebody(role, login=f"p-{role}"))
            answer = program.post(f"/releases/{RELEASE}/notice", data=WHY)
            says = "no program does this"
            assert "Withdraw it" not in program.get(f"/releases/{RELEASE}").text
        else:
            client = browser(str(role), role)
            answer = client.post(f"/releases/{RELEASE}/notice", data=WHY)
            says = "this needs the right"
            assert "Withdraw it" not in client.get(f"/releases/{RELEASE}").text
        assert (answer.status_code, says in answer.text) == (403, True), role
    gina = browser("gina", Role.GOVERNOR)
    del gina.headers["X-CSRF"]
    assert gina.post(f"/releases/{RELEASE}/notice", data=WHY).status_code == 403
    assert site.started == []
    assert ordered_withdrawal(RELEASE) is None


def test_whoever_can_start_runs_withdraws_nothing(site: Site):
    """A run is given an order's number alone, and only one to withdraw this release will do."""
    now = datetime.now(UTC)
    to_run = numbered(Order(release=RELEASE, by="tom", at=now))
    of_another = numbered(Order(release="acs", what="withdraw", by="tom", at=now, reason="none"))
    for number in ("0" * 32, "../../orders", "", to_run, of_another):
        with pytest.raises(OrderRefused):
            withdraw_as_ordered(RELEASE, number)
    unpublished = numbered(Order(release=NEXT, what="withdraw", by="tom", at=now, reason="none"))
    with pytest.raises(NoticeRefused, match="was not published"):
        withdraw_as_ordered(NEXT, unpublished)
    assert list(site.out.glob("*.withdrawn.*")) == []


def test_why_a_run_could_not_withdraw_is_told_and_it_is_ordered_again(site: Site):
    gina = browser("gina", Role.GOVERNOR)
    report = site.out / RELEASE / REPORT_FILE
    sound = report.read_bytes()
    report.write_bytes(b"another")
    for _ in range(2):
        assert gina.post(f"/releases/{RELEASE}/notice", data=WHY).status_code == 303
        with pytest.raises(NotAsSigned):
            withdraw_as_ordered(**_given(site))
        page = words(gina.get(f"/releases/{RELEASE}").text)
        assert "The run that was to sign the notice failed" in page
        assert "is not as it was signed" in page
    report.write_bytes(sound)
    assert gina.post(f"/releases/{RELEASE}/notice", data=WHY).status_code == 303
    assert "failed" not in gina.get(f"/releases/{RELEASE}").text
    assert withdraw_as_ordered(**_given(site)) == site.notice
    assert ordered_withdrawal(RELEASE) is None


def _given(site: Site) -> dict[str, Any]:
    _, given = site.started[-1]
    return {"release": given["release"], "number": given["order"]}


def test_what_cannot_be_withdrawn_is_not_ordered(site: Site, monkeypatch: pytest.MonkeyPatch):
    gina = browser("gina", Role.GOVERNOR)
    refused = {
        "none": (404, "there is no release"),
        "..%2Facs": (404, ""),
        REVISION: (409, f"release {REVISION!r} is ordered; only what is published is withdrawn"),
    }
    tom = browser("tom", Role.OPERATOR)
    revise = {"period": PERIOD, "revision": "codes"}
    assert tom.post("/calendar/acs/run", data=revise).status_code == 303
    for release, (code, says) in refused.items():
        answer = gina.post(f"/releases/{release}/notice", data=WHY)
        assert (answer.status_code, says.replace("'", "&#39;") in answer.text) == (code, True)
    short = gina.post(f"/releases/{RELEASE}/notice", data={"reason": "\n x \n"})
    assert (short.status_code, "say in 3 to 1,000 why" in short.text) == (409, True)
    assert ordered_withdrawal(RELEASE) is None
    under_way = engine.EngineRun("1", "a", "withdrawal", "Running", None, None, under_way=True)
    monkeypatch.setattr(engine, "runs_of", lambda _: [under_way])
    twice = gina.post(f"/releases/{RELEASE}/notice", data=WHY)
    assert (twice.status_code, "was ordered already" in twice.text) == (409, True)
    assert [of for of, _ in site.started] == ["calendar-release/acs"]


def test_a_period_is_revised_on_somebodys_order(site: Site):
    from hallmark.flows.scheduled import calendar_release

    tom = browser("tom", Role.OPERATOR)
    form = {"period": PERIOD, "revision": "regions were coded\nby the old list"}
    page = tom.get("/calendar").text
    assert "Revise a published period of acs" in page
    assert f"<option>{PERIOD}</option>" in page
    assert f'name="period" value="{NEXT}"' in page  # a late one is run from its row
    for _ in range(2):
        answer = tom.post("/calendar/acs/run", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/releases/{REVISION}")
    assert {given["revision"] for _, given in site.started} == {
        "regions were coded by the old list"
    }
    orders = [given for _, given in site.started]
    for given in orders:  # the second finds it done
        calendar_release(**given)
    revised = status(REVISION)
    assert revised is not None
    assert revised.by == "tom"
    assert sorted(one.name for one in site.out.iterdir() if one.is_dir()) == [RELEASE, REVISION]
    assert verify_release(site.out / REVISION).ok
    told = words(tom.get(f"/releases/{RELEASE}").text)
    assert f"A signed notice says: superseded by {REVISION} on" in told
    again = tom.post("/calendar/acs/run", data=form)
    assert (again.status_code, "was made for this reason" in again.text) == (409, True)
    assert len(site.started) == 2


def test_what_cannot_be_revised_is_not_ordered(site: Site):
    tom, stella = browser("tom", Role.OPERATOR), browser("stella", Role.STEWARD)
    for form, says in (
        ({"period": NEXT, "revision": "codes"}, "only what is published can be revised"),
        ({"period": PERIOD, "revision": "x"}, "say in 3 to 1,000 characters why"),
        ({"period": "2026-13", "revision": "codes"}, "2026-13"),
    ):
        answer = tom.post("/calendar/acs/run", data=form)
        assert (answer.status_code, says in answer.text) == (409, True), form
    form = {"period": PERIOD, "revision": "codes"}
    assert stella.post("/calendar/acs/run", data=form).status_code == 403
    assert "Revise a published period" not in stella.get("/calendar").text
    assert site.started == []
