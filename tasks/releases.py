"""All releases of an installation, by name and state: what each is doing, and what mends it.

A state is put together from what is there already: the spec that somebody drafts, the status and
the note of the last run (`tasks.runs`, `tasks.gates.waiting`), the decisions in the ledger. So it
cannot disagree with them, and nothing has to be told when a process dies.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hallmark.mechanisms.privacy.ledger.ledger import Ledger, ReleaseRecord, Reservation
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.schemas.documents.notice import notice_file
from hallmark.schemas.profile import Profile
from hallmark.tasks.gates.approvals import Standing
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.gates.waiting import standing_of, waiting_releases, waits
from hallmark.tasks.installation.operator import Order, standing_order, standing_orders
from hallmark.tasks.installation.workspace import Workspace, workspaces_place
from hallmark.tasks.planning.places import specs_folder
from hallmark.tasks.planning.recurring import is_template
from hallmark.tasks.runs import RunStatus, is_held, status, statuses
from hallmark.tasks.withdrawals import Withdrawal, withdrawal

State = Literal[
    "draft", "ordered", "running", "interrupted", "waiting", "embargoed", "rejected", "published",
    "lost", "failed", "stopped", "withdrawn",
]  # fmt: skip
STATES: Mapping[State, str] = {
    "draft": "a spec that was never run",
    "ordered": "a run was ordered, and has not begun",
    "running": "a run is under way",
    "interrupted": "the process of its run is gone; resume it",
    "waiting": "somebody must decide",
    "embargoed": "complete, and published when its embargo ends",
    "rejected": "somebody rejected it; change it, or reopen its gate",
    "published": "in the folder of releases",
    "lost": "published, but its folder is not there any more",
    "failed": "its last run failed",
    "stopped": "somebody stopped its run; resume it",
    "withdrawn": "given up",
}
"""What each state means."""

STAGES = (
    "reserve", "validate", "discretize", "select", "privatize", "generate", "certify", "finalise",
    "replicate", "report", "publish",
)  # fmt: skip
"""The stages of a run in their order; a release need not have all of them."""


_NOTHING = ReleaseRecord(None, [])


@dataclass(frozen=True, kw_only=True)
class ReleaseState:
    """One release as it is now.

    Attributes:
        since: when it came to this state, as far as that is known.
        words: what is going on, for whom it waits, or what mends it.
        inside: at which stage it is, or why its run failed, which may be a fact about the private
            table: for people who write specs or run releases.
        run: its last run; None for a draft.
        waits: what it waits for, and what was decided.
        spec: path of the spec, where it is known.
        folder: where it was published.
        history: decisions about it; in a list, only of those that wait.
        reservation: as of `history`.
    """

    release: str
    title: str
    state: State
    since: datetime | None
    words: str
    inside: str = ""
    account: str = ""
    run: RunStatus | None = None
    waits: Waiting | None = None
    standing: Standing | None = None
    spec: Path | None = None
    folder: Path | None = None
    history: History
    reservation: Reservation | None = None

    @property
    def progress(self) -> float:
        """Share of the stages that a run under way has behind it, that of the present one too."""
        if self.run is None or self.run.stage not in STAGES:
            return 0.0
        return (STAGES.index(self.run.stage) + self.run.share) / len(STAGES)


def releases(ledger: Ledger, known: Profile) -> list[ReleaseState]:
    """All releases, the latest news first."""
    runs = {run.release: run for run in statuses()}
    waiting = {one.release: one for one in waiting_releases()}
    drafts = {path.stem: path for path in specs_folder().glob("*.yaml")}
    for name in drafts.keys() - runs.keys() - waiting.keys():
        if is_template(drafts[name]):
            del drafts[name]
    folder = workspaces_place()
    orders, records = standing_orders(), ledger.records(waiting.keys())
    found = [
        _state(
            Workspace(folder / name),
            runs.get(name),
            waiting.get(name),
            drafts.get(name),
            orders.get(name),
            records.get(name, _NOTHING),
            known,
        )
        for name in {*runs, *waiting, *drafts, *orders}
    ]
    long_ago = datetime.min.replace(tzinfo=UTC)
    return sorted(found, key=lambda one: (one.since or long_ago, one.release), reverse=True)


def release_of(name: str, ledger: Ledger, known: Profile) -> ReleaseState | None:
    """One release; None where there is none of this name."""
    run, waiting, order = status(name), waits(name), standing_order(name)
    spec = specs_folder() / f"{name}.yaml"
    has_draft = spec.parent == specs_folder() and spec.exists() and not is_template(spec)
    draft = spec if has_draft else None
    if run is None and waiting is None and draft is None and order is None:
        return None
    record = ledger.records([name])[name]
    return _state(Workspace.at(name), run, waiting, draft, order, record, known)


def _state(
    workspace: Workspace,
    run: RunStatus | None,
    waits: Waiting | None,
    spec: Path | None,
    order: Order | None,
    record: ReleaseRecord,
    known: Profile,
) -> ReleaseState:
    name, done = workspace.path.name, run is not None and run.published is not None
    given_up = None if done else withdrawal(workspace)
    history = History.of(name, record.statements)
    at_gate = waits is not None and waits.gate != "embargo"
    there = standing_of(waits, history, known) if waits is not None and at_gate else None
    state = _which(workspace, run, waits, there, given_up, order)
    title = waits.title if waits else run.title if run else ""
    since = waits.since if waits else _time_of(run, spec)
    if given_up is not None:
        since = given_up.at
    elif state == "ordered" and order is not None:
        since = order.at
    if spec is None and waits is not None:
        spec = Path(waits.spec)
    return ReleaseState(
        release=name,
        title=title or name,
        state=state,
        since=since,
        words=_words(state, run, waits, there, given_up, order),
        inside=_inside(state, run),
        account="" if run is None else run.account,
        run=run,
        waits=waits,
        standing=there,
        spec=spec,
        folder=Path(run.folder) if run is not None and run.folder else None,
        history=history,
        reservation=record.reservation,
    )


def _which(
    workspace: Workspace,
    run: RunStatus | None,
    waits: Waiting | None,
    there: Standing | None,
    given_up: Withdrawal | None,
    order: Order | None,
) -> State:
    if run is not None and run.published is not None:
        return "lost" if run.lost else "published"
    if given_up is not None:
        return "withdrawn"
    going = run is not None and run.how == "running"
    if going and is_held(workspace):
        return "running"
    if order is not None:
        return "ordered"
    if going:
        return "interrupted"
    if waits is not None:
        if there is None:
            return "embargoed"
        return "rejected" if there.rejected is not None else "waiting"
    if run is None:
        return "draft"
    if run.how == "failed":
        return "rejected" if run.error == "GateRejected" else "failed"
    return "stopped"


def _words(
    state: State,
    run: RunStatus | None,
    waits: Waiting | None,
    there: Standing | None,
    given_up: Withdrawal | None,
    order: Order | None,
) -> str:
    match state:
        case "withdrawn" if given_up is not None:
            return f"{given_up.by}: {given_up.reason}"
        case "ordered" if order is not None and order.begins is not None:
            return f"by {order.by}, to begin {order.begins:%Y-%m-%d %H:%M} UTC"
        case "ordered" if order is not None:
            return f"by {order.by}; if its run does not begin, order it again"
        case "waiting" if waits is not None and there is not None:
            gaps = f"{len(there.blocking)} not recorded" if there.blocking else ""
            missing = ", ".join(filter(None, [*there.missing, gaps])) or "nothing; it goes on"
            return f"at the {waits.gate} gate for: {missing}"
        case "embargoed" if waits is not None:
            return f"published from {waits.until:%Y-%m-%d %H:%M} UTC"
        case "rejected" if there is not None and there.rejected is not None:
            return f"by {there.rejected.person}: {there.rejected.reason}"
        case "rejected" if run is not None and run.message:
            return run.message
        case "published" if run is not None and run.folder and _says_withdrawn(run):
            return f"{run.folder}; a notice beside it says that it is withdrawn"
        case "published" | "lost" if run is not None and run.folder:
            return run.folder
    return STATES[state]


def _says_withdrawn(run: RunStatus) -> bool:
    """Whether a notice, of whoever, says that a published release is withdrawn."""
    assert run.folder is not None, "it is published"
    return Path(run.folder).with_name(notice_file(run.release, "withdrawn")).is_file()


def _inside(state: State, run: RunStatus | None) -> str:
    match state:
        case "running" if run is not None and run.stage in STAGES:
            return f"{run.stage} ({STAGES.index(run.stage) + 1} of {len(STAGES)})"
        case "running" if run is not None:
            return run.stage or ""
        case "failed" if run is not None:
            return run.message or (
                f"{run.error}: its message might quote private values, so it is not shown; "
                "look at the log of its run"
            )
    return ""


def _time_of(run: RunStatus | None, spec: Path | None) -> datetime | None:
    if run is not None:
        return run.published or run.ended or run.started
    with suppress(OSError):
        return None if spec is None else datetime.fromtimestamp(os.stat(spec).st_mtime, UTC)
    return None


def published_files(state: ReleaseState) -> Sequence[str]:
    """Names of the files of a published release."""
    if state.folder is None or state.state != "published":
        return ()
    if not (state.folder / MANIFEST_FILE).is_file():
        return ()
    return sorted(path.name for path in state.folder.iterdir() if path.is_file())
