"""Whether what was said at the gates of a release let it be published: whole, signed, about it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

from pydantic import ValidationError

from hallmark.schemas.documents.approvals import OVERRIDE, GateName, known_as
from hallmark.schemas.documents.decisions import (
    FIRST_DECISION,
    ApprovalsFile,
    FirstApprovalsFile,
    SignedDecision,
)
from hallmark.schemas.documents.manifest import APPROVALS_FILE, Manifest
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.gates.decision_keys import is_genuine, same_key
from hallmark.tasks.gates.gate_history import OF_THE_FIRST_FORMAT, History, NotNext, missing
from hallmark.tasks.verification.documents import Unsound, plain_bytes

GATES: tuple[GateName, ...] = ("plan", "disclosure")


def approval_faults(folder: Path, manifest: Manifest, spec: ReleaseSpec) -> Iterator[str]:
    """What is wrong with the decisions of a release folder; nothing where none were asked for.

    Whose keys these are, only the agency's own profile tells, and whether something was said after
    all of this, only its ledger.
    """
    asked = [gate for gate in GATES if spec.approvals.required(gate)]
    if APPROVALS_FILE not in manifest.files:
        if asked:
            yield f"the spec asks for approvals, but {APPROVALS_FILE} is missing"
        return
    file = read_approvals(folder)
    match file:
        case None:
            yield f"{APPROVALS_FILE} is not a list of decisions in a format of this version"
        case FirstApprovalsFile():
            yield from _first_faults(file, manifest, spec)
        case ApprovalsFile():
            yield from _history_faults(file, manifest, spec)


def read_approvals(folder: Path) -> ApprovalsFile | FirstApprovalsFile | None:
    """What `approvals.json` of a release holds, in either format; None where it holds neither."""
    for kind in (ApprovalsFile, FirstApprovalsFile):
        try:
            return kind.model_validate_json(plain_bytes(folder / APPROVALS_FILE))
        except (Unsound, ValidationError):
            continue
    return None


def _history_faults(file: ApprovalsFile, manifest: Manifest, spec: ReleaseSpec) -> Iterator[str]:
    history = History(release=manifest.release_id)
    for number, link in enumerate(file.said, 1):
        try:
            history = history.then(link)
        except NotNext as fault:
            who = f" of {link.decision.person}" if isinstance(link, SignedDecision) else ""
            yield f"statement {number}{who} cannot stand where it does: {fault}"
            return
    told = tuple(one for one in file.decisions if one.outcome != OF_THE_FIRST_FORMAT)
    if told != tuple(history.outcomes()):
        yield "the decisions listed are not those that the statements make"
    if history.last is not None and history.last.passage is None:
        yield f"the gate {history.last.opening.gate} was opened and not passed"
    for gate in GATES:
        required, now = spec.approvals.required(gate), history.at(gate)
        if now is None:
            if required:
                yield f"the gate {gate} was never opened"
            continue
        if Counter(required) - Counter(now.opening.required):
            yield f"the gate {gate} asked for fewer approvals than the spec does"
        yield from _seen_faults(gate, now.opening.seen, manifest, f"what was seen at {gate}")


def _seen_faults(
    gate: GateName, seen: Mapping[str, str], manifest: Manifest, what: str
) -> Iterator[str]:
    """Whether what somebody saw is what was released."""
    if seen.get("spec") != manifest.spec_digest:
        yield f"{what} is about another release"
    if gate == "disclosure":
        released = {
            name: entry.sha256 for name, entry in manifest.files.items() if name != APPROVALS_FILE
        }
        different = sorted(name for name in released if seen.get(name) != released[name])
        if different:
            yield f"{what} is about another {', '.join(different)}"


# Releases whose decisions named nothing that was said before them


def _first_faults(file: FirstApprovalsFile, manifest: Manifest, spec: ReleaseSpec) -> Iterator[str]:
    for signed in file.decisions:
        yield from _first_decision_faults(signed, manifest)
    for one, other in combinations(file.decisions, 2):
        yield from _double_faults(one, other)
    for gate in GATES:
        here = [s.decision for s in file.decisions if s.decision.gate == gate]
        lacking = missing(spec.approvals.required(gate), here)
        if lacking and not any(said.role == OVERRIDE for said in here):
            yield f"at the {gate} gate, {', '.join(lacking)} did not approve"
        if any(said.decision == "reject" for said in here):
            yield f"at the {gate} gate, somebody rejected it"


def _first_decision_faults(signed: SignedDecision, manifest: Manifest) -> Iterator[str]:
    said = signed.decision
    who = f"the decision of {said.person} at the gate {said.gate}"
    if said.format != FIRST_DECISION:
        yield f"{who} is of a later format than the file, which would hide what was said before"
    if not is_genuine(signed):
        yield f"{who} is not signed with the key beside it"
    if said.release != manifest.release_id:
        yield f"{who} is about another release"
    yield from _seen_faults(said.gate, said.seen, manifest, who)


def _double_faults(one: SignedDecision, other: SignedDecision) -> Iterator[str]:
    """Whether one person counts as two; nobody decides twice, nor at both gates."""
    gates = sorted({one.decision.gate, other.decision.gate})
    names = {known_as(one.decision.person), known_as(other.decision.person)}
    if len(names) == 1 and len(gates) == 1:
        yield f"at the {gates[0]} gate, somebody decided twice"
    elif len(names) == 1:
        yield f"{one.decision.person} decided at both gates"
    elif is_genuine(one) and is_genuine(other) and same_key(one, other):
        yield f"{one.decision.person} and {other.decision.person} have one key"
