"""The plan of a series, approved once: what it covers, and what waits for its own approval."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.documents.manifest import APPROVALS_FILE, SERIES_PLAN_FILE, SPEC_FILE
from hallmark.tasks.gates import gates
from hallmark.tasks.verification.documents import read_documents, read_manifest
from hallmark.tasks.verification.series_plan import series_plan
from tests.flows.conftest import PLAN_GATE, Done, Hallmark, Killed
from tests.flows.series import MonthlySeries

FIRST, SECOND, THIRD = "2026-09", "2026-10", "2026-11"


@pytest.fixture
def series(hallmark: Hallmark, home: Path, tmp_path: Path) -> MonthlySeries:
    """A series whose plan is to be approved once."""
    made = MonthlySeries(hallmark, tmp_path, home, approvals=PLAN_GATE)
    made.schedule(plan_approved="once")
    made.plan()
    return made


@pytest.fixture
def approved(series: MonthlySeries) -> MonthlySeries:
    """The same, whose plan Ada approved at the gate of the first month."""
    waits = series.run(FIRST)
    assert waits.code == 7, waits
    assert "to approve its plan and that of the series" in waits.out
    assert "the plan of the whole series" in series.hallmark("waiting").out
    assert series.decide("approve", f"acs-{FIRST}", "Ada", "methodologist").code == 0
    return series


def die(*_: object) -> NoReturn:
    raise Killed


@pytest.fixture
def passed(approved: MonthlySeries, monkeypatch: pytest.MonkeyPatch) -> MonthlySeries:
    """The same, after the first month passed its gate, and was killed."""
    with monkeypatch.context() as patched:
        patched.setattr("hallmark.flows.release._stage", die)
        with pytest.raises(Killed):
            approved.run(FIRST)
    return approved


def said(done: Done) -> str:
    """What a command printed, without its line breaks."""
    return " ".join(done.out.split())


def verified(series: MonthlySeries, month: str) -> dict[str, tuple[bool, str]]:
    found = json.loads(series.hallmark("verify", series.out / f"acs-{month}", "--json").out)
    return {one["name"]: (one["ok"], one["detail"]) for one in found["checks"]}


def test_later_months_need_no_approval_of_their_plan(
    approved: MonthlySeries, monkeypatch: pytest.MonkeyPatch
):
    assert approved.run(FIRST).code == 0
    checks = verified(approved, FIRST)
    assert checks["series plan"] == (
        True,
        "approved with this release, for all periods that have a share",
    )

    with monkeypatch.context() as patched:  # killed after the gate was opened, and before it passed
        patched.setattr(gates, "pass_gate", die)
        with pytest.raises(Killed):
            approved.run(SECOND)
    done = approved.run(SECOND)
    assert done.code == 0, done
    checks = verified(approved, SECOND)
    assert all(ok for ok, _ in checks.values()), checks
    assert checks["series plan"][1].startswith(f"approved once, at the gate of acs-{FIRST}, by Ada")
    told = json.loads((approved.out / f"acs-{SECOND}" / APPROVALS_FILE).read_text())
    assert [(one["person"], one["outcome"]) for one in told["decisions"]] == [
        ("Ada", f"counted: approved once for the whole series, at the gate of acs-{FIRST}")
    ]
    assert [one.get("gate") for one in told["said"]] == ["plan", "plan"]  # opened once, and passed
    report = (approved.out / f"acs-{SECOND}" / "audit-report.html").read_text()
    assert "approved once for the whole series" in report
    assert approved.run(SECOND).code == 0  # published, and left alone
    tampered_folders_are_found(approved.out / f"acs-{SECOND}")


def tampered_folders_are_found(folder: Path) -> None:
    """Whoever signs what was changed, the approval does not cover it."""
    told = read_documents(folder, read_manifest(folder))
    plan, spec = folder / SERIES_PLAN_FILE, folder / SPEC_FILE
    for file, old, new, fault in (
        (
            plan,
            '"2026-10": "1/20"',
            '"2026-10": "1/2"',
            "series-plan.json is not what was approved",
        ),
        (spec, "title: A", "title: B", "is not the template that was approved, filled in"),
        (spec, "hallmark: 1", "hallmark:  1", "filled in with 2026-10: comments or layout"),
    ):
        before = file.read_text()
        assert old in before
        file.write_text(before.replace(old, new))
        (check,) = series_plan(folder, told)
        assert not check.ok
        assert fault in check.detail
        file.write_text(before)
    dear = told.record.model_copy(
        update={
            "mechanism": told.record.mechanism.model_copy(
                update={"events": told.record.mechanism.events * 9}
            )
        }
    )
    (check,) = series_plan(folder, replace(told, record=dear))
    assert "and the share of 2026-10 that was approved is 0.05" in check.detail


def test_what_differs_waits_for_an_approval_of_its_own_which_is_the_series_then(
    approved: MonthlySeries,
):
    assert approved.run(FIRST).code == 0
    approved.change("epsilon: '1'", "epsilon: '1.1'")
    waits = approved.run(SECOND)
    assert waits.code == 7, waits
    assert f"filled in with {SECOND}: privacy.epsilon (1.1, approved was 1)" in said(waits)
    assert "privacy.epsilon (1.1, approved was 1)" in said(approved.hallmark("waiting"))
    assert approved.decide("approve", f"acs-{SECOND}", "Ada", "methodologist").code == 0
    assert approved.run(SECOND).code == 0
    assert approved.run(THIRD).code == 0  # as approved at the second
    assert f"at the gate of acs-{SECOND}" in verified(approved, THIRD)["series plan"][1]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("account", "it is paid by account others, and approved was test-people"),
        ("late period", "period 2026-12 has no share in the plan that was approved"),
        ("share", "the share of 2026-09 is rho 0.04, and was 0.05"),
        ("person", "the approval by Ada no longer counts: the profile does not list them"),
        ("each", "it is not run by a calendar's entry that is approved once"),
        ("title", "title (Other people, approved was"),
        ("roles", "no approval of the series by reviewer counts"),
        ("embargo", "embargo ("),
    ],
)
def test_each_difference_is_told(what: str, told: str, passed: MonthlySeries):
    month = SECOND
    match what:
        case "account":
            passed.open("others")
            passed.plan(account="others")
            passed.change("account: test-people", "account: others")
        case "late period":
            month = "2026-12"
            passed.table(month)
        case "share":
            passed.plan(Fraction(1, 25))
        case "person":
            profile = YAML().load(passed.home / "profile.yaml")
            profile["approvers"][0]["name"] = "Eve"
            YAML().dump(profile, passed.home / "profile.yaml")
        case "each":
            passed.schedule()
        case "title":
            text = passed.spec.read_text()
            (line,) = (one for one in text.splitlines() if one.startswith("title:"))
            passed.change(line, "title: Other people")
        case "roles":
            profile = YAML().load(passed.home / "profile.yaml")
            profile["approvals"] = {"plan": ["reviewer"]}
            YAML().dump(profile, passed.home / "profile.yaml")
        case "embargo":
            passed.schedule(plan_approved="once", embargo={"days": 4, "at": "09:00"})
    waits = passed.run(month)
    assert waits.code == 7, waits
    assert told in said(waits)


def test_who_approved_the_series_starts_no_month_of_it(
    passed: MonthlySeries, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_OPERATOR", "ada")
    waits = passed.run(SECOND)
    assert waits.code == 7
    assert "the approval by Ada no longer counts: they start this release themselves" in waits.out


def test_code_that_was_not_approved_waits(passed: MonthlySeries, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gates, "code_digest", lambda: "f" * 64)
    waits = passed.run(SECOND)
    assert waits.code == 7
    assert "the code is not what was approved" in waits.out


def test_an_override_is_of_one_release_alone(
    series: MonthlySeries, monkeypatch: pytest.MonkeyPatch
):
    assert series.run(FIRST).code == 7
    assert series.decide("override", f"acs-{FIRST}", "Ola").code == 0
    monkeypatch.setattr("hallmark.flows.release._stage", die)
    with pytest.raises(Killed):
        series.run(FIRST)
    waits = series.run(SECOND)
    assert waits.code == 7
    assert "no approval of the series by methodologist counts" in waits.out


def test_a_series_without_a_plan_is_not_approved_once(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    series = MonthlySeries(hallmark, tmp_path, home, approvals=PLAN_GATE)
    series.schedule(plan_approved="once")
    done = series.run(FIRST)
    assert done.code == 2
    assert "plan the series first: hallmark ledger plan test-people --from 2026-09" in done.error
