"""Decisions at the gates of a release: who decided what, whether it counts, and what is missing.

A decision is an entry in the ledger, where it can be neither changed nor withdrawn. It counts only
for the opening of the gate that it was made at, after exactly the statements made by then, and as
long as the profile lists its person with its key. So it does not matter how it arrived: by the
command line, the desk or a script.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, get_args

from hallmark.mechanisms.privacy.ledger.ledger import Entry, Ledger
from hallmark.schemas.documents.approvals import Approver, GateName, Role, Waiting, known_as
from hallmark.schemas.documents.decisions import (
    Decision,
    Opening,
    Passage,
    SeriesApproval,
    SignedDecision,
)
from hallmark.schemas.written import written
from hallmark.tasks.gates.gate_history import AHEAD, History, NotNext, Round, changed, missing
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.installation.operator import operator

_NONCE_BYTES = 16
_LEAST_REASON = 3  # characters, as of a decision


class DecisionRefused(SafeError):
    """The decision does not count, and was not entered; the message says why."""


class GateRejected(SafeError):
    """An approver has rejected the release in its present form."""


class Overtaken(SafeError):
    """Somebody made a decision at the very moment when the gate was about to be passed."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Decisions at a gate about its present contents.

    Attributes:
        missing: roles that have not approved yet, one entry per approval.
        counted: the decisions that count.
        void: people's last decisions that do not count, each with the reason.
        superseded: decisions that were replaced by another, each with the reason.
        blocking: items that are not recorded, which block the gate like a missing approval.
        tables_shown: openings of the plan's gate that show that the private table changed.
    """

    gate: GateName
    missing: tuple[Role, ...]
    counted: tuple[SignedDecision, ...]
    void: tuple[tuple[SignedDecision, str], ...]
    superseded: tuple[tuple[SignedDecision, str], ...] = ()
    blocking: tuple[str, ...] = ()
    tables_shown: int = 0

    @property
    def rejected(self) -> Decision | None:
        """The rejection that is in force, if there is one."""
        said = [signed.decision for signed in self.counted]
        return next((decision for decision in said if decision.decision == "reject"), None)

    @property
    def overridden(self) -> bool:
        """Whether somebody overrode the missing approvals."""
        return any(signed.decision.decision == "override" for signed in self.counted)

    @property
    def passed(self) -> bool:
        """Whether the release may continue."""
        complete = not self.missing and not self.blocking
        return self.rejected is None and (complete or self.overridden)

    @property
    def warning(self) -> str:
        """What publishing the release would reveal of the time that it waited; empty if nothing."""
        if not self.tables_shown:
            return ""
        return (
            "the private table changed while the release waited. That is an exact fact about it, "
            "which the release publishes: openings of the plan's gate show it "
            f"({self.tables_shown}). If nobody may know, give the release up, and start one under "
            "another name"
        )

    @property
    def idle(self) -> tuple[tuple[SignedDecision, str], ...]:
        """All decisions that do not count, each with the reason."""
        return (*self.superseded, *self.void)


def standing(
    history: History,
    gate: GateName,
    *,
    required: Sequence[Role],
    approvers: Sequence[Approver],
    blocking: Sequence[str] = (),
) -> Standing:
    """The decisions about a release at a gate, and what is missing there.

    Args:
        required: roles that must approve, each by a different person.
        approvers: who may decide now: a person or key that was removed no longer counts. But a
            rejection, or the passage of a gate, stays in force whoever leaves the profile.
            A key that the register of keys calls revoked, or retired before, does not count either.
    """
    now = history.at(gate)
    words = {} if now is None else now.last_words
    passage = None if now is None else now.passage
    if passage is not None:
        faults = dict(passage.void)
    else:
        faults = {
            name: fault
            for name, signed in words.items()
            if (fault := profile_fault(history, signed, approvers))
            and signed.decision.decision != "reject"
        }
    counted = [signed for name, signed in words.items() if name not in faults]
    once = () if now is None else now.of_series
    if passage is None:
        once = tuple(one for one in once if not profile_fault(history, one, approvers))
    return Standing(
        gate=gate,
        missing=missing(required, [signed.decision for signed in (*once, *counted)]),
        counted=tuple(counted),
        void=tuple((words[name], fault) for name, fault in faults.items()),
        superseded=tuple(_superseded(history, gate, words.keys())),
        blocking=tuple(blocking),
        tables_shown=history.tables_shown,
    )


def could_approve(
    history: History, there: Standing, approvers: Sequence[Approver]
) -> dict[Role, tuple[str, ...]]:
    """Who may still give the approvals that are missing, by role.

    That is who has the role in the profile, did not start the release, and decided at no gate of it
    whose decisions hold.
    """
    spoken = {
        known_as(signed.decision.person)
        for gate in get_args(GateName)
        if (now := history.at(gate)) is not None
        for signed in now.last_words.values()
    }
    return {
        role: tuple(
            one.name
            for one in approvers
            if role in one.roles
            and known_as(one.name) not in spoken
            and (one.login is None or known_as(one.login) not in history.starters)
        )
        for role in there.missing
    }


def open_gate(
    ledger: Ledger,
    release: str,
    gate: GateName,
    *,
    required: Sequence[Role],
    seen: Mapping[str, str],
    series: SeriesApproval | None = None,
) -> None:
    """Enter that a gate is open for decisions about its present contents; earlier ones are void.

    Args:
        series: the approval of the plan of the whole series, which counts at this gate.
    Raises:
        GateRejected: somebody rejected the release, and nobody has reopened the gate.
    """

    def say(entries: Sequence[Entry]) -> dict[str, Any]:
        history = History.of(release, entries)
        refuse_rejected(history)
        return _opening(history, gate, required=required, seen=seen, series=series)

    ledger.state_next(release, "request", say)


def reopen(ledger: Ledger, release: str, *, reason: str, by: str | None = None) -> Round:
    """Reopen the gate at which a release was rejected, for the same contents.

    Args:
        by: who does; where it is not given, the operator.
    Returns:
        The round that the rejection ended.
    Raises:
        DecisionRefused: nobody rejected the release, or no reason is given.
    """
    if len(reason.strip()) < _LEAST_REASON:
        raise DecisionRefused(
            f"--reason: give a reason of at least {_LEAST_REASON} characters; it is published with "
            "the release"
        )
    ended: list[Round] = []

    def say(entries: Sequence[Entry]) -> dict[str, Any]:
        history = History.of(release, entries)
        last = history.last
        if last is None or last.rejection is None:
            raise DecisionRefused(f"release {release!r} was not rejected; no gate can be reopened")
        ended[:] = [last]
        was = last.opening
        return _opening(
            history, was.gate, required=was.required, seen=was.seen, reason=reason, by=by
        )

    ledger.state_next(release, "request", say)
    return ended[0]


def _opening(
    history: History,
    gate: GateName,
    *,
    required: Sequence[Role],
    seen: Mapping[str, str],
    reason: str = "",
    by: str | None = None,
    series: SeriesApproval | None = None,
) -> dict[str, Any]:
    opening = Opening(
        release=history.release,
        gate=gate,
        required=tuple(required),
        seen=seen,
        by=by or operator(),
        opened=datetime.now(UTC).replace(microsecond=0),
        reason=reason,
        nonce=token_hex(_NONCE_BYTES),
        previous=history.head,
        series=series,
    )
    history.then(opening)
    return opening.model_dump(mode="json")


def decide(
    ledger: Ledger, signed: SignedDecision, waiting: Waiting, approvers: Sequence[Approver]
) -> Entry:
    """Enter a decision about a waiting release.

    Raises:
        DecisionRefused: it is not about the waiting contents, or the person may not make it.
        LedgerError: the ledger cannot be reached.
    """
    decision = signed.decision
    if (decision.release, decision.gate) != (waiting.release, waiting.gate):
        raise DecisionRefused(
            f"release {waiting.release!r} is waiting at the {waiting.gate} gate, but this decision "
            f"is about {decision.release!r} at {decision.gate}; look again at what is waiting"
        )
    try:
        written(decision.reason)
    except ValueError as error:
        raise DecisionRefused(f"the reason: {error}") from None
    if decision.decided > datetime.now(UTC) + AHEAD:
        raise DecisionRefused("the decision is dated in the future; set the clock it was made with")

    def say(entries: Sequence[Entry]) -> dict[str, Any]:
        history = History.of(decision.release, entries)
        if fault := profile_fault(history, signed, approvers):
            raise _refused(decision, fault)
        try:
            history.then(signed)
        except NotNext as error:
            raise _refused(decision, str(error)) from None
        return signed.model_dump(mode="json")

    kind = "override" if decision.decision == "override" else "decision"
    return ledger.state_next(decision.release, kind, say)


def _refused(decision: Decision, fault: str) -> DecisionRefused:
    return DecisionRefused(f"{decision.person} cannot {decision.decision} this: {fault}")


def pass_gate(ledger: Ledger, release: str, there: Standing) -> None:
    """Enter that a gate is passed on its counting decisions; nobody can decide there any more.

    Raises:
        Overtaken: somebody has decided since these decisions were read.
    """

    def say(entries: Sequence[Entry]) -> dict[str, Any]:
        history = History.of(release, entries)
        assert history.head is not None, "a gate that is passed was opened"
        passage = Passage(
            release=release,
            gate=there.gate,
            passed=datetime.now(UTC).replace(microsecond=0),
            counted=tuple(signed.digest() for signed in there.counted),
            void={signed.digest(): fault for signed, fault in there.void},
            previous=history.head,
        )
        try:
            history.then(passage)
        except NotNext:
            raise Overtaken(
                f"somebody decided about release {release!r} at this very moment, so nothing was "
                "done. Run it again with --resume"
            ) from None
        return passage.model_dump(mode="json")

    ledger.state_next(release, "passage", say)


def refuse_rejected(history: History) -> None:
    """Refuse a release that somebody rejected at the gate that was opened last.

    Raises:
        GateRejected: nobody has reopened the gate since.
    """
    refusal = None if history.last is None else history.last.rejection
    if refusal is not None:
        raise GateRejected(
            f"release {history.release!r} was rejected at the {refusal.gate} gate by "
            f"{refusal.person} ({refusal.role}): {refusal.reason}. Its budget stays reserved; "
            "change what they object to, reopen the gate with: hallmark reopen "
            f"{history.release} --reason WHY, and run again with --resume; or, if nothing was "
            f"drawn, give the budget back with: hallmark ledger cancel {history.release} "
            "--reason WHY"
        )


def _superseded(
    history: History, gate: GateName, words: Collection[str]
) -> Iterator[tuple[SignedDecision, str]]:
    here = [one for one in history.rounds if one.opening.gate == gate]
    for one in here:
        for signed in one.decisions:
            if one is not here[-1]:
                names = changed(one.opening.seen, here[-1].opening.seen)
                yield (
                    signed,
                    f"what they saw has changed since then ({', '.join(names)})"
                    if names
                    else "the gate was reopened since then",
                )
            elif signed.digest() not in words:
                yield signed, "they decided again"


def profile_fault(history: History, signed: SignedDecision, approvers: Sequence[Approver]) -> str:
    """Why the profile and the register of keys let a decision not count now; empty if they do."""
    return next(_profile_faults(history, signed, approvers), "")


def _profile_faults(
    history: History, signed: SignedDecision, approvers: Sequence[Approver]
) -> Iterator[str]:
    """Reasons in the profile why a decision does not count."""
    decision = signed.decision
    name = known_as(decision.person)
    person = next((known for known in approvers if known_as(known.name) == name), None)
    if person is None:
        yield "the profile does not list them among the approvers"
        return
    if signed.key != person.key:
        yield "it is signed with a different key from the one that the profile lists for them"
    entry = key_register().approvers_key(person.key)
    if entry is not None and (ended := entry.ended(decision.decided)):
        yield f"their key {ended}, as the register of keys says"
    if decision.role not in person.roles:
        yield f"they do not have the role {decision.role}"
    if person.login is not None and known_as(person.login) in history.starters:
        yield "they started the release themselves"
