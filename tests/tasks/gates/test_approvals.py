"""Decisions at gates: which count, which do not, and why; on a real ledger with real keys."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Approver, Waiting
from hallmark.schemas.documents.decisions import Decision, SignedDecision
from hallmark.tasks.gates.approvals import (
    DecisionRefused,
    GateRejected,
    Overtaken,
    Standing,
    decide,
    open_gate,
    pass_gate,
    reopen,
    standing,
)
from hallmark.tasks.gates.decision_keys import is_genuine, sign
from hallmark.tasks.gates.gate_history import OF_THE_FIRST_FORMAT, History, HistoryBroken

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
def empty(tmp_path: Path) -> Ledger:
    """A ledger on which release "r" is reserved."""
    book = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    cap = Budget(epsilon=Fraction(1))
    book.open_account("people", cap=cap, adjacency=adjacency, by="steward", reason="law")
    book.reserve("people", "r", cap, adjacency=adjacency, binding="plan")
    return book


@pytest.fixture
def ledger(empty: Ledger, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """The same, where "operator" asked for the approval of its plan."""
    monkeypatch.setenv("HALLMARK_OPERATOR", "operator")
    opened(empty, "methodologist")
    return empty


def opened(book: Ledger, *required: str, gate: str = "plan", seen: Any = SEEN) -> None:
    open_gate(book, "r", gate, required=required, seen=seen)  # type: ignore[arg-type]


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


def said(
    book: Ledger, person: str = "Ada", role: str = "methodologist", **changes: Any
) -> SignedDecision:
    """What a person decides next, signed with their own key."""
    content = {
        "release": "r",
        "gate": "plan",
        "role": role,
        "person": person,
        "decision": "approve",
        "reason": "it is sound",
        "decided": datetime.now(UTC).replace(microsecond=0),
        "seen": SEEN,
        "previous": history(book).head,
    }
    return sign(Decision.model_validate(content | changes), KEYS[person])


def history(book: Ledger) -> History:
    return History.in_ledger(book, "r")


def stands(ledger: Ledger, where: Waiting, **changes: Any) -> Standing:
    assert where.gate != "embargo"
    arguments: dict[str, Any] = {"required": where.required, "approvers": APPROVERS}
    return standing(history(ledger), where.gate, **(arguments | changes))


def test_nothing_passes_before_anybody_decided(ledger: Ledger):
    there = stands(ledger, waiting("methodologist", "privacy-engineer"))
    assert not there.passed
    assert there.missing == ("methodologist", "privacy-engineer")


def test_an_approval_opens_the_gate_and_stays_in_the_ledger(ledger: Ledger):
    entry = decide(ledger, said(ledger), waiting(), APPROVERS)
    assert entry.kind == "decision"
    assert stands(ledger, waiting()).passed
    ledger.verify("people")


def test_the_same_decision_sent_again_is_refused(ledger: Ledger):
    signed = said(ledger)
    decide(ledger, signed, waiting(), APPROVERS)
    with pytest.raises(DecisionRefused, match="it was made before, and a decision counts once"):
        decide(ledger, signed, waiting(), APPROVERS)
    assert len(history(ledger).links) == 2


def test_an_old_approval_sent_again_does_not_undo_a_rejection(ledger: Ledger):
    where = waiting("methodologist", "methodologist")
    opened(ledger, "methodologist", "methodologist")
    approval = said(ledger)
    decide(ledger, approval, where, APPROVERS)
    decide(ledger, said(ledger, decision="reject", reason="too coarse"), where, APPROVERS)
    with pytest.raises(DecisionRefused, match="it was made before"):
        decide(ledger, approval, where, APPROVERS)
    with pytest.raises(DecisionRefused, match="Ada rejected it, and nobody can decide"):
        decide(ledger, said(ledger, "Bo"), where, APPROVERS)
    there = stands(ledger, where)
    assert there.rejected is not None
    assert not there.passed
    assert [signed for signed, _ in there.superseded] == [approval]


def test_a_decision_is_made_in_view_of_all_that_was_said_before(ledger: Ledger):
    where, blind = waiting(), said(ledger, "Bo")
    decide(ledger, said(ledger), where, APPROVERS)
    with pytest.raises(DecisionRefused, match="there was another statement after they looked"):
        decide(ledger, blind, where, APPROVERS)
    decide(ledger, said(ledger, "Bo"), where, APPROVERS)


def test_a_decision_of_an_earlier_opening_counts_no_more(ledger: Ledger):
    before = history(ledger).head
    decide(ledger, said(ledger), waiting(), APPROVERS)
    opened(ledger, "methodologist")  # about the very same contents
    there = stands(ledger, waiting())
    assert not there.passed
    assert there.superseded[0][1] == "the gate was reopened since then"
    kept = said(ledger, "Bo", previous=before)
    with pytest.raises(DecisionRefused, match="there was another statement after"):
        decide(ledger, kept, waiting(), APPROVERS)


def test_four_eyes_need_two_persons(ledger: Ledger):
    where = waiting("methodologist", "methodologist")
    opened(ledger, "methodologist", "methodologist")
    decide(ledger, said(ledger), where, APPROVERS)
    decide(ledger, said(ledger, reason="I say it again"), where, APPROVERS)
    assert stands(ledger, where).missing == ("methodologist",)
    decide(ledger, said(ledger, "Bo"), where, APPROVERS)
    assert stands(ledger, where).passed


def test_nobody_fills_two_roles_at_a_gate(ledger: Ledger):
    where = waiting("methodologist", "privacy-engineer")
    opened(ledger, "methodologist", "privacy-engineer")
    decide(ledger, said(ledger, "Bo", "methodologist"), where, APPROVERS)
    decide(ledger, said(ledger, "Bo", "privacy-engineer"), where, APPROVERS)
    assert stands(ledger, where).missing == ("methodologist",)  # the last word counts


def test_a_change_of_any_digest_voids_the_approval(ledger: Ledger):
    for name in (*SEEN, "rehearsal"):
        opened(ledger, "methodologist")
        decide(ledger, said(ledger), waiting(), APPROVERS)
        now = {**SEEN, name: "c" * 64}
        opened(ledger, "methodologist", seen=now)
        changed = stands(ledger, waiting(seen=now))
        assert not changed.passed
        assert name in changed.superseded[-1][1]
        with pytest.raises(DecisionRefused, match="what they saw has changed since"):
            decide(ledger, said(ledger), waiting(seen=now), APPROVERS)


def test_a_key_or_person_taken_from_the_profile_no_longer_counts(ledger: Ledger):
    decide(ledger, said(ledger), waiting(), APPROVERS)
    assert not stands(ledger, waiting(), approvers=APPROVERS[1:]).passed
    stolen = APPROVERS[0].model_copy(update={"key": APPROVERS[1].key})
    assert not stands(ledger, waiting(), approvers=(stolen,)).passed


def test_a_rejection_stands_though_its_person_leaves_the_profile(ledger: Ledger):
    decide(ledger, said(ledger, decision="reject", reason="too coarse"), waiting(), APPROVERS)
    there = stands(ledger, waiting(), approvers=APPROVERS[1:])
    assert there.rejected is not None
    assert there.rejected.reason == "too coarse"
    assert not there.passed


def test_a_rejection_ends_the_gate_until_an_operator_opens_it_anew(ledger: Ledger):
    where = waiting()
    decide(ledger, said(ledger, decision="reject", reason="too coarse"), where, APPROVERS)
    for seen in (SEEN, {**SEEN, "plan": "c" * 64}):  # no change of the release opens it
        with pytest.raises(GateRejected, match="hallmark reopen r --reason WHY"):
            opened(ledger, "methodologist", seen=seen)
    ended = reopen(ledger, "r", reason="the cells are finer now")
    assert ended.rejection is not None
    assert not stands(ledger, where).passed
    decide(ledger, said(ledger, reason="they explained it"), where, APPROVERS)
    assert stands(ledger, where).passed
    pass_gate(ledger, "r", stands(ledger, where))
    assert [(one.decision, one.outcome) for one in history(ledger).outcomes()] == [
        ("reject", "superseded: the gate was opened anew"),
        ("approve", "counted"),
    ]
    assert history(ledger).rounds[1].opening.reason == "the cells are finer now"


def test_only_a_rejected_gate_is_opened_anew_and_with_a_reason(ledger: Ledger):
    with pytest.raises(DecisionRefused, match="was not rejected"):
        reopen(ledger, "r", reason="why not")
    decide(ledger, said(ledger, decision="reject"), waiting(), APPROVERS)
    with pytest.raises(DecisionRefused, match="a reason of at least 3"):
        reopen(ledger, "r", reason=" ")


def test_who_opens_a_gate_anew_cannot_approve(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    decide(ledger, said(ledger, decision="reject"), waiting(), APPROVERS)
    monkeypatch.setenv("HALLMARK_OPERATOR", "bo")
    reopen(ledger, "r", reason="I want it through")
    with pytest.raises(DecisionRefused, match="started the release themselves"):
        decide(ledger, said(ledger, "Bo"), waiting(), APPROVERS)


def test_nobody_decides_at_a_gate_that_was_passed(ledger: Ledger):
    decide(ledger, said(ledger), waiting(), APPROVERS)
    pass_gate(ledger, "r", stands(ledger, waiting()))
    with pytest.raises(DecisionRefused, match="the gate has already been passed"):
        decide(ledger, said(ledger, "Bo", decision="reject"), waiting(), APPROVERS)
    assert stands(ledger, waiting(), approvers=()).passed  # whoever leaves the profile afterwards


def test_a_rejection_at_the_last_moment_is_not_overtaken(ledger: Ledger):
    decide(ledger, said(ledger), waiting(), APPROVERS)
    there = stands(ledger, waiting())
    decide(ledger, said(ledger, "Bo", decision="reject"), waiting(), APPROVERS)
    with pytest.raises(Overtaken, match="at this very moment"):
        pass_gate(ledger, "r", there)
    assert not stands(ledger, waiting()).passed


def test_what_is_not_recorded_blocks_until_it_is_overridden(ledger: Ledger):
    decide(ledger, said(ledger), waiting(), APPROVERS)
    assert not stands(ledger, waiting(), blocking=["legal basis"]).passed
    entry = decide(
        ledger, said(ledger, "Ola", "override", decision="override"), waiting(), APPROVERS
    )
    assert entry.kind == "override"
    assert stands(ledger, waiting(), blocking=["legal basis"]).passed


def test_an_override_does_not_outvote_a_rejection(ledger: Ledger):
    decide(ledger, said(ledger, decision="reject", reason="unlawful"), waiting(), APPROVERS)
    with pytest.raises(DecisionRefused, match="until it is reopened:"):
        decide(ledger, said(ledger, "Ola", "override", decision="override"), waiting(), APPROVERS)
    assert not stands(ledger, waiting()).passed


def test_a_rejection_stands_though_an_override_came_first(ledger: Ledger):
    decide(ledger, said(ledger, "Ola", "override", decision="override"), waiting(), APPROVERS)
    assert stands(ledger, waiting()).passed
    decide(ledger, said(ledger, decision="reject", reason="unlawful"), waiting(), APPROVERS)
    assert not stands(ledger, waiting()).passed


Make = Callable[[Ledger], SignedDecision]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda book: said(book, "Ada", "privacy-engineer"), "do not have the role privacy-engin"),
        (lambda book: said(book, "Cy", "privacy-engineer"), "privacy-engineer is not required"),
        (lambda book: said(book, seen={"plan": "a" * 64}), r"has changed since then \(data\)"),
        (lambda book: said(book, release="other"), "this decision is about 'other'"),
        (lambda book: said(book, gate="disclosure"), "at disclosure"),
        (lambda book: said(book, decided=NOW + timedelta(hours=1)), "is dated in the future"),
        (lambda book: said(book, decided="2001-01-01T00:00Z"), "before the gate was opened"),
        (
            lambda book: said(book, previous="d" * 64),
            "there was another statement after they looked",
        ),
        (lambda book: said(book, decision="override"), "only the role override can override"),
        (lambda book: said(book, "Ola", "override"), "only the role override can override"),
        (lambda book: sign(said(book).decision, KEYS["Cy"]), "signed with a different key"),
        (
            lambda book: said(book).model_copy(
                update={"decision": said(book, reason="another one").decision}
            ),
            "signature does not belong to",
        ),
        (
            lambda book: said(book).model_copy(update={"signature": "no base64"}),
            "signature does not belong to",
        ),
        (
            lambda book: said(book, format="hallmark-decision/1", previous=None),
            "it has the first format",
        ),
    ],
)
def test_what_does_not_count_is_refused_and_not_entered(ledger: Ledger, make: Make, why: str):
    before = len(ledger.entries("people"))
    with pytest.raises(DecisionRefused, match=why):
        decide(ledger, make(ledger), waiting(), APPROVERS)
    assert len(ledger.entries("people")) == before


def test_a_stranger_cannot_decide(ledger: Ledger):
    with pytest.raises(DecisionRefused, match="does not list them"):
        decide(ledger, said(ledger), waiting(), APPROVERS[1:])


@pytest.mark.parametrize("name", ["bo-at-work", " BO-at-work", "Bo", "bo"])
def test_who_started_the_release_cannot_approve_it(
    name: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_OPERATOR", name)
    opened(ledger, "methodologist")
    with pytest.raises(DecisionRefused, match="started the release themselves"):
        decide(ledger, said(ledger, "Bo"), waiting(), APPROVERS)


def test_nobody_decides_at_both_gates(ledger: Ledger):
    decide(ledger, said(ledger, "Bo"), waiting(), APPROVERS)
    opened(ledger, "privacy-engineer", gate="disclosure")
    later = said(ledger, "Bo", "privacy-engineer", gate="disclosure")
    with pytest.raises(DecisionRefused, match="nobody decides at both"):
        decide(ledger, later, waiting("privacy-engineer", gate="disclosure"), APPROVERS)


def test_one_key_under_two_names_is_one_person(ledger: Ledger):
    """Also where the profile lists the second name only after the first decided."""
    where = waiting("methodologist", "methodologist")
    opened(ledger, "methodologist", "methodologist")
    decide(ledger, said(ledger), where, APPROVERS)
    again = sign(said(ledger, "Bo").decision, KEYS["Ada"])
    renamed = APPROVERS[0].model_copy(update={"name": "Bo"})
    with pytest.raises(DecisionRefused, match="their key was used under another name"):
        decide(ledger, again, where, (renamed,))


def test_one_person_with_two_keys_is_one_person(ledger: Ledger):
    where = waiting("methodologist", "methodologist")
    opened(ledger, "methodologist", "methodologist")
    decide(ledger, said(ledger), where, APPROVERS)
    other = APPROVERS[1].model_copy(update={"name": "ADA"})
    second = said(ledger).decision.model_copy(update={"person": "ADA"})
    decide(ledger, sign(second, KEYS["Bo"]), where, (other,))
    assert stands(ledger, where, approvers=(other,)).missing == ("methodologist",)


def test_decisions_of_the_first_format_are_read_and_count_no_more(empty: Ledger):
    """As an earlier version of Hallmark left them in the ledger."""
    asked = {"gate": "plan", "required": ["methodologist"], "seen": SEEN, "by": "bo-at-work"}
    empty.state("r", "request", asked)
    first = said(empty, format="hallmark-decision/1", decision="reject", reason="too coarse")
    payload = first.model_dump(mode="json")
    del payload["decision"]["previous"]  # which that format had not
    assert is_genuine(first)
    empty.state("r", "decision", payload)
    opened(empty, "methodologist")
    assert not stands(empty, waiting()).passed
    with pytest.raises(DecisionRefused, match="started the release themselves"):
        decide(empty, said(empty, "Bo"), waiting(), APPROVERS)
    decide(empty, said(empty), waiting(), APPROVERS)
    pass_gate(empty, "r", stands(empty, waiting()))
    assert [(one.reason, one.outcome) for one in history(empty).outcomes()] == [
        ("too coarse", OF_THE_FIRST_FORMAT),
        ("it is sound", "counted"),
    ]


def test_what_was_written_past_this_program_stops_the_release(ledger: Ledger):
    approval = said(ledger)
    decide(ledger, approval, waiting(), APPROVERS)
    ledger.state_next("r", "decision", lambda _: approval.model_dump(mode="json"))
    with pytest.raises(HistoryBroken, match=r"entry 5: it was made before.*find out who can write"):
        history(ledger)


def test_a_signature_covers_every_word(ledger: Ledger):
    signed = said(ledger)
    assert is_genuine(signed)
    for field, other in (
        ("reason", "another"),
        ("role", "privacy-engineer"),
        ("decision", "reject"),
        ("person", "Bo"),
        ("seen", {"plan": "c" * 64}),
        ("decided", NOW + timedelta(days=1)),
        ("previous", "c" * 64),
    ):
        changed = signed.decision.model_copy(update={field: other})
        assert not is_genuine(signed.model_copy(update={"decision": changed}))


def test_a_key_that_is_no_key_is_refused_in_the_profile():
    with pytest.raises(ValueError, match="hallmark approver-key"):
        Approver(name="Ada", roles=("methodologist",), key="bm8ga2V5")
