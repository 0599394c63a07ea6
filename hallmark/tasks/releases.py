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

from pydantic import AwareDatetime, ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.schemas.profile import Profile
from hallmark.schemas.section import Section
from hallmark.tasks.gates.approvals import Standing
from hallmark.tasks.gates.waiting import NOTE, standings, waiting_releases
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace, home, whole
from hallmark.tasks.runs import RunStatus, is_held, statuses
from hallmark.tasks.spec.places import specs_folder

State = Literal[
    "draft", "running", "interrupted", "waiting", "embargoed", "rejected", "published", "lost",
    "failed", "stopped", "withdrawn",
]  # fmt: skip
STATES: Mapping[State, str] = {
    "draft": "a spec that was never run",
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

_WITHDRAWN = "withdrawn.json"


class Withdrawal(Section):
    """Word that a release was given up."""

    release: str
    by: str
    at: AwareDatetime
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReleaseState:
    """One release as it is now.

    Attributes:
        since: when it came to this state, as far as that is known.
        words: what is going on, for whom it waits, or what mends it.
        run: its last run; None for a draft.
        waits: what it waits for, and what was decided.
        spec: path of the spec, where it is known.
        folder: where it was published.
    """

    release: str
    title: str
    state: State
    since: datetime | None
    words: str
    account: str = ""
    run: RunStatus | None = None
    waits: Waiting | None = None
    standing: Standing | None = None
    spec: Path | None = None
    folder: Path | None = None
    withdrawal: Withdrawal | None = None

    @property
    def progress(self) -> float:
        """Share of the stages that a run under way has behind it."""
        stage = None if self.run is None else self.run.stage
        return STAGES.index(stage) / len(STAGES) if stage in STAGES else 0.0


def releases(ledger: Ledger, known: Profile) -> list[ReleaseState]:
    """All releases, the latest news first."""
    runs = {run.release: run for run in statuses()}
    waits = {waiting.release: waiting for waiting in waiting_releases()}
    drafts = {path.stem: path for path in specs_folder().glob("*.yaml")}
    decided = standings(waits.values(), ledger, known)
    found = [
        _state(name, runs.get(name), waits.get(name), drafts.get(name), decided.get(name))
        for name in {*runs, *waits, *drafts}
    ]
    long_ago = datetime.min.replace(tzinfo=UTC)
    return sorted(found, key=lambda one: (one.since or long_ago, one.release), reverse=True)


def release_of(name: str, ledger: Ledger, known: Profile) -> ReleaseState | None:
    """One release; None where there is none of this name."""
    run = next((one for one in statuses() if one.release == name), None)
    waits = next((one for one in waiting_releases() if one.release == name), None)
    spec = specs_folder() / f"{name}.yaml"
    draft = spec if spec.parent == specs_folder() and spec.exists() else None
    if run is None and waits is None and draft is None:
        return None
    decided = standings([] if waits is None else [waits], ledger, known)
    return _state(name, run, waits, draft, decided.get(name))


def withdraw(name: str, by: str, reason: str) -> None:
    """Note that a release is given up. What it has spent stays spent.

    Raises:
        SafeError: no reason is given.
    """
    if len(reason.strip()) < 3:
        raise SafeError("give a reason of at least 3 characters; it stays with the release")
    note = Withdrawal(release=name, by=by, at=datetime.now(UTC), reason=reason.strip())
    with whole(Workspace.of(name).path / _WITHDRAWN) as draft:
        draft.write_text(note.model_dump_json(indent=1))
    # It waits no longer, so neither a decision nor the end of an embargo lets it go on.
    (Workspace.of(name).path / NOTE).unlink(missing_ok=True)


def _state(
    name: str,
    run: RunStatus | None,
    waits: Waiting | None,
    spec: Path | None,
    there: Standing | None,
) -> ReleaseState:
    workspace = home() / "work" / name
    withdrawal = _withdrawal(workspace)
    state = _which(run, waits, there, withdrawal)
    title = waits.title if waits else run.title if run else ""
    since = withdrawal.at if withdrawal else waits.since if waits else _time_of(run, spec)
    if spec is None and waits is not None:
        spec = Path(waits.spec)
    return ReleaseState(
        release=name,
        title=title or name,
        state=state,
        since=since,
        words=_words(state, run, waits, there, withdrawal),
        account="" if run is None else run.account,
        run=run,
        waits=waits,
        standing=there,
        spec=spec,
        folder=Path(run.folder) if run is not None and run.folder else None,
        withdrawal=withdrawal,
    )


def _which(
    run: RunStatus | None,
    waits: Waiting | None,
    there: Standing | None,
    withdrawal: Withdrawal | None,
) -> State:
    if withdrawal is not None:
        return "withdrawn"
    if run is not None and run.published is not None:
        return "lost" if run.lost else "published"
    if run is not None and run.how == "running":
        held = is_held(Workspace(home() / "work" / run.release))
        return "running" if held else "interrupted"
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
    withdrawal: Withdrawal | None,
) -> str:
    match state:
        case "withdrawn" if withdrawal is not None:
            return f"{withdrawal.by}: {withdrawal.reason}"
        case "waiting" if waits is not None and there is not None:
            gaps = f"{len(there.blocking)} not recorded" if there.blocking else ""
            missing = ", ".join(filter(None, [*there.missing, gaps])) or "nothing; it goes on"
            return f"at the {waits.gate} gate for: {missing}"
        case "embargoed" if waits is not None:
            return f"published from {waits.until:%Y-%m-%d %H:%M} UTC"
        case "rejected" if there is not None and there.rejected is not None:
            return f"by {there.rejected.person}: {there.rejected.reason}"
        case "running" if run is not None and run.stage:
            return (
                f"{run.stage} ({STAGES.index(run.stage) + 1} of {len(STAGES)})"
                if (run.stage in STAGES)
                else run.stage
            )
        case "failed" | "rejected" if run is not None:
            return run.message or (
                f"{run.error}: its message might quote private values, so it is not shown; "
                "look at the log of its run"
            )
        case "published" | "lost" if run is not None and run.folder:
            return run.folder
    return STATES[state]


def _time_of(run: RunStatus | None, spec: Path | None) -> datetime | None:
    if run is not None:
        return run.published or run.ended or run.started
    with suppress(OSError):
        return None if spec is None else datetime.fromtimestamp(os.stat(spec).st_mtime, UTC)
    return None


def _withdrawal(workspace: Path) -> Withdrawal | None:
    with suppress(OSError, ValidationError):
        return Withdrawal.model_validate_json((workspace / _WITHDRAWN).read_bytes())
    return None


def published_files(state: ReleaseState) -> Sequence[str]:
    """Names of the files of a published release."""
    if state.folder is None or state.state != "published":
        return ()
    if not (state.folder / MANIFEST_FILE).is_file():
        return ()
    return sorted(path.name for path in state.folder.iterdir() if path.is_file())
