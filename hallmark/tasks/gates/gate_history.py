"""What was said at the gates of a release, and what may be said next.

Claim.   A history that `History.then` built, saying by saying, holds no decision twice, none that
         is not its person's own, none by whoever opened a gate, none after a rejection or a
         passage of its gate, and no passage without the approvals that its opening asks for.
Reuse.   Entering a decision in the ledger, reading it back and verifying a release offline all go
         through `then`, so nothing is published that would not verify, and nothing verifies that
         could not have been entered.
Limits.  Whether a key is its person's, only the profile tells (`tasks.gates.approvals`). Whoever
         leaves out the last sayings of all is found with the ledger alone (`tasks.audit`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Entry
from hallmark.schemas.documents.approvals import OVERRIDE, GateName, Role, known_as
from hallmark.schemas.documents.decisions import (
    COUNTED,
    FIRST_DECISION,
    Decision,
    Link,
    Opening,
    Outcome,
    Passage,
    SignedDecision,
)
from hallmark.tasks.gates.decision_keys import is_genuine
from hallmark.tasks.gates.table_seal import SEALED
from hallmark.tasks.installation.errors import SafeError

AHEAD = timedelta(minutes=5)  # how far an approver's clock may be ahead of ours
OF_THE_FIRST_FORMAT = (
    "superseded: made in the first format, before decisions named what they follow"
)
"""What became of decisions whose proof is not published: it holds a digest of the table."""


class NotNext(Exception):
    """This cannot be said there; the message says why."""


class HistoryBroken(SafeError):
    """The ledger holds what could not have been said."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One opening of a gate, with all that was decided until it was passed or opened anew."""

    opening: Opening
    decisions: tuple[SignedDecision, ...] = ()
    passage: Passage | None = None

    @property
    def rejection(self) -> Decision | None:
        """The rejection that ended it."""
        said = [signed.decision for signed in self.decisions]
        return next((one for one in said if one.decision == "reject"), None)

    @property
    def last_words(self) -> dict[str, SignedDecision]:
        """What each person said last, by the digest of the decision."""
        words = {known_as(signed.decision.person): signed for signed in self.decisions}
        return {signed.digest(): signed for signed in words.values()}

    @property
    def links(self) -> Iterator[Link]:
        """Everything said, in order."""
        yield self.opening
        yield from self.decisions
        if self.passage is not None:
            yield self.passage


@dataclass(frozen=True, kw_only=True)
class History:
    """Everything that was said about one release, in order.

    Attributes:
        earlier: decisions of the first format, which count no longer.
        starters: who opened a gate, by the names that are compared (`known_as`).
    """

    release: str
    rounds: tuple[Round, ...] = ()
    earlier: tuple[Decision, ...] = ()
    starters: frozenset[str] = frozenset()

    @classmethod
    def of(cls, release: str, entries: Iterable[Entry]) -> "History":
        """The history that the ledger's statements about a release tell.

        Raises:
            HistoryBroken: one of them could not have been entered by this program.
        """
        history = cls(release=release)
        for entry in entries:
            try:
                history = history._with(entry)
            except (NotNext, ValidationError) as error:
                why = str(error) if isinstance(error, NotNext) else "it cannot be read"
                raise HistoryBroken(
                    f"ledger account {entry.account!r}, entry {entry.seq}: {why}. Hallmark does "
                    f"not enter such a statement: release {release!r} stops here; find out who can "
                    "write to the database"
                ) from None
        return history

    def _with(self, entry: Entry) -> "History":
        payload = entry.payload
        if entry.kind == "request" and "format" not in payload:
            return replace(self, starters=self.starters | {known_as(str(payload.get("by")))})
        match entry.kind:
            case "request":
                return self.then(Opening.model_validate(payload))
            case "passage":
                return self.then(Passage.model_validate(payload))
            case "publish":  # which the run says by itself
                return self
        signed = SignedDecision.model_validate(payload)
        if signed.decision.format == FIRST_DECISION:
            return replace(self, earlier=(*self.earlier, signed.decision))
        return self.then(signed)

    @property
    def links(self) -> tuple[Link, ...]:
        """Everything said, in order."""
        return tuple(link for one in self.rounds for link in one.links)

    @property
    def head(self) -> str | None:
        """The digest of what was said last, which the next saying names."""
        return self.links[-1].digest() if self.rounds else None

    @property
    def last(self) -> Round | None:
        """The gate that was opened last."""
        return self.rounds[-1] if self.rounds else None

    def at(self, gate: GateName) -> Round | None:
        """The last opening of a gate; None where it was never opened."""
        found = [one for one in self.rounds if one.opening.gate == gate]
        return found[-1] if found else None

    def then(self, link: Link) -> "History":
        """The history with one more saying.

        Raises:
            NotNext: it cannot follow.
        """
        if isinstance(link, SignedDecision):
            _refuse(_decision_faults(self, link))
            now = self.rounds[-1]
            return self._ending_in(replace(now, decisions=(*now.decisions, link)))
        if isinstance(link, Passage):
            _refuse(_passage_faults(self, link))
            return self._ending_in(replace(self.rounds[-1], passage=link))
        _refuse(_opening_faults(self, link))
        starters = self.starters | {known_as(link.by)}
        return replace(self, rounds=(*self.rounds, Round(opening=link)), starters=starters)

    def _ending_in(self, last: Round) -> "History":
        return replace(self, rounds=(*self.rounds[:-1], last))

    def outcomes(self) -> Iterator[Outcome]:
        """Every decision and what became of it; of a gate that was not passed, nothing counted."""
        for decision in self.earlier:
            yield _outcome(decision, OF_THE_FIRST_FORMAT)
        for one in self.rounds:
            words, passage = one.last_words, one.passage
            for signed in one.decisions:
                name = signed.digest()
                if one is not self.at(one.opening.gate):
                    became = "superseded: the gate was opened anew"
                elif name not in words:
                    became = "superseded: they decided again"
                elif passage is None:
                    became = "void: the gate was not passed"
                else:
                    became = f"void: {passage.void[name]}" if name in passage.void else COUNTED
                yield _outcome(signed.decision, became)


def _outcome(decision: Decision, outcome: str) -> Outcome:
    return Outcome(
        gate=decision.gate,
        role=decision.role,
        person=decision.person,
        decision=decision.decision,
        decided=decision.decided,
        reason=decision.reason,
        outcome=outcome,
    )


def missing(required: Iterable[Role], counted: Iterable[Decision]) -> tuple[Role, ...]:
    """The roles that have not approved, one entry an approval."""
    approved = Counter(said.role for said in counted if said.decision == "approve")
    return tuple(sorted((Counter(required) - approved).elements()))


def _refuse(faults: Iterator[str]) -> None:
    for fault in faults:
        raise NotNext(fault)


def _opening_faults(history: History, opening: Opening) -> Iterator[str]:
    if opening.release != history.release:
        yield f"it is about release {opening.release!r}"
    if opening.previous != history.head:
        yield "it does not follow from what was said before it"
    if history.last is not None and history.last.rejection is not None and not opening.reason:
        yield "the gate was rejected, and nobody says why it is opened anew"


def _decision_faults(history: History, signed: SignedDecision) -> Iterator[str]:
    said, now = signed.decision, history.last
    if said.format == FIRST_DECISION:
        yield "it is of the first format, which could be sent again; decide with this version"
    if now is None or said.release != history.release:
        yield "no gate of that release was opened yet; run it again with --resume"
        return
    if signed in history.links:
        yield "it was made before, and a decision counts once"
    opening = now.opening
    if said.gate != opening.gate:
        yield f"it is about the gate {said.gate}, and {opening.gate} is open"
    if (refusal := now.rejection) is not None:
        yield (
            f"{refusal.person} rejected it, and nobody decides at this gate until it is opened "
            f"anew: hallmark reopen {history.release} --reason WHY"
        )
    if now.passage is not None:
        yield "the gate was passed already"
    if not is_genuine(signed):
        yield "the signature does not fit the decision"
    if (said.role == OVERRIDE) != (said.decision == "override"):
        yield f"only the role {OVERRIDE} can override, and it can do nothing else"
    if said.role not in (*opening.required, OVERRIDE):
        yield f"the role {said.role} is not asked for at this gate"
    if dict(said.seen) != dict(opening.seen):
        yield f"what they saw has changed since ({', '.join(changed(said.seen, opening.seen))})"
    if said.decided < opening.opened:
        yield (
            f"it is dated {said.decided:%Y-%m-%d %H:%M:%S %Z}, before the gate was opened "
            f"({opening.opened:%Y-%m-%d %H:%M:%S %Z}); set the clock that it was made by"
        )
    if said.previous != history.head:
        yield "something was said since they looked; look again at what waits, and decide anew"
    yield from _person_faults(history, signed)


def _person_faults(history: History, signed: SignedDecision) -> Iterator[str]:
    """Whether somebody would count as two persons, or decide on their own work."""
    person = known_as(signed.decision.person)
    if person in history.starters:
        yield "they started the release themselves"
    before = [other for one in history.rounds for other in one.decisions]
    if any(o.key == signed.key and known_as(o.decision.person) != person for o in before):
        yield "their key has decided under another name"
    if any(
        known_as(other.decision.person) == person and other.decision.gate != signed.decision.gate
        for other in before
    ):
        yield "they decided at the other gate, and nobody decides at both"


def _passage_faults(history: History, passage: Passage) -> Iterator[str]:
    now = history.last
    if now is None or (passage.release, passage.gate) != (history.release, now.opening.gate):
        yield "it passes a gate that is not open"
        return
    if now.passage is not None or now.rejection is not None:
        yield "it passes a gate that was passed or rejected before"
    if passage.previous != history.head:
        yield "it does not follow from what was said before it"
    if passage.passed < now.opening.opened:
        yield "it passes a gate before it was opened"
    if any(signed.decision.decided > passage.passed + AHEAD for signed in now.decisions):
        yield "a decision lies in the future of the passage"
    words = now.last_words
    if sorted(words) != sorted((*passage.counted, *passage.void)):
        yield "it counts other decisions than the last word of each person"
        return
    counted = [words[name].decision for name in passage.counted]
    lacking = missing(now.opening.required, counted)
    if lacking and not any(said.role == OVERRIDE for said in counted):
        yield f"at the gate {passage.gate}, {', '.join(lacking)} did not approve"


def changed(seen: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of what differs. The table's seal is new at every opening, so it is named only
    where nothing else is."""
    names = sorted(name for name in {*seen, *now} if seen.get(name) != now.get(name))
    return [name for name in names if name != SEALED] or names
