"""Whether the decisions that a release holds let it be published: signed, complete, about it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from schemas.approvals import OVERRIDE, ApprovalsFile, GateName, SignedDecision
from schemas.manifest import APPROVALS_FILE, Manifest
from schemas.release_spec import ReleaseSpec
from tasks.approvals import is_genuine


def approval_faults(folder: Path, manifest: Manifest, spec: ReleaseSpec) -> Iterator[str]:
    """What is wrong with the decisions of a release folder; nothing where none were asked for.

    Whose keys these are, only the agency's own profile tells.
    """
    gates: tuple[GateName, ...] = ("plan", "disclosure")
    asked = [gate for gate in gates if spec.approvals.required(gate)]
    if not asked:
        return
    if APPROVALS_FILE not in manifest.files:
        yield f"the spec asks for approvals, but {APPROVALS_FILE} is missing"
        return
    try:
        file = ApprovalsFile.model_validate_json((folder / APPROVALS_FILE).read_bytes())
    except (OSError, ValidationError):
        yield f"{APPROVALS_FILE} is no list of decisions of this version"
        return
    for signed in file.decisions:
        yield from _faults(signed, manifest)
    for gate in asked:
        here = [s.decision for s in file.decisions if s.decision.gate == gate]
        approved = Counter(said.role for said in here if said.decision == "approve")
        missing = Counter(spec.approvals.required(gate)) - approved
        if missing and not any(said.role == OVERRIDE for said in here):
            yield f"at the gate {gate}, {', '.join(sorted(missing.elements()))} did not approve"
        if len({said.person for said in here}) < len(here):
            yield f"at the gate {gate}, somebody decided twice"
        if any(said.decision == "reject" for said in here):
            yield f"at the gate {gate}, somebody rejected it"


def _faults(signed: SignedDecision, manifest: Manifest) -> Iterator[str]:
    said = signed.decision
    who = f"the decision of {said.person} at the gate {said.gate}"
    if not is_genuine(signed):
        yield f"{who} is not signed with the key beside it"
    if said.release != manifest.release_id or said.seen.get("spec") != manifest.spec_digest:
        yield f"{who} is about another release"
    if said.gate == "disclosure":
        released = {
            name: entry.sha256 for name, entry in manifest.files.items() if name != APPROVALS_FILE
        }
        seen = {name: digest for name, digest in said.seen.items() if name in released}
        changed = sorted(name for name in released if seen.get(name) != released[name])
        if changed:
            yield f"{who} is about another {', '.join(changed)}"
