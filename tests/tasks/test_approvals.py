"""Decisions at gates: which count, which do not, and why; on a real ledger with real keys."""

import base64
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.ledger import Ledger
from schemas.approvals import Approver, Decision, SignedDecision, Waiting
from tasks.approvals import DecisionRefused, Standing, decide, is_genuine, sign, standing

KEYS = {name: Ed25519PrivateKey.generate() for name in ("Ada", "Bo", "Cy", "Ola")}
SEEN = {"plan": "a" * 64, "data": "b" * 64}
NOW = datetime.now(UTC).replace(microsecond=0)


def approver(name: str, *roles: str, login: str | None = None) -> Approver:
    key = base64.b64encode(KEYS[name].public_key().public_bytes_raw()).decode()
    return Approver(name=name, roles=roles, key=key, login=login)


APPROVERS = (
    approver("Ada", "methodologist"),
    approver("Bo", "methodologist", "privacy-engineer", login="bo-at-work"),
    approver("Cy", "privacy-engineer"),
    approver("Ola", "override"),
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger on which release "r" is reserved, and "operator" asked for its approval."""
    book = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    cap = Budget(epsilon=Fraction(1))
    book.open_account("people", cap=cap, adjacency=adjacency, by="steward", reason="law")
    book.reserve("people", "r", cap, adjacency=adjacency, binding="plan")
    book.state("r", "request", {"gate": "plan", "by": "operator"})
    return book


def waiting(*required: str, gate: str = "plan", **changes: Any) -> Waiting:
    return Waiting.model_validate(
        {
            "release": "r",
            "title": "A release",
            "gate": gate,
            "since": NOW,
            "required": required or ("methodologist",),
            "seen": SEEN,
            "spec": "spec.yaml",
            "folder": ".",
            "out": "releases",
        }
        | changes
    )


def said(person: str = "Ada", role: str = "methodologist", **changes: Any) -> SignedDecision:
    """What a person decided, signed with their own key."""
    content = {
        "release": "r",
        "gate": "plan",
        "role": role,
        "person": person,
        "decision": "approve",
        "reason": "it is sound",
        "decided": NOW,
        "seen": SEEN,
    }
    return sign(Decision.model_validate(content | changes), KEYS[person])


def stands(ledger: Ledger, where: Waiting, **changes: Any) -> Standing:
    assert where.gate != "embargo"
    arguments: dict[str, Any] = {
        "required": where.required,
        "seen": where.seen,
        "approvers": APPROVERS,
    }
    return standing(ledger.statements("r"), where.gate, **(arguments | changes))


def test_nothing_passes_before_anybody_decided(ledger: Ledger):
    there = stands(ledger, waiting("methodologist", "privacy-engineer"))
    assert not there.passed
    assert there.missing == ("methodologist", "privacy-engineer")


def test_an_approval_opens_the_gate_and_stays_in_the_ledger(ledger: Ledger):
    entry = decide(ledger, said(), waiting(), APPROVERS)
    assert entry.kind == "decision"
    assert stands(ledger, waiting()).passed
    ledger.verify("people")


def test_the_same_decision_sent_twice_is_one_entry(ledger: Ledger):
    signed = said()
    first = decide(ledger, signed, waiting(), APPROVERS)
    assert decide(ledger, signed, waiting(), APPROVERS) == first


def test_four_eyes_need_two_persons(ledger: Ledger):
    where = waiting("methodologist", "methodologist")
    decide(ledger, said(), where, APPROVERS)
    decide(ledger, said(reason="I say it again"), where, APPROVERS)
    assert stands(ledger, where).missing == ("methodologist",)
    decide(ledger, said("Bo"), where, APPROVERS)
    assert stands(ledger, where).passed


def test_nobody_fills_two_roles_at_a_gate(ledger: Ledger):
    where = waiting("methodologist", "privacy-engineer")
    decide(ledger, said("Bo", "methodologist"), where, APPROVERS)
    decide(ledger, said("Bo", "privacy-engineer"), where, APPROVERS)
    assert stands(ledger, where).missing == ("methodologist",)  # the last word counts


def test_a_change_of_any_digest_voids_the_approval(ledger: Ledger):
    decide(ledger, said(), waiting(), APPROVERS)
    for name in SEEN:
        changed = stands(ledger, waiting(), seen={**SEEN, name: "c" * 64})
        assert not changed.passed
        assert changed.void[0][1] == f"what they saw has changed since ({name})"
    more = stands(ledger, waiting(), seen={**SEEN, "rehearsal": "c" * 64})
    assert not more.passed


def test_a_key_or_person_taken_from_the_profile_no_longer_counts(ledger: Ledger):
    decide(ledger, said(), waiting(), APPROVERS)
    assert not stands(ledger, waiting(), approvers=APPROVERS[1:]).passed
    stolen = APPROVERS[0].model_copy(update={"key": APPROVERS[1].key})
    assert not stands(ledger, waiting(), approvers=(stolen,)).passed


def test_a_rejection_stops_the_release_until_the_person_changes_their_mind(ledger: Ledger):
    where = waiting("methodologist")
    decide(ledger, said(decision="reject", reason="too coarse"), where, APPROVERS)
    decide(ledger, said("Bo"), where, APPROVERS)
    there = stands(ledger, where)
    assert not there.passed
    assert there.rejected is not None
    assert there.rejected.reason == "too coarse"
    decide(ledger, said(reason="they explained it"), where, APPROVERS)
    assert stands(ledger, where).passed


def test_what_is_not_recorded_blocks_until_it_is_overridden(ledger: Ledger):
    decide(ledger, said(), waiting(), APPROVERS)
    assert not stands(ledger, waiting(), blocking=["legal basis"]).passed
    entry = decide(ledger, said("Ola", "override", decision="override"), waiting(), APPROVERS)
    assert entry.kind == "override"
    assert stands(ledger, waiting(), blocking=["legal basis"]).passed


def test_an_override_does_not_outvote_a_rejection(ledger: Ledger):
    decide(ledger, said(decision="reject", reason="unlawful"), waiting(), APPROVERS)
    decide(ledger, said("Ola", "override", decision="override"), waiting(), APPROVERS)
    assert not stands(ledger, waiting()).passed


@pytest.mark.parametrize(
    ("signed", "why"),
    [
        (said("Ada", "privacy-engineer"), "do not hold the role privacy-engineer"),
        (said("Cy", "privacy-engineer"), "role privacy-engineer is not asked for"),
        (said(seen={"plan": "a" * 64}), r"has changed since \(data\)"),
        (said(release="other"), "this decision is about 'other'"),
        (said(gate="disclosure"), "at disclosure"),
        (said(decided=NOW + timedelta(hours=1)), "lies in the future"),
        (said(decision="override"), "only the role override can override"),
        (said("Ola", "override"), "only the role override can override"),
        (sign(said().decision, KEYS["Cy"]), "signed with another key"),
        (
            said().model_copy(update={"decision": said(reason="another one").decision}),
            "signature does not fit",
        ),
        (said().model_copy(update={"signature": "no base64"}), "signature does not fit"),
    ],
)
def test_what_does_not_count_is_refused_and_not_entered(
    ledger: Ledger, signed: SignedDecision, why: str
):
    before = len(ledger.entries("people"))
    with pytest.raises(DecisionRefused, match=why):
        decide(ledger, signed, waiting(), APPROVERS)
    assert len(ledger.entries("people")) == before


def test_a_stranger_cannot_decide(ledger: Ledger):
    with pytest.raises(DecisionRefused, match="does not list them"):
        decide(ledger, said(), waiting(), APPROVERS[1:])


def test_who_started_the_release_cannot_approve_it(ledger: Ledger):
    ledger.state("r", "request", {"gate": "plan", "by": "bo-at-work"})
    with pytest.raises(DecisionRefused, match="started the release themselves"):
        decide(ledger, said("Bo"), waiting(), APPROVERS)


def test_nobody_decides_at_both_gates(ledger: Ledger):
    decide(ledger, said("Bo"), waiting(), APPROVERS)
    later = said("Bo", "privacy-engineer", gate="disclosure")
    with pytest.raises(DecisionRefused, match="nobody decides at both"):
        decide(ledger, later, waiting("privacy-engineer", gate="disclosure"), APPROVERS)


def test_a_signature_covers_every_word():
    signed = said()
    assert is_genuine(signed)
    for field, other in (
        ("reason", "another"),
        ("role", "privacy-engineer"),
        ("decision", "reject"),
        ("person", "Bo"),
        ("seen", {"plan": "c" * 64}),
        ("decided", NOW + timedelta(seconds=1)),
    ):
        changed = signed.decision.model_copy(update={field: other})
        assert not is_genuine(signed.model_copy(update={"decision": changed}))


def test_a_key_that_is_no_key_is_refused_in_the_profile():
    with pytest.raises(ValueError, match="hallmark approver-key"):
        Approver(name="Ada", roles=("methodologist",), key="bm8ga2V5")
