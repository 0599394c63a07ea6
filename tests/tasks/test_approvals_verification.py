"""Which faults of what was said at the gates of a release folder are found, offline."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hallmark.schemas.documents.approvals import GateName
from hallmark.schemas.documents.decisions import (
    ApprovalsFile,
    Decision,
    FirstApprovalsFile,
    Link,
    Opening,
    Outcome,
    Passage,
    SignedDecision,
)
from hallmark.schemas.documents.manifest import APPROVALS_FILE, FileEntry, Manifest
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.gates.decision_keys import sign
from hallmark.tasks.gates.gate_history import History, Round
from hallmark.tasks.verification.approvals import approval_faults
from tests import example

FILES = {"data.csv": "a" * 64, "audit-report.json": "b" * 64}
ASKED = {"plan": ["methodologist"], "disclosure": ["reviewer", "reviewer"]}
NOW = datetime.now(UTC).replace(microsecond=0)
KEYS = {name: Ed25519PrivateKey.generate() for name in ("Ada", "Bo", "Cy", "Di", "Ola")}


def spec(**approvals: list[str]) -> ReleaseSpec:
    return ReleaseSpec.model_validate(example.spec(Path("table.csv"), approvals=approvals))


SEEN: dict[str, dict[str, str]] = {
    "plan": {"spec": spec(**ASKED).digest(), "data": "e" * 64},
    "disclosure": {"spec": spec(**ASKED).digest(), **FILES},
}


class Told:
    """What was said at the gates; whoever forges it keeps to no rule."""

    def __init__(self) -> None:
        self.said: list[Link] = []

    def open(self, gate: GateName, *required: str, **changes: Any) -> None:
        content = {
            "release": "test-release",
            "gate": gate,
            "required": required or tuple(ASKED[gate]),
            "seen": SEEN[gate],
            "by": "operator",
            "opened": NOW,
            "nonce": f"{len(self.said):032x}",
            "previous": self.head,
        }
        self.said.append(Opening.model_validate(content | changes))

    def say(self, person: str, role: str, *, key: str | None = None, **changes: Any) -> None:
        gate = next(one.gate for one in reversed(self.said) if isinstance(one, Opening))
        content = {
            "release": "test-release",
            "gate": gate,
            "role": role,
            "person": person,
            "decision": "approve",
            "reason": "for the test",
            "decided": NOW,
            "seen": SEEN[gate],
            "previous": self.head,
        }
        self.said.append(sign(Decision.model_validate(content | changes), KEYS[key or person]))

    def close(self, gate: GateName, *counted: SignedDecision, **changes: Any) -> None:
        start = max(i for i, one in enumerate(self.said) if isinstance(one, Opening))
        here = [one for one in self.said[start:] if isinstance(one, SignedDecision)]
        content = {
            "release": "test-release",
            "gate": gate,
            "passed": NOW,
            "counted": [one.digest() for one in counted or here],
            "previous": self.head,
        }
        self.said.append(Passage.model_validate(content | changes))

    @property
    def head(self) -> str | None:
        return self.said[-1].digest() if self.said else None

    def outcomes(self) -> tuple[Outcome, ...]:
        """What its forger would write beside it."""
        rounds: list[Round] = []
        start = next(i for i, one in enumerate(self.said) if isinstance(one, Opening))
        for one in self.said[start:]:
            match one:
                case Opening():
                    rounds.append(Round(opening=one))
                case SignedDecision():
                    now = rounds.pop()
                    both = (*now.decisions, one)
                    rounds.append(Round(opening=now.opening, decisions=both))
                case Passage():
                    now = rounds.pop()
                    rounds.append(Round(opening=now.opening, decisions=now.decisions, passage=one))
        return tuple(History(release="test-release", rounds=tuple(rounds)).outcomes())


def sound() -> Told:
    """Both gates passed, the second by four eyes."""
    told = Told()
    told.open("plan")
    told.say("Ada", "methodologist")
    told.close("plan")
    told.open("disclosure")
    told.say("Bo", "reviewer")
    told.say("Cy", "reviewer")
    told.close("disclosure")
    return told


def manifest_of(release_id: str = "test-release", *, listed: bool = True) -> Manifest:
    files = {name: FileEntry(sha256=digest, bytes=1) for name, digest in FILES.items()}
    if listed:
        files[APPROVALS_FILE] = FileEntry(sha256="c" * 64, bytes=1)
    digest = spec(**ASKED).digest()
    return Manifest.model_construct(release_id=release_id, spec_digest=digest, files=files)


def faults(folder: Path, told: Told, **file: Any) -> str:
    content = {"release": "test-release", "said": told.said, "decisions": told.outcomes()}
    written = ApprovalsFile.model_validate(content | file)
    (folder / APPROVALS_FILE).write_text(written.model_dump_json())
    return "; ".join(approval_faults(folder, manifest_of(), spec(**ASKED)))


def test_complete_decisions_have_no_fault(tmp_path: Path):
    assert faults(tmp_path, sound()) == ""


def test_where_nobody_must_approve_nothing_is_asked(tmp_path: Path):
    manifest = Manifest.model_construct(release_id="test-release", spec_digest="", files={})
    assert list(approval_faults(tmp_path, manifest, spec())) == []


def test_what_the_profile_alone_asked_for_is_checked_as_well(tmp_path: Path):
    told = sound()
    told.said = told.said[:-1]
    faults(tmp_path, told)
    assert "opened and not passed" in "".join(approval_faults(tmp_path, manifest_of(), spec()))


def test_an_override_stands_in_for_what_is_missing(tmp_path: Path):
    told = Told()
    told.open("plan")
    told.say("Ada", "methodologist")
    told.close("plan")
    told.open("disclosure")
    told.say("Ola", "override", decision="override")
    told.close("disclosure")
    assert faults(tmp_path, told) == ""


def test_a_rejection_shows_beside_what_was_decided_after_it(tmp_path: Path):
    told = Told()
    told.open("plan")
    told.say("Ada", "methodologist", decision="reject")
    told.open("plan", reason="it was explained")
    told.say("Ada", "methodologist")
    told.close("plan")
    told.open("disclosure")
    told.say("Bo", "reviewer")
    told.say("Cy", "reviewer")
    told.close("disclosure")
    assert faults(tmp_path, told) == ""
    assert told.outcomes()[0].decision == "reject"


def without(number: int) -> Callable[[], Told]:
    """A sound history of which one saying was left out."""

    def make() -> Told:
        told = sound()
        del told.said[number]
        return told

    return make


def forged(*, at: int, forge: Callable[[Told], None]) -> Callable[[], Told]:
    """A sound history up to there, which somebody else goes on with."""

    def make() -> Told:
        told = sound()
        del told.said[at:]
        forge(told)
        return told

    return make


def a_rejection_is_hidden(told: Told) -> None:
    """Bo approved and rejected; his approval is told, his rejection is not."""
    told.say("Bo", "reviewer")
    told.say("Bo", "reviewer", decision="reject")
    told.open("disclosure", reason="anew")
    told.say("Bo", "reviewer")
    told.say("Cy", "reviewer")
    told.close("disclosure")
    del told.said[5:7]


def an_approval_is_replayed(told: Told) -> None:
    told.say("Bo", "reviewer")
    told.say("Bo", "reviewer", decision="reject")
    told.said.append(told.said[-2])
    told.say("Cy", "reviewer")
    told.close("disclosure", *(one for one in told.said[-2:] if isinstance(one, SignedDecision)))


def an_approval_of_another_opening_is_replayed(told: Told) -> None:
    told.say("Bo", "reviewer")
    old = told.said[-1]
    told.open("disclosure")
    told.said.append(old)
    told.say("Cy", "reviewer")
    told.close("disclosure")


def a_rejection_is_passed(told: Told) -> None:
    told.say("Bo", "reviewer")
    told.say("Cy", "reviewer", decision="reject")
    told.close("disclosure")


def a_rejection_is_called_void(told: Told) -> None:
    told.say("Bo", "reviewer", decision="reject")
    void = {str(told.head): "he left"}
    told.say("Cy", "reviewer")
    told.say("Di", "reviewer")
    told.close("disclosure", void=void)


def one_key_has_two_names(told: Told) -> None:
    told.say("Bo", "reviewer")
    told.say("Cy", "reviewer", key="Bo")
    told.close("disclosure")


def one_person_has_two_keys(told: Told) -> None:
    told.say("Bo", "reviewer")
    told.say("BO", "reviewer", key="Cy")
    told.close("disclosure")


def one_decides_at_both_gates(told: Told) -> None:
    told.say("Ada", "reviewer")
    told.say("Cy", "reviewer")
    told.close("disclosure")


def the_operator_approves(told: Told) -> None:
    told.say("Bo", "reviewer")
    told.say("Operator", "reviewer", key="Cy")
    told.close("disclosure")


def a_decision_is_older_than_its_gate(told: Told) -> None:
    told.say("Bo", "reviewer", decided=NOW - timedelta(days=9000))


def a_decision_is_from_the_future(told: Told) -> None:
    told.say("Bo", "reviewer", decided=NOW + timedelta(hours=1))
    told.say("Cy", "reviewer")
    told.close("disclosure")


def one_decision_counts_twice(told: Told) -> None:
    told.say("Bo", "reviewer")
    bo = told.said[-1]
    assert isinstance(bo, SignedDecision)
    told.close("disclosure", bo, bo)


def one_alone_decides(told: Told) -> None:
    told.say("Bo", "reviewer")
    told.close("disclosure")


def fewer_are_asked(told: Told) -> None:
    told.open("disclosure", "reviewer")
    told.say("Bo", "reviewer")
    told.close("disclosure")


def other_data_are_seen(told: Told) -> None:
    seen = {**SEEN["disclosure"], "data.csv": "f" * 64}
    told.open("disclosure", seen=seen)
    told.say("Bo", "reviewer", seen=seen)
    told.say("Cy", "reviewer", seen=seen)
    told.close("disclosure")


def another_spec_is_seen(told: Told) -> None:
    seen = {**SEEN["disclosure"], "spec": "f" * 64}
    told.open("disclosure", seen=seen)
    told.say("Bo", "reviewer", seen=seen)
    told.say("Cy", "reviewer", seen=seen)
    told.close("disclosure")


def another_release_is_decided(told: Told) -> None:
    told.say("Bo", "reviewer", release="other")


def a_signature_is_not_theirs(told: Told) -> None:
    told.say("Bo", "reviewer")
    last = told.said.pop()
    assert isinstance(last, SignedDecision)
    told.said.append(last.model_copy(update={"signature": "AAAA"}))


def a_rejected_gate_is_opened_without_a_word(told: Told) -> None:
    told.say("Bo", "reviewer", decision="reject")
    told.open("disclosure")
    told.say("Di", "reviewer")
    told.say("Cy", "reviewer")
    told.close("disclosure")


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (without(0), "statement 1 of Ada cannot stand where it does: no gate of that release has"),
        (without(1), "statement 2 cannot stand where it does: it does not follow"),
        (without(2), "statement 3 cannot stand where it does: it does not follow"),
        (without(4), "statement 5 of Cy cannot stand where it does: there was another statement"),
        (without(6), "the gate disclosure was opened and not passed"),
        (forged(at=3, forge=lambda _: None), "the gate disclosure was never opened"),
        (forged(at=4, forge=a_rejection_is_hidden), "statement 6"),
        (forged(at=4, forge=an_approval_is_replayed), "it was made before"),
        (forged(at=4, forge=an_approval_of_another_opening_is_replayed), "it was made before"),
        (forged(at=4, forge=a_rejection_is_passed), "passed or rejected before"),
        (forged(at=4, forge=a_rejection_is_called_void), "Bo rejected it, and nobody can decide"),
        (forged(at=4, forge=one_key_has_two_names), "their key was used under another name"),
        (forged(at=4, forge=one_person_has_two_keys), "each person's last one"),
        (forged(at=4, forge=one_decides_at_both_gates), "they decided at the other gate"),
        (forged(at=4, forge=the_operator_approves), "they started the release themselves"),
        (forged(at=4, forge=a_decision_is_older_than_its_gate), "before the gate was opened"),
        (forged(at=4, forge=a_decision_is_from_the_future), "is dated after the passage"),
        (forged(at=4, forge=one_decision_counts_twice), "each person's last one"),
        (forged(at=4, forge=one_alone_decides), "at the disclosure gate, reviewer did not approve"),
        (forged(at=3, forge=fewer_are_asked), "asked for fewer approvals than the spec does"),
        (forged(at=3, forge=other_data_are_seen), "is about another data.csv"),
        (forged(at=3, forge=another_spec_is_seen), "is about another release"),
        (forged(at=4, forge=another_release_is_decided), "no gate of that release"),
        (forged(at=4, forge=a_signature_is_not_theirs), "the signature does not belong to"),
        (
            forged(at=4, forge=a_rejected_gate_is_opened_without_a_word),
            "there is no reason for reopening",
        ),
    ],
)
def test_each_fault_is_named(make: Callable[[], Told], fault: str, tmp_path: Path):
    assert fault in faults(tmp_path, make())


def test_what_people_read_is_what_was_said(tmp_path: Path):
    told = sound()
    shown = [one.model_copy(update={"reason": "all is well"}) for one in told.outcomes()]
    assert "are not those that the statements make" in faults(tmp_path, told, decisions=shown)
    assert "are not those that the statements make" in faults(tmp_path, told, decisions=())


def test_a_missing_or_broken_file_is_a_fault(tmp_path: Path):
    manifest = manifest_of(listed=False)
    assert "approvals.json is missing" in "".join(
        approval_faults(tmp_path, manifest, spec(**ASKED))
    )
    (tmp_path / APPROVALS_FILE).write_text("{}")
    assert "not a list of decisions" in "".join(
        approval_faults(tmp_path, manifest_of(), spec(**ASKED))
    )


# Releases of the first format


def first(gate: str, role: str, person: str, *, key: str | None = None, **changes: Any) -> Any:
    content = {
        "format": "hallmark-decision/1",
        "release": "test-release",
        "gate": gate,
        "role": role,
        "person": person,
        "decision": "approve",
        "reason": "for the test",
        "decided": NOW,
        "seen": SEEN[gate],
    }
    return sign(Decision.model_validate(content | changes), KEYS[key or person])


PLAN = first("plan", "methodologist", "Ada")
BO, CY = first("disclosure", "reviewer", "Bo"), first("disclosure", "reviewer", "Cy")


def first_faults(folder: Path, *decisions: SignedDecision) -> str:
    content = {"format": "hallmark-approvals/1", "release": "test-release", "decisions": decisions}
    written = FirstApprovalsFile.model_validate(content).model_dump(mode="json")
    for one in written["decisions"]:
        if one["decision"]["format"] == "hallmark-decision/1":
            del one["decision"]["previous"]  # which that format had not
    (folder / APPROVALS_FILE).write_text(json.dumps(written))
    return "; ".join(approval_faults(folder, manifest_of(), spec(**ASKED)))


@pytest.mark.parametrize(
    ("decisions", "fault"),
    [
        ((PLAN, BO, CY), ""),
        ((PLAN, first("disclosure", "override", "Ola", decision="override")), ""),
        ((PLAN, BO), "at the disclosure gate, reviewer did not approve"),
        ((BO, CY), "at the plan gate, methodologist did not approve"),
        ((PLAN, BO, BO), "at the disclosure gate, somebody decided twice"),
        ((PLAN, BO, first("disclosure", "reviewer", "Cy", key="Bo")), "Bo and Cy have one key"),
        ((PLAN, BO, first("disclosure", "reviewer", "BO", key="Cy")), "somebody decided twice"),
        ((PLAN, BO, first("disclosure", "reviewer", "Ada")), "Ada decided at both gates"),
        ((PLAN, BO, CY, first("disclosure", "reviewer", "Di", decision="reject")), "rejected it"),
        ((PLAN, BO, first("disclosure", "reviewer", "Cy", release="other")), "another release"),
        ((PLAN, BO, CY.model_copy(update={"signature": "AAAA"})), "not signed with the key"),
        (
            (PLAN, BO, first("disclosure", "reviewer", "Cy", seen=SEEN["plan"])),
            "is about another audit-report.json, data.csv",
        ),
        (
            (
                PLAN,
                BO,
                first(
                    "disclosure", "reviewer", "Cy", format="hallmark-decision/2", previous="d" * 64
                ),
            ),
            "of a later format than the file",
        ),
    ],
)
def test_releases_of_the_first_format_are_still_verified(
    decisions: tuple[SignedDecision, ...], fault: str, tmp_path: Path
):
    found = first_faults(tmp_path, *decisions)
    assert fault in found
    assert bool(fault) == bool(found)


# The plan of a series, approved once at the gate of another release

OTHER = {"spec": "d" * 64, "series plan": "9" * 64, "code": "8" * 64}
MINE = {**SEEN["plan"], "series plan": "9" * 64, "code": "8" * 64}


class ToldOfSeries(Told):
    """What was said at the gate of the first release, where the plan of the series was approved."""

    def open(self, gate: GateName, *required: str, **changes: Any) -> None:
        super().open(gate, *required, **({"release": "first", "seen": OTHER} | changes))

    def say(self, person: str, role: str, *, key: str | None = None, **changes: Any) -> None:
        super().say(person, role, key=key, **({"release": "first", "seen": OTHER} | changes))

    def close(self, gate: GateName, *counted: SignedDecision, **changes: Any) -> None:
        super().close(gate, *counted, **({"release": "first"} | changes))


def approved_series() -> ToldOfSeries:
    first = ToldOfSeries()
    first.open("plan")
    first.say("Ada", "methodologist")
    first.close("plan")
    return first


def of_series(first: Told, release: str = "first", **opening: Any) -> Told:
    """A release whose plan was passed on what was said at the gate of another."""
    told = Told()
    carried = {"release": release, "said": [one.model_dump() for one in first.said]}
    told.open("plan", seen=MINE, series=carried, **opening)
    told.close("plan")
    told.open("disclosure")
    told.say("Bo", "reviewer")
    told.say("Cy", "reviewer")
    told.close("disclosure")
    return told


def test_the_plan_of_a_series_is_approved_once(tmp_path: Path):
    told = of_series(approved_series())
    assert faults(tmp_path, told) == ""
    assert next((one.person, one.outcome) for one in told.outcomes()) == (
        "Ada",
        "counted: approved once for the whole series, at the gate of first",
    )


def without_approval() -> Told:
    first = ToldOfSeries()
    first.open("plan")
    return of_series(first)


def not_passed() -> Told:
    first = approved_series()
    first.said.pop()
    return of_series(first)


def forged() -> Told:
    first = ToldOfSeries()
    first.open("plan")
    first.say("Ada", "methodologist", key="Bo")
    first.said[-1] = first.said[-1].model_copy(update={"key": approved_series().said[1].key})  # type: ignore[union-attr]
    first.close("plan")
    return of_series(first)


def rejected() -> Told:
    first = ToldOfSeries()
    first.open("plan")
    first.say("Ada", "methodologist", decision="reject")
    first.close("plan")
    return of_series(first)


def overridden() -> Told:
    first = ToldOfSeries()
    first.open("plan")
    first.say("Ola", "override", decision="override")
    first.close("plan")
    return of_series(first)


def in_another_role() -> Told:
    first = ToldOfSeries()
    first.open("plan", "steward")
    first.say("Di", "steward")
    first.close("plan")
    return of_series(first)


def of_another_plan() -> Told:
    first = ToldOfSeries()
    first.open("plan", seen=OTHER | {"series plan": "7" * 64})
    first.say("Ada", "methodologist", seen=OTHER | {"series plan": "7" * 64})
    first.close("plan")
    return of_series(first)


def of_other_code() -> Told:
    first = ToldOfSeries()
    first.open("plan", seen=OTHER | {"code": "7" * 64})
    first.say("Ada", "methodologist", seen=OTHER | {"code": "7" * 64})
    first.close("plan")
    return of_series(first)


def of_one_release() -> Told:
    first = ToldOfSeries()
    alone = {name: digest for name, digest in OTHER.items() if name != "series plan"}
    first.open("plan", seen=alone)
    first.say("Ada", "methodologist", seen=alone)
    first.close("plan")
    return of_series(first)


def second_hand() -> Told:
    """The approval of a release that itself rests on the approval of another."""
    middle = ToldOfSeries()
    carried = {"release": "other", "said": [one.model_dump() for one in approved_series().said]}
    middle.open("plan", series=carried | {"release": "first"}, release="middle")
    middle.close("plan", release="middle")
    return of_series(middle, release="middle")


def started_by_its_approver() -> Told:
    return of_series(approved_series(), by="ada")


def decides_again() -> Told:
    told = of_series(approved_series())
    del told.said[-2:]
    told.say("Ada", "reviewer")
    told.close("disclosure")
    return told


def key_under_another_name() -> Told:
    told = of_series(approved_series())
    del told.said[-2:]
    told.say("Di", "reviewer", key="Ada")
    told.close("disclosure")
    return told


@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (without_approval, "ends without an approval"),
        (not_passed, "ends without an approval"),
        (forged, "the signature does not belong to the decision"),
        (rejected, "it passes a gate that was passed or rejected before"),
        (overridden, "ends without an approval"),
        (in_another_role, "lacks approvals by methodologist"),
        (of_another_plan, "is about another series plan"),
        (of_other_code, "is about another code"),
        (of_one_release, "is about one release, not about a series"),
        (second_hand, "ends without an approval"),
        (started_by_its_approver, "ada approved the plan of the series, and starts this release"),
        (decides_again, "they decided at the other gate"),
        (key_under_another_name, "their key was used under another name"),
    ],
)
def test_an_approval_of_a_series_that_does_not_hold_is_found(
    forge: Callable[[], Told], fault: str, tmp_path: Path
):
    told = forge()
    content = {"release": "test-release", "said": told.said, "decisions": ()}
    written = ApprovalsFile.model_validate(content)
    (tmp_path / APPROVALS_FILE).write_text(written.model_dump_json())
    found = "; ".join(approval_faults(tmp_path, manifest_of(), spec(**ASKED)))
    assert fault in found
