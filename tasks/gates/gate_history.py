"""The statements made at the gates of a release, and which statements may follow.

Claim.   A history built by `History.then`, statement by statement, contains no decision twice, none
         that its person did not sign, none by a person who opened a gate, none after a rejection or
         a passage of its gate, and no passage without the approvals that its opening requires.
Series.  An opening may carry the approval of the plan of a whole series, which is a history of its
         own: it must be one that `then` builds, up to the passage, and be about the same plan of
         the series, the same code and the same cluster. Its approvals then count at this opening,
         too, and its people decide at no other gate.
Reuse.   Entering a decision in the ledger, reading it back and verifying a release offline all go
         through `then`, so nothing is published that would not verify, and nothing verifies that
         could not have been entered.
Limits.  Only the profile says whether a key belongs to its person (`tasks.gates.approvals`). Only
         the ledger reveals that the last statements of all were left out (`tasks.audit`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Entry, Ledger
from hallmark.schemas.documents.approvals import OVERRIDE, GateName, Role, known_as
from hallmark.schemas.documents.decisions import (
    COUNTED,
    FIRST_DECISION,
    FOR_THE_SERIES,
    Decision,
    Link,
    Opening,
    Outcome,
    Passage,
    SeriesApproval,
    SignedDecision,
)
from hallmark.schemas.documents.series_plan import SERIES_PLAN
from hallmark.tasks.gates.decision_keys import is_genuine, same_key
from hallmark.tasks.gates.table_seal import SEALED
from hallmark.tasks.installation.errors import SafeError

AHEAD = timedelta(minutes=5)  # how far an approver's clock may be ahead of ours
REHEARSED = "rehearsal"
"""The name of the rehearsal among what an approver sees."""

OF_THE_FIRST_FORMAT = (
    "superseded: made in the first format, before decisions named what they follow"
)
"""The outcome of decisions whose proof, with a digest of the table, is not published."""


class NotNext(Exception):
    """A statement that cannot follow; the message says why."""


class HistoryBroken(SafeError):
    """The ledger contains a statement that could not have been made."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One opening of a gate, with all decisions until it was passed or opened again."""

    opening: Opening
    decisions: tuple[SignedDecision, ...] = ()
    passage: Passage | None = None

    @property
    def rejection(self) -> Decision | None:
        """The rejection that ended the round, if there is one."""
        said = [signed.decision for signed in self.decisions]
        return next((one for one in said if one.decision == "reject"), None)

    @property
    def last_words(self) -> dict[str, SignedDecision]:
        """Each person's last decision, by the digest of the decision."""
        words = {known_as(signed.decision.person): signed for signed in self.decisions}
        return {signed.digest(): signed for signed in words.values()}

    @property
    def of_series(self) -> tuple[SignedDecision, ...]:
        """The approvals of the plan of the whole series that the opening carries."""
        carried = self.opening.series
        return () if carried is None else approved_once(carried)

    @property
    def links(self) -> Iterator[Link]:
        """All statements, in order."""
        yield self.opening
        yield from self.decisions
        if self.passage is not None:
            yield self.passage


@dataclass(frozen=True, kw_only=True)
class History:
    """All statements about one release, in order.

    Attributes:
        earlier: decisions of the first format, which no longer count.
        starters: people who opened a gate, by the form of names that is compared (`known_as`).
    """

    release: str
    rounds: tuple[Round, ...] = ()
    earlier: tuple[Decision, ...] = ()
    starters: frozenset[str] = frozenset()

    @classmethod
    def of(cls, release: str, entries: Iterable[Entry]) -> "History":
        """The history from the ledger's statements about a release.

        Raises:
            HistoryBroken: this program could not have entered one of them.
        """
        history = cls(release=release)
        for entry in entries:
            try:
                history = history._with(entry)
            except (NotNext, ValidationError) as error:
                why = str(error) if isinstance(error, NotNext) else "it cannot be read"
                raise HistoryBroken(
                    f"ledger account {entry.account!r}, entry {entry.seq}: {why}. Hallmark never "
                    f"enters such a statement: release {release!r} stops here; find out who can "
                    "write to the database"
                ) from None
        return history

    @classmethod
    def in_ledger(cls, ledger: Ledger, release: str) -> "History":
        """The history of a release, as of `of`."""
        return cls.of(release, ledger.statements(release))

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
        """All statements, in order."""
        return tuple(link for one in self.rounds for link in one.links)

    @property
    def head(self) -> str | None:
        """The digest of the last statement, which the next statement must name."""
        return self.links[-1].digest() if self.rounds else None

    @property
    def last(self) -> Round | None:
        """The gate that was opened last."""
        return self.rounds[-1] if self.rounds else None

    def at(self, gate: GateName) -> Round | None:
        """The last opening of a gate; None if it was never opened."""
        found = [one for one in self.rounds if one.opening.gate == gate]
        return found[-1] if found else None

    def then(self, link: Link) -> "History":
        """The history with one more statement.

        Raises:
            NotNext: the statement cannot follow.
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

    @property
    def tables_shown(self) -> int:
        """How often the plan's gate was opened anew where nothing but the private table can have
        changed, which shows everybody that it did. A rehearsal by itself opens no gate anew."""
        rounds = [one.opening for one in self.rounds if one.opening.gate == "plan"]
        return sum(
            {*changed(before.seen, after.seen)} <= {SEALED, REHEARSED}
            and SEALED in before.seen
            and SEALED in after.seen  # not so where the approval of a series took the table's place
            and before.required == after.required
            and not after.reason
            for before, after in pairwise(rounds)
        )

    def outcomes(self) -> Iterator[Outcome]:
        """Every decision with its outcome; at a gate that was not passed, none counted."""
        for decision in self.earlier:
            yield _outcome(decision, OF_THE_FIRST_FORMAT)
        for one in self.rounds:
            words, passage = one.last_words, one.passage
            if one.opening.series is not None and passage is not None:
                of = f"{FOR_THE_SERIES}{one.opening.series.release}"
                yield from (_outcome(signed.decision, of) for signed in one.of_series)
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


def approved_once(carried: SeriesApproval) -> tuple[SignedDecision, ...]:
    """The approvals on which the gate was passed at which the plan of a series was approved; none
    where it was not passed.

    Raises:
        NotNext: the statements cannot follow each other.
    """
    history = History(release=carried.release)
    for link in carried.said:
        history = history.then(link)
    now = history.last
    if now is None or now.passage is None or now.opening.gate != "plan":
        return ()
    words = now.last_words
    counted = [words[name] for name in now.passage.counted]
    return tuple(signed for signed in counted if signed.decision.decision == "approve")


def _outcome(decision: Decision, outcome: str) -> Outcome:
    told = decision.model_dump(include=Outcome.model_fields.keys() - {"outcome"})
    return Outcome(**told, outcome=outcome)


def missing(required: Iterable[Role], counted: Iterable[Decision]) -> tuple[Role, ...]:
    """The roles that have not approved, one entry per approval."""
    approved = Counter(said.role for said in counted if said.decision == "approve")
    return tuple(sorted((Counter(required) - approved).elements()))


def _refuse(faults: Iterator[str]) -> None:
    for fault in faults:
        raise NotNext(fault)


def _opening_faults(history: History, opening: Opening) -> Iterator[str]:
    if opening.release != history.release:
        yield f"it is about release {opening.release!r}"
    if opening.previous != history.head:
        yield "it does not follow from the statement before it"
    if history.last is not None and history.last.rejection is not None and not opening.reason:
        yield "the gate was rejected, and there is no reason for reopening it"
    if opening.series is not None:
        yield from _series_faults(history, opening, opening.series)


def _series_faults(history: History, opening: Opening, carried: SeriesApproval) -> Iterator[str]:
    """Why the approval of a series' plan, which an opening carries, does not count at it."""
    what = f"the approval of the series at the gate of {carried.release}"
    if opening.gate != "plan" or carried.release == history.release:
        yield f"{what} is carried by a gate that it is not about"
    try:
        approvals = approved_once(carried)
    except NotNext as error:
        yield f"{what} cannot be: {error}"
        return
    before = [link for link in carried.said if isinstance(link, Opening)]
    if not approvals or not before:
        yield f"{what} ends without an approval"
        return
    asked = before[-1]
    if asked.series is not None:
        yield f"{what} rests on another one"
    if SERIES_PLAN not in asked.seen:
        yield f"{what} is about one release, not about a series"
    names = [
        name for name in (SERIES_PLAN, "code", "cluster") if name in {*asked.seen, *opening.seen}
    ]
    if different := [name for name in names if asked.seen.get(name) != opening.seen.get(name)]:
        yield f"{what} is about another {', '.join(different)}"
    if lacking := missing(opening.required, [signed.decision for signed in approvals]):
        yield f"{what} lacks approvals by {', '.join(lacking)}"
    if any(known_as(signed.decision.person) == known_as(opening.by) for signed in approvals):
        yield f"{opening.by} approved the plan of the series, and starts this release"


def _decision_faults(history: History, signed: SignedDecision) -> Iterator[str]:
    said, now = signed.decision, history.last
    if said.format == FIRST_DECISION:
        yield "it has the first format, which could be submitted twice; decide with this version"
    if now is None or said.release != history.release:
        yield "no gate of that release has been opened yet; run it again with --resume"
        return
    if signed in history.links:
        yield "it was made before, and a decision counts once"
    opening = now.opening
    if said.gate != opening.gate:
        yield f"it is about the {said.gate} gate, but the {opening.gate} gate is open"
    if (refusal := now.rejection) is not None:
        yield (
            f"{refusal.person} rejected it, and nobody can decide at this gate until it is "
            f"reopened: hallmark reopen {history.release} --reason WHY"
        )
    if now.passage is not None:
        yield "the gate has already been passed"
    if not is_genuine(signed):
        yield "the signature does not belong to the decision"
    if (said.role == OVERRIDE) != (said.decision == "override"):
        yield f"only the role {OVERRIDE} can override, and it can do nothing else"
    if said.role not in (*opening.required, OVERRIDE):
        yield f"the role {said.role} is not required at this gate"
    if dict(said.seen) != dict(opening.seen):
        names = ", ".join(changed(said.seen, opening.seen))
        yield f"what they saw has changed since then ({names})"
    if said.decided < opening.opened:
        yield (
            f"it is dated {said.decided:%Y-%m-%d %H:%M:%S %Z}, before the gate was opened "
            f"({opening.opened:%Y-%m-%d %H:%M:%S %Z}); set the clock it was made with"
        )
    if said.previous != history.head:
        yield "there was another statement after they looked; look again, and decide again"
    yield from _person_faults(history, signed)


def _person_faults(history: History, signed: SignedDecision) -> Iterator[str]:
    """Reasons why a person would count as two people, or decide on their own work."""
    person = known_as(signed.decision.person)
    if person in history.starters:
        yield "they started the release themselves"
    before = [other for one in history.rounds for other in (*one.of_series, *one.decisions)]
    if any(same_key(o, signed) and known_as(o.decision.person) != person for o in before):
        yield "their key was used under another name"
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
        yield "it does not follow from the statement before it"
    if passage.passed < now.opening.opened:
        yield "it passes a gate before it was opened"
    if any(signed.decision.decided > passage.passed + AHEAD for signed in now.decisions):
        yield "a decision is dated after the passage"
    words = now.last_words
    if sorted(words) != sorted((*passage.counted, *passage.void)):
        yield "it counts decisions other than each person's last one"
        return
    of_series = [signed.decision for signed in now.of_series]
    counted = [*of_series, *(words[name].decision for name in passage.counted)]
    lacking = missing(now.opening.required, counted)
    if lacking and not any(said.role == OVERRIDE for said in counted):
        yield f"at the {passage.gate} gate, {', '.join(lacking)} did not approve"


def changed(seen: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of contents that differ. The table's seal is new at every opening, so it is named
    only if nothing else differs."""
    names = sorted(name for name in {*seen, *now} if seen.get(name) != now.get(name))
    return [name for name in names if name != SEALED] or names
