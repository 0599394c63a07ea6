"""The gates of a release: where a run stops until people have decided, or an embargo has ended.

A run that must wait ends, and holds no worker and no cluster meanwhile; its budget stays reserved.
It goes on when the release is run again: the gate is then open, or it stops again. What waits is a
file in the workspace, and what was decided is in the ledger, so both survive every restart.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from prefect.runtime import deployment

from hallmark.schemas.documents.approvals import Approvals, GateName, Waiting
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.decisions import (
    ApprovalsFile,
    Opening,
    Outcome,
    SeriesApproval,
)
from hallmark.schemas.documents.manifest import APPROVALS_FILE, RECORD_FILE, SERIES_PLAN_FILE
from hallmark.schemas.documents.series_plan import SERIES_PLAN
from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.gates.approvals import (
    open_gate,
    pass_gate,
    refuse_rejected,
    standing,
)
from hallmark.tasks.gates.gate_history import REHEARSED, History, Round
from hallmark.tasks.gates.rehearsal import last_rehearsal
from hallmark.tasks.gates.series_approval import Coverage, coverage, proposed
from hallmark.tasks.gates.staged import staged_files
from hallmark.tasks.gates.table_seal import SEALED, forget_salt, fresh_seal, seal
from hallmark.tasks.gates.waiting import NOTE
from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.errors import PrivateFact
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.log import tell
from hallmark.tasks.installation.operator import order_number
from hallmark.tasks.installation.profile import approvals_of, profile
from hallmark.tasks.installation.workspace import Workspace, whole
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.rendering.crosswalk import unanswered
from hallmark.tasks.sources import Source, source_digest

_ASKED = "table-asked.txt"


class PlanChanged(PrivateFact):
    """Something that the plan's approval is bound to changed while the release ran."""


class TableChanged(PrivateFact):
    """A release has answers of one private table, and would be given more of another."""


def plan_gate(job: Job) -> Waiting | None:
    """What the run waits for before the private data are asked anything; None where it may go on.

    Raises:
        GateRejected: somebody who may decide rejected the plan.
    """
    prepared, workspace = job.prepared, job.workspace
    if not approvals_of(prepared.spec).plan:
        return None
    shown = workspace.plan
    summary = json.dumps(plan_summary(prepared), indent=1, sort_keys=True)
    (shown / "plan.json").write_text(summary)
    (shown / "release-spec.yaml").write_bytes(prepared.spec_file)
    seen = {
        "spec": prepared.spec.digest(),
        "plan": sha256(summary.encode()).hexdigest(),
        "code": code_digest(),
    }
    if prepared.given is not None:
        seen["certified file"] = prepared.given.sha256
    # Which machines get to see the records is in no digest of the spec, and may be in the profile.
    if (cluster := prepared.spec.cluster or profile().cluster) is not None:
        seen["cluster"] = sha256(cluster.model_dump_json().encode()).hexdigest()
    if (series := proposed(prepared)) is not None:
        seen[SERIES_PLAN] = series.digest()
        (shown / SERIES_PLAN_FILE).write_bytes(series.canonical_bytes())
    else:
        (shown / SERIES_PLAN_FILE).unlink(missing_ok=True)
    once = _approved_once(job, seen)
    if once.approval is not None:
        return _stopped("plan", job, seen, series=once.approval)
    if (rehearsal := last_rehearsal(job.release, seen["spec"])) is not None:
        seen[REHEARSED] = rehearsal.digest()
    table = guarded("plan", workspace.path, source_digest)(prepared.source)
    return _stopped("plan", job, seen, table=table, differs=once.differs)


def _approved_once(job: Job, seen: Mapping[str, str]) -> Coverage:
    """Whether the plan is covered by the approval of its series; not where people approved this
    very plan at its own gate."""
    now = _history(job).at("plan")
    if now is not None and now.passage is not None and now.opening.series is None:
        return Coverage()
    required = approvals_of(job.prepared.spec).required("plan")
    return coverage(job, open_ledger(job.ledger), profile(), seen, required)


def refuse_changes(job: Job, source: Source, hashes: Mapping[str, str]) -> None:
    """Check, after the private table was read, that it is the one that was approved, and the one
    that earlier answers are of: a certificate that rests on answers of two tables is of neither.

    Which table was asked is noted in the workspace; where that was lost, nothing can be checked.

    Args:
        source: the table, at the moment at which it was read.
        hashes: of its files, by path.

    Raises:
        PlanChanged: it is not the one that was approved.
        TableChanged: answers were drawn of another.
    """
    workspace = job.workspace
    now = guarded("plan", workspace.path, source_digest)(source, hashes)
    if approvals_of(job.prepared.spec).plan:
        approved = _history(job).at("plan")
        if approved is None or (
            approved.opening.series is None  # which was approved before there was this table
            and approved.opening.seen[SEALED] != _sealed(workspace, now, approved)
        ):
            raise PlanChanged(
                "data.source: the private table changed after its plan was approved; nothing was "
                "asked of it. Run again with --resume: the plan waits for a new approval"
            )
    noted = workspace.path / _ASKED
    changed_since = noted.exists() and not _is_asked(workspace, now)
    if changed_since and open_ledger(job.ledger).calls(job.release):
        raise TableChanged(
            "data.source: the private table is not the one that this release has noisy answers of; "
            "nothing was asked of it. Put that one back and run again with --resume, or choose "
            "another name for a release of this one, with its own budget"
        )
    with whole(noted) as draft:
        draft.write_text(now)


def disclosure_gate(job: Job) -> Waiting | None:
    """What the staged release waits for before it is published; None where it may be.

    Raises:
        GateRejected: somebody who may decide rejected the release.
    """
    spec, staging = job.prepared.spec, job.workspace.staging
    asked = approvals_of(spec)
    if asked.disclosure:
        record = AuditRecord.model_validate_json((staging / RECORD_FILE).read_bytes())
        seen = staged_files(staging) | {"spec": spec.digest(), "code": code_digest()}
        blocking = (
            *(f"{gap.title}: {gap.mend}" for gap in record.blocking()),
            *unanswered(record, asked.crosswalks),
        )
        waits = _stopped("disclosure", job, seen, blocking)
        if waits is not None:
            return waits
    if spec.embargo is not None and datetime.now(UTC) < spec.embargo:
        return _waiting("embargo", job, until=spec.embargo)
    _forget(job.workspace)
    if asked != Approvals():
        _write_approvals(job)
    return None


def decided_on_plan(job: Job) -> list[Outcome]:
    """All decisions that were made about the plan, and what became of each."""
    return [one for one in _history(job).outcomes() if one.gate == "plan"]


def series_plan_shown(job: Job) -> bytes | None:
    """The plan of the series that was approved, at the gate of this release or of another; None
    where the plan of this release was approved alone."""
    now = _history(job).at("plan")
    if now is None or SERIES_PLAN not in now.opening.seen:
        return None
    return (job.workspace.plan / SERIES_PLAN_FILE).read_bytes()


def tables_shown(job: Job) -> int:
    """How many openings of the plan's gate show that the private table changed."""
    return _history(job).tables_shown


def _stopped(
    gate: GateName,
    job: Job,
    seen: Mapping[str, str],
    blocking: tuple[str, ...] = (),
    table: str | None = None,
    series: SeriesApproval | None = None,
    differs: tuple[str, ...] = (),
) -> Waiting | None:
    """What is missing at a gate, which is opened where it is not open for what is there now.

    Args:
        table: digest of the private table, where the decision is about that too.
        series: the approval of the plan of the whole series, where that covers this one.
        differs: why it does not.
    """
    book, workspace = open_ledger(job.ledger), job.workspace
    required = approvals_of(job.prepared.spec).required(gate)
    history = _history(job)
    if table is not None:
        seen = {**seen, SEALED: _sealed(workspace, table, history.at(gate))}
    _stop_if_rejected(history, workspace)
    opening = _open(history, gate, required=required, seen=seen)
    if opening is None:
        if table is not None:
            seen = {**seen, SEALED: fresh_seal(workspace, table)}
        open_gate(book, job.release, gate, required=required, seen=seen, series=series)
        history = _history(job)
    else:
        seen = opening.seen
    there = standing(
        history, gate, required=required, approvers=profile().approvers, blocking=blocking
    )
    if not there.passed:
        return _waiting(gate, job, required=required, seen=seen, blocking=blocking, differs=differs)
    now = history.at(gate)
    if now is not None and now.passage is None:
        pass_gate(book, job.release, there)
        tell("gate-passed", gate=gate)
    _forget(workspace)
    return None


def _sealed(workspace: Workspace, table: str, opened: Round | None) -> str:
    """The seal of the table, under the salt of the gate's opening.

    Publishing erased that salt. Where the release must be made once more, as its folder was lost,
    the note of the table that was asked tells whether it is the same.
    """
    kept = seal(workspace, table)
    if not kept and opened is not None and _is_asked(workspace, table):
        return opened.opening.seen[SEALED]
    return kept


def _is_asked(workspace: Workspace, table: str) -> bool:
    """Whether the table is the one that the release has asked before."""
    noted = workspace.path / _ASKED
    return noted.exists() and noted.read_text() == table


def _open(
    history: History, gate: GateName, *, required: Sequence[str], seen: Mapping[str, str]
) -> Opening | None:
    """The opening of a gate about what is there now, if it is open, or even passed.

    A rehearsal that ended since changes nothing of what was approved: the gate stays about the one
    that it was opened with, or about none.
    """
    now = history.at(gate)
    if now is None or now.opening.required != tuple(required):
        return None
    if _but_rehearsal(now.opening.seen) != _but_rehearsal(seen):
        return None
    is_last = now is history.last or (gate == "plan" and now.passage is not None)
    return now.opening if is_last else None


def _but_rehearsal(seen: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in seen.items() if name != REHEARSED}


def _history(job: Job) -> History:
    return History.in_ledger(open_ledger(job.ledger), job.release)


def _stop_if_rejected(history: History, workspace: Workspace) -> None:
    """Stop where somebody rejected the release: it waits no longer, until it is opened anew."""
    if history.last is not None and (refusal := history.last.rejection) is not None:
        tell("gate-rejected", gate=refusal.gate, role=refusal.role)
        _forget(workspace)
        refuse_rejected(history)


def _waiting(gate: Any, job: Job, **more: Any) -> Waiting:
    """Leave word of what the run waits for; the time of an earlier stop at the same place stays."""
    prepared, note = job.prepared, job.workspace.path / NOTE
    since = datetime.now(UTC).replace(microsecond=0)
    if note.is_file():
        earlier = Waiting.model_validate_json(note.read_bytes())
        same = (earlier.gate, dict(earlier.seen)) == (gate, dict(more.get("seen", {})))
        since = earlier.since if same else since
    waiting = Waiting(
        release=job.release,
        title=prepared.spec.title,
        gate=gate,
        since=since,
        spec=str(prepared.path),
        folder=str(prepared.folder),
        out=str(job.out.resolve()),
        file=None if prepared.given is None else str(prepared.given.path),
        deployment=deployment.id,
        order=order_number(),
        **more,
    )
    with whole(note) as draft:
        draft.write_text(waiting.model_dump_json(indent=1))
    return waiting


def _forget(workspace: Workspace) -> None:
    (workspace.path / NOTE).unlink(missing_ok=True)


def _write_approvals(job: Job) -> None:
    """Put everything that was said at the gates into the release, whatever became of it."""
    history = _history(job)
    content = ApprovalsFile(
        release=job.release, decisions=tuple(history.outcomes()), said=history.links
    )
    (job.workspace.staging / APPROVALS_FILE).write_text(content.model_dump_json(indent=1) + "\n")
    forget_salt(job.workspace)
