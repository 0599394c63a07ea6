"""Releases that somebody must approve: they stop, say what they wait for, and go on after it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.decisions import ApprovalsFile, SignedDecision
from hallmark.schemas.documents.manifest import APPROVALS_FILE
from hallmark.tasks.gates.decision_keys import is_genuine
from hallmark.tasks.installation.workspace import ledger_url
from tests import example
from tests.flows.conftest import PLAN_GATE, Hallmark
from tests.flows.people import PASSPHRASE, introduce
from tests.flows.runs import rehearsal_ends

ROWS = 400
TABLE_CHANGED = "table changed while the release waited"
BOTH = {"plan": ["methodologist"], "disclosure": ["reviewer", "reviewer"]}


class Agency:
    """An agency with one release and people who decide about it."""

    def __init__(self, hallmark: Hallmark, folder: Path, home: Path, **spec: object) -> None:
        self.hallmark, self.home, self.out = hallmark, home, folder / "out"
        self.keys = introduce(folder / "keys", home)
        self.quick = example.only(folder / "data", "age", "region")
        self.spec = example.write(folder / "data", ROWS, **(self.quick | spec))
        example.open_account()

    def release(self, *options: str) -> int:
        self.said = self.hallmark("release", self.spec, "--out", self.out, *options)
        return self.said.code

    def decide(self, what: str, name: str, role: str = "") -> int:
        arguments = ["--name", name, "--key", self.keys[name], "--reason", "for the test"]
        arguments += ["--role", role] if role else []
        self.said = self.hallmark(what, "test-release", *arguments)
        return self.said.code

    def change(self, **sections: object) -> None:
        content = example.spec(self.spec.parent / "table.csv", **(self.quick | sections))
        with self.spec.open("w") as handle:
            YAML().dump(content, handle)

    def dismiss(self, name: str) -> None:
        """Take somebody off the list of approvers."""
        profile = YAML().load(self.home / "profile.yaml")
        profile["approvers"] = [who for who in profile["approvers"] if who["name"] != name]
        YAML().dump(profile, self.home / "profile.yaml")

    @property
    def charges(self) -> int:
        return len(example.charges())


def test_a_release_goes_through_both_gates(
    hallmark: Hallmark, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("getpass.getpass", lambda _: PASSPHRASE)
    agency = Agency(hallmark, tmp_path, home, approvals=BOTH)
    assert agency.release() == 7
    assert "is waiting for methodologist to approve its plan" in agency.said.out
    assert agency.charges == 0
    assert agency.release("--resume") == 7  # asking again changes nothing
    assert "test-release" in hallmark("waiting").out

    assert agency.decide("approve", "Bo", "methodologist") == 2
    assert "do not have the role" in agency.said.error
    assert agency.decide("approve", "Ada", "methodologist") == 0
    assert agency.release("--resume") == 7
    assert "the finished release" in agency.said.out
    charges = agency.charges
    assert charges > 0
    assert not agency.out.exists()

    agency.dismiss("Ada")  # which does not undo what was done on her word
    for name in ("Bo", "Cy"):
        assert agency.decide("approve", name, "reviewer") == 0
    assert "not recorded" in agency.said.out
    assert agency.release("--resume") == 7
    assert agency.decide("override", "Ola") == 0
    assert agency.release("--resume") == 0
    assert agency.charges == charges  # nothing was drawn after the first gate
    folder = agency.out / "test-release"
    verified = hallmark("verify", folder)
    assert verified.code == 0
    assert "approvals: signed, complete, and about these very files" in verified.out
    published = ApprovalsFile.model_validate_json((folder / APPROVALS_FILE).read_bytes())
    assert [told.person for told in published.decisions] == ["Ada", "Bo", "Cy", "Ola"]
    assert {told.outcome for told in published.decisions} == {"counted"}
    assert TABLE_CHANGED not in (folder / "audit-report.html").read_text()
    signed = [said for said in published.said if isinstance(said, SignedDecision)]
    assert len(signed) == 4
    assert all(is_genuine(one) for one in signed)
    assert "Nothing is waiting" in hallmark("waiting").out


def test_a_rejected_plan_stops_the_release_and_keeps_its_reservation(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    assert agency.release() == 7
    assert agency.decide("reject", "Ada", "methodologist") == 0
    assert agency.release("--resume") == 5
    assert "was rejected at the plan gate by Ada" in agency.said.error
    reservation = Ledger(ledger_url()).reservation("test-release")
    assert reservation is not None
    assert reservation.state == "reserved"
    assert agency.charges == 0


def test_a_rejected_release_is_opened_anew_and_published_with_the_rejection(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    assert agency.release() == 7
    assert agency.decide("reject", "Ada", "methodologist") == 0
    assert "hallmark reopen test-release" in agency.said.out
    assert agency.decide("approve", "Ada", "methodologist") == 2
    assert "until it is reopened:" in agency.said.error
    assert agency.release("--resume") == 5  # from now on it waits no longer
    reopened = hallmark("reopen", "test-release", "--reason", "she was shown the forecast")
    assert reopened.code == 0
    assert "Run the release again with --resume" in reopened.out
    assert agency.release("--resume") == 7
    assert "the gate was reopened since" in hallmark("waiting").out
    assert agency.decide("approve", "Ada", "methodologist") == 0
    assert agency.release("--resume") == 0

    folder = agency.out / "test-release"
    assert hallmark("verify", folder).code == 0
    published = (folder / APPROVALS_FILE).read_text()
    assert "she was shown the forecast" in published
    told = ApprovalsFile.model_validate_json(published).decisions
    assert [(one.decision, one.outcome) for one in told] == [
        ("reject", "superseded: the gate was opened anew"),
        ("approve", "counted"),
    ]
    assert "superseded: the gate was opened anew" in (folder / "audit-report.html").read_text()


@pytest.mark.parametrize("changed", ["data", "spec"])
def test_what_changes_after_the_approval_voids_it(
    changed: str, hallmark: Hallmark, home: Path, tmp_path: Path
):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    assert agency.release() == 7
    assert agency.decide("approve", "Ada", "methodologist") == 0
    if changed == "data":
        example.table(ROWS, seed=8).to_csv(
            agency.spec.parent / "table.csv", index=False, na_rep="NA"
        )
    else:
        agency.change(approvals=PLAN_GATE, title="Another title")
    assert agency.release("--resume") == 7
    assert f"what they saw has changed since then ({changed}" in " ".join(
        hallmark("waiting").out.split()
    ).replace("(plan, spec", "(spec")
    assert agency.charges == 0
    assert agency.decide("approve", "Ada", "methodologist") == 0
    assert "The release can continue" in agency.said.out
    if changed == "data":
        assert agency.release("--resume") == 0
        report = (agency.out / "test-release" / "audit-report.html").read_text()
        assert TABLE_CHANGED in report


def test_a_rehearsal_that_ends_while_a_release_waits_voids_no_approval(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    assert agency.release() == 7
    rehearsal_ends(agency.spec, home)
    assert agency.release("--resume") == 7  # which opens no gate anew
    assert agency.decide("approve", "Ada", "methodologist") == 0
    rehearsal_ends(agency.spec, home)
    assert agency.release("--resume") == 0
    assert TABLE_CHANGED not in (agency.out / "test-release" / "audit-report.html").read_text()
    assert hallmark("verify", agency.out / "test-release").code == 0


def test_a_rehearsal_hides_no_change_of_the_table(hallmark: Hallmark, home: Path, tmp_path: Path):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    assert agency.release() == 7
    assert "warning" not in hallmark("waiting").out
    rehearsal_ends(agency.spec, home)
    example.table(ROWS, seed=8).to_csv(agency.spec.parent / "table.csv", index=False, na_rep="NA")
    assert agency.release("--resume") == 7
    assert "an exact fact about it, which the release publishes" in " ".join(
        hallmark("waiting").out.split()
    )
    assert agency.decide("approve", "Ada", "methodologist") == 0
    assert agency.release("--resume") == 0
    assert TABLE_CHANGED in (agency.out / "test-release" / "audit-report.html").read_text()


def test_a_gate_cannot_be_edited_away(hallmark: Hallmark, home: Path, tmp_path: Path):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    assert agency.release() == 7
    agency.change()
    assert agency.release("--resume") == 4
    assert "another plan" in agency.said.error
    assert agency.charges == 0


def test_the_profile_asks_for_approvals_of_every_release(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    agency = Agency(hallmark, tmp_path, home, approvals=PLAN_GATE)
    profile = YAML().load(home / "profile.yaml")
    profile["approvals"] = {"plan": ["reviewer"]}
    YAML().dump(profile, home / "profile.yaml")
    assert agency.release() == 7
    assert agency.decide("approve", "Ada", "methodologist") == 0
    assert "Still missing: reviewer" in agency.said.out
    assert agency.release("--resume") == 7
    assert agency.decide("approve", "Bo", "reviewer") == 0
    assert "The release can continue" in agency.said.out


def test_a_gate_asks_for_every_line_of_a_crosswalk(hallmark: Hallmark, home: Path, tmp_path: Path):
    asked = {"disclosure": ["reviewer"], "crosswalks": ["iso-iec-27559"]}
    agency = Agency(hallmark, tmp_path, home, approvals=asked)
    assert agency.release() == 7
    (waits,) = json.loads(hallmark("waiting", "--json").out)
    asks = [one for one in waits["blocking"] if "ISO/IEC 27559" in one]
    assert any(one.startswith("Supersedes") for one in asks)  # which blocks no gate by itself
    assert agency.decide("approve", "Bo", "reviewer") == 0
    assert agency.release("--resume") == 7


def test_an_embargo_holds_a_finished_release_until_its_end(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)
    agency = Agency(hallmark, tmp_path, home, embargo=tomorrow.isoformat())
    assert agency.release("--json") == 7
    waits = json.loads(agency.said.out)
    assert (waits["gate"], waits["release"]) == ("embargo", "test-release")
    charges = agency.charges
    assert agency.release("--resume") == 7
    agency.change(embargo=(datetime.now(UTC) - timedelta(minutes=1)).isoformat())
    assert agency.release("--resume") == 0
    assert agency.charges == charges
