"""Decisions at the gates of a release: who decided what, whether it counts, and what is missing.

A decision is an entry in the ledger, where it can neither be changed nor taken back, and it counts
only while everything that the person saw has the same SHA-256 and the signature is theirs. So it
does not matter by which way it came: the command line, the review desk or a script.
"""

import base64
import getpass
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mechanisms.privacy.ledger import Entry, Ledger
from schemas.approvals import (
    OVERRIDE,
    Approver,
    Decision,
    GateName,
    Role,
    SignedDecision,
    Waiting,
)
from tasks.errors import SafeError

OPERATOR_VARIABLE = "HALLMARK_OPERATOR"
_AHEAD = timedelta(minutes=5)  # how far an approver's clock may be ahead of ours


class DecisionRefused(SafeError):
    """The decision does not count, and was not entered; the message says why."""


class GateRejected(SafeError):
    """Somebody who may decide rejected the release as it stands."""


def operator() -> str:
    """Who runs this: `HALLMARK_OPERATOR`, else the account on this machine. Not authenticated."""
    return os.environ.get(OPERATOR_VARIABLE) or getpass.getuser()


def sign(decision: Decision, key: Ed25519PrivateKey) -> SignedDecision:
    """The decision with its proof."""
    return SignedDecision(
        decision=decision,
        key=base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        signature=base64.b64encode(key.sign(decision.canonical_bytes())).decode(),
    )


def is_genuine(signed: SignedDecision) -> bool:
    """Whether the decision was signed with the key that it names."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signed.key, validate=True))
        signature = base64.b64decode(signed.signature, validate=True)
        key.verify(signature, signed.decision.canonical_bytes())
    except (ValueError, InvalidSignature):
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What was decided at a gate about what is there now.

    Attributes:
        missing: roles that have not approved yet, one entry an approval.
        counted: the decisions that count.
        void: decisions that do not, each with the reason.
        blocking: what is not recorded; it blocks the gate like a missing approval.
    """

    gate: GateName
    missing: tuple[Role, ...]
    counted: tuple[SignedDecision, ...]
    void: tuple[tuple[SignedDecision, str], ...]
    blocking: tuple[str, ...] = ()

    @property
    def rejected(self) -> Decision | None:
        """A rejection that stands."""
        said = [signed.decision for signed in self.counted]
        return next((decision for decision in said if decision.decision == "reject"), None)

    @property
    def overridden(self) -> bool:
        """Whether somebody let it pass without what is missing."""
        return any(signed.decision.decision == "override" for signed in self.counted)

    @property
    def passed(self) -> bool:
        """Whether the release may go on."""
        complete = not self.missing and not self.blocking
        return self.rejected is None and (complete or self.overridden)


def standing(
    entries: Sequence[Entry],
    gate: GateName,
    *,
    required: Sequence[Role],
    seen: Mapping[str, str],
    approvers: Sequence[Approver],
    blocking: Sequence[str] = (),
) -> Standing:
    """What the statements about a release say of a gate.

    Args:
        entries: all statements about the release, in order.
        required: roles that must approve, each by another person.
        seen: SHA-256 of all that a decision must be about, as it is now.
        approvers: who may decide, as of now: a person or key that was removed no longer counts.
    """
    latest: dict[str, SignedDecision] = {}  # a person's last word is what counts
    void: list[tuple[SignedDecision, str]] = []
    for signed in _decisions(entries):
        if signed.decision.gate != gate:
            continue
        fault = _fault(signed, entries, required=required, seen=seen, approvers=approvers)
        if fault:
            void.append((signed, fault))
        else:
            latest[signed.decision.person] = signed
    counted = tuple(latest.values())
    approved = Counter(s.decision.role for s in counted if s.decision.decision == "approve")
    missing = Counter(required) - approved
    return Standing(
        gate=gate,
        missing=tuple(sorted(missing.elements())),
        counted=counted,
        void=tuple(void),
        blocking=tuple(blocking),
    )


def decide(
    ledger: Ledger, signed: SignedDecision, waiting: Waiting, approvers: Sequence[Approver]
) -> Entry:
    """Enter a decision about a release that waits.

    Raises:
        DecisionRefused: it is not about what waits now, or the person may not make it.
        LedgerError: the ledger cannot be reached.
    """
    decision = signed.decision
    if (decision.release, decision.gate) != (waiting.release, waiting.gate):
        raise DecisionRefused(
            f"release {waiting.release!r} waits at the gate {waiting.gate}, and this decision is "
            f"about {decision.release!r} at {decision.gate}; look again at what waits"
        )
    if decision.decided > datetime.now(UTC) + _AHEAD:
        raise DecisionRefused("the decision lies in the future; set the clock that it was made by")
    entries = ledger.statements(decision.release)
    fault = _fault(
        signed, entries, required=waiting.required, seen=waiting.seen, approvers=approvers
    )
    if fault:
        raise DecisionRefused(f"{decision.person} cannot {decision.decision} this: {fault}")
    kind = "override" if decision.decision == "override" else "decision"
    return ledger.state(decision.release, kind, signed.model_dump(mode="json"))


def _decisions(entries: Sequence[Entry]) -> list[SignedDecision]:
    return [
        SignedDecision.model_validate(entry.payload)
        for entry in entries
        if entry.kind in ("decision", "override")
    ]


def _fault(
    signed: SignedDecision,
    entries: Sequence[Entry],
    *,
    required: Sequence[Role],
    seen: Mapping[str, str],
    approvers: Sequence[Approver],
) -> str:
    """Why a decision does not count; empty where it does."""
    decision = signed.decision
    person = next((known for known in approvers if known.name == decision.person), None)
    if person is None:
        return "the profile does not list them among the approvers"
    if signed.key != person.key:
        return "it is signed with another key than the profile lists for them"
    if not is_genuine(signed):
        return "the signature does not fit the decision"
    if decision.role not in person.roles:
        return f"they do not hold the role {decision.role}"
    if (decision.role == OVERRIDE) != (decision.decision == "override"):
        return f"only the role {OVERRIDE} can override, and it can do nothing else"
    if decision.role not in (*required, OVERRIDE):
        return f"the role {decision.role} is not asked for at this gate"
    if dict(decision.seen) != dict(seen):
        changed = sorted(
            name for name in {*seen, *decision.seen} if seen.get(name) != decision.seen.get(name)
        )
        return f"what they saw has changed since ({', '.join(changed)})"
    started = {entry.payload.get("by") for entry in entries if entry.kind == "request"}
    if {person.login, person.name} & started:
        return "they started the release themselves"
    elsewhere = {
        said.decision.person for said in _decisions(entries) if said.decision.gate != decision.gate
    }
    if decision.person in elsewhere:
        return "they decided at the other gate, and nobody decides at both"
    return ""
