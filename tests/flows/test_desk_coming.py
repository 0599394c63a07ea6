"""The desk shows of a series which periods are to come, with their shares, and what waits."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import desk
from hallmark.tasks.people.rights import Role
from tests.flows.conftest import PLAN_GATE, Hallmark
from tests.flows.people import as_somebody
from tests.flows.series import MonthlySeries

FIRST, SECOND = "2026-09", "2026-10"


@pytest.fixture
def series(
    hallmark: Hallmark, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MonthlySeries:
    """A series that the calendar knows, whose first month waits for the approval of its plan."""
    made = MonthlySeries(hallmark, tmp_path, home, approvals=PLAN_GATE)
    made.schedule(plan_approved="once")
    made.plan()
    assert made.run(FIRST).code == 7
    entry = engine.CalendarEntry(
        name="acs",
        calendar=str(made.calendar),
        out="",
        schedules=(("0 2 1 * *", "UTC"),),
        paused=False,
        next=datetime.now(UTC),
    )
    monkeypatch.setattr(engine, "calendar", lambda: [entry])
    return made


def rows(page: str) -> dict[str, str]:
    """The rows of the periods to come, by period, without tags."""
    _, _, table = page.partition("Periods of acs to come")
    found = re.findall(r"<tr>(.*?)</tr>", table.partition("</table>")[0], re.S)
    told = [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in found]
    return {row.split()[0]: row for row in told if row.startswith("20")}


def test_periods_are_told_with_their_shares_and_what_waits(series: MonthlySeries):
    client = TestClient(desk, headers=as_somebody(Role.OPERATOR, Role.STEWARD, login="tom"))
    told = rows(client.get("/calendar").text)
    assert "ρ 0.05" in told[FIRST]
    assert "waiting: at the plan gate for: methodologist" in told[FIRST]
    assert "not begun yet" in told[SECOND]
    viewer = TestClient(desk, headers=as_somebody(Role.VIEWER, login="vera"))
    seen = rows(viewer.get("/calendar").text)
    assert "ρ" not in seen[FIRST]


def test_who_decides_is_told_that_it_is_about_the_whole_series(series: MonthlySeries):
    client = TestClient(desk, headers=as_somebody(Role.REVIEWER, login="ada"))
    page = " ".join(client.get(f"/releases/acs-{FIRST}").text.split())
    assert "You decide about the whole series" in page
    assert "3 periods: 2026-09, 2026-10, 2026-11" in page
    template = client.get(f"/releases/acs-{FIRST}/files/series-plan.json")
    assert template.status_code == 200
    assert "acs-{period}" in template.json()["template"]
