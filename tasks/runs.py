"""How runs of releases go: told to the log, and kept as one status a release, for metrics.

The status lies in the workspace and is replaced at every step, so that what a killed run was doing
can be read afterwards. Why a run failed, and at which stage it ended, may be facts about the
private table: those are for people who write specs or run releases. All else is public, but for
what every time tells: see docs/operations.md.
"""

import fcntl
import math
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

from prefect.runtime import flow_run
from pydantic import AwareDatetime

from hallmark.mechanisms.privacy.accountant import BudgetExceeded
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.schemas.loading import SpecError
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import Section
from hallmark.tasks.installation.disk import blaming_full_disks
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.log import RELEASE, tell
from hallmark.tasks.installation.notes import note_about, notes, read_note
from hallmark.tasks.installation.operator import end_standing_order, operator
from hallmark.tasks.installation.priority import run_yields
from hallmark.tasks.installation.progress import listening
from hallmark.tasks.installation.signing import SigningError
from hallmark.tasks.installation.stop_signals import Noted, stop_signals_noted
from hallmark.tasks.installation.workspace import AlreadyRunning, Workspace, home, whole
from hallmark.tasks.publish import Published

How = Literal["running", "published", "waiting", "left-alone", "failed", "stopped"]

_SECONDS_BETWEEN = 1.0  # that how far a stage is comes to be known
MEMORY_STEP = 64 * 2**20  # bytes; finer memory tells more of the data than anybody needs
_SAFE = (SafeError, LedgerError, BudgetExceeded, SpecError, SigningError)  # may be shown
_FILE = "run.json"
ENDED = (
    "the run was ended from outside, as where the worker that started it was killed; resume it: "
    "what was drawn is read back"
)


class StageRun(Section):
    """One stage that has ended."""

    seconds: int  # rounded, as in the audit record
    peak_memory: int  # of the flow's process up to then, bytes, rounded up to `MEMORY_STEP`


class RunStatus(Section):
    """The last run of a release, and the last times of all its stages."""

    release: str
    account: str
    expected_rows: int  # of the spec, which is public; the private number may be another
    entry: str | None = None  # of the calendar
    started: AwareDatetime
    ended: AwareDatetime | None = None
    how: How = "running"
    title: str = ""
    by: str = ""  # who started it
    stage: str | None = None  # that is under way, or was when the run ended
    share: float = 0.0  # of that stage which is done, where it tells
    doing: str = ""  # in it, just now
    error: str | None = None  # kind of the error that it failed with
    message: str | None = None  # of that error, where it may be shown
    published: AwareDatetime | None = None
    folder: str | None = None  # in which it was published
    stages: Mapping[str, StageRun] = {}

    @property
    def lost(self) -> bool:
        """Whether the release was published but its folder is missing now."""
        if self.published is None or self.folder is None:
            return False
        return not os.path.isfile(os.path.join(self.folder, MANIFEST_FILE))


@contextmanager
def run_logged() -> Iterator[None]:
    """Log the run that is under way in a flow: start, stages, failure, end.

    A run that somebody stops ends before its next stage, even where a library lost the signal. One
    that the orchestrator started yields the processor to those who answer people.
    """
    run_yields()
    with stop_signals_noted() as noted, _logged(_Run(noted)), blaming_full_disks(home()):
        yield


@contextmanager
def _logged(run: "_Run") -> Iterator[None]:
    forget = RELEASE.set(None)
    restore = _current.set(run)
    tell("run-started", flow=flow_run.flow_name, entry=run.entry)
    try:
        with listening(run.step):
            yield
    except BaseException as error:
        kind, message = type(error).__name__, str(error) if isinstance(error, _SAFE) else None
        is_private = isinstance(error, PrivateFact)
        # Such an exit is of a library that cannot write to a pipe whose reader is gone.
        is_exit = isinstance(error, SystemExit) and not run.stops()
        if is_exit:
            message = ENDED
        tell("failed", **({} if is_private else {"error": kind, "message": message}))
        is_stop = run.stops() or not (isinstance(error, Exception) or is_exit)
        run.how = "stopped" if is_stop else "failed"
        run.error, run.message = kind, message
        run.left_alone = isinstance(error, AlreadyRunning)
        raise
    finally:
        run.end()
        _current.reset(restore)
        RELEASE.reset(forget)


def about(spec: ReleaseSpec) -> None:
    """Say which release the run under way is about."""
    RELEASE.set(spec.release)
    end_standing_order(spec.release)
    if (run := _current.get()) is not None:
        run.spec, run.by = spec, operator()


def came_to(outcome: Published | Waiting) -> None:
    """Say how the run under way ends, where it does not fail."""
    how: How = "published"
    if isinstance(outcome, Waiting):
        how = "waiting"
        tell(
            "gate-waiting",
            gate=outcome.gate,
            required=list(outcome.required),
            since=outcome.since.isoformat(),
            until=outcome.until.isoformat() if outcome.until else None,
        )
    elif outcome.earlier:
        how = "left-alone"
    else:
        tell("published", folder=outcome.folder, account=outcome.account)
    if (run := _current.get()) is not None:
        run.how = how
        run.folder = None if isinstance(outcome, Waiting) else outcome.folder


def statuses(which: Callable[[str], bool] | None = None) -> list[RunStatus]:
    """The last run of every release of this installation, by name of the release.

    Args:
        which: of those alone of whose names this is true.
    """
    return sorted(notes(RunStatus, _FILE, which), key=lambda one: one.release)


def status(release: str) -> RunStatus | None:
    """The last run of a release; None where there was none."""
    return note_about(RunStatus, release, _FILE)


def is_held(workspace: Workspace) -> bool:
    """Whether a run of the release is under way, on any machine that shares the workspace.

    Asked by taking the lock for a moment, so ask only where there is reason to think one is.
    """
    with suppress(FileNotFoundError), (workspace.path / "lock").open("r") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class _Run:
    """What is known of the run under way."""

    def __init__(self, stops: Noted) -> None:
        self.stops = stops
        self.spec: ReleaseSpec | None = None
        self.how: How = "left-alone"
        self.error: str | None = None
        self.message: str | None = None
        self.left_alone = False  # since another run of the release is under way
        self.folder: str | None = None  # in which it published
        self.by = ""  # who ordered it
        self.entry = _entry()
        self._began = datetime.now(UTC)
        self._clock = time.monotonic()
        self._stages: dict[str, StageRun] = {}
        self._stage: tuple[str, float] | None = None  # the one under way, and its start
        self._last: str | None = None  # that ended
        self._far = 0.0, "", -math.inf  # share, what is being done, and when it was kept
        self._one = threading.RLock()  # workers tell how far they are in a thread of their own

    def step(self, stage: str, share: float, doing: str) -> None:
        """A stage begins, or is so far."""
        with self._one:
            if self._stage is not None and stage == self._stage[0]:
                if doing:
                    self._come_to(share, doing)
                return
            if stage in self._stages:  # a worker's word that comes late
                return
            if stops := self.stops():  # and the run still goes on: a library lost the signal
                signal.raise_signal(stops[-1])
            self._end_stage()
            self._stage = stage, time.monotonic()
            tell("stage-begun", stage=stage)
            self._keep("running")

    def _come_to(self, share: float, doing: str) -> None:
        now = time.monotonic()
        if now - self._far[2] >= _SECONDS_BETWEEN:
            self._far = share, doing, now
            with suppress(OSError):  # the next step tells
                self._keep("running")

    def end(self) -> None:
        """The run ends."""
        with self._one:
            self._end()

    def _end(self) -> None:
        # A run that began nothing and did not fail leaves the word of the one before.
        touched = self._stage is not None or (self.how == "failed" and not self.left_alone)
        self._end_stage()
        tell("run-ended", how=self.how, seconds=round(time.monotonic() - self._clock))
        if touched:
            try:
                self._keep(self.how)
            except OSError as error:  # no reason to end otherwise; the run counts as interrupted
                print(f"warning: the run's status is not kept: {error.strerror}", file=sys.stderr)

    def _end_stage(self) -> None:
        if self._stage is not None:
            stage, start = self._stage
            self._last = stage
            done = StageRun(seconds=round(time.monotonic() - start), peak_memory=_peak_memory())
            self._stages[stage], self._stage = done, None
            self._far = 0.0, "", -math.inf
            tell("stage-ended", stage=stage, **done.model_dump())

    def _keep(self, how: How) -> None:
        spec, now = self.spec, datetime.now(UTC)
        if spec is None:
            return
        workspace = Workspace.of(spec.release)
        earlier = read_note(RunStatus, workspace.path / _FILE)
        published = earlier.published if earlier else None
        if published is None and how in ("published", "left-alone"):
            published = now  # by this run, or by another that was first
        now_known = RunStatus(
            release=spec.release,
            account=spec.population.account,
            expected_rows=spec.data.expected_rows,
            entry=self.entry or (earlier.entry if earlier else None),
            started=self._began,
            ended=None if how == "running" else now,
            how=how,
            title=spec.title,
            by=self.by,
            stage=self._stage[0] if self._stage else self._last,
            share=self._far[0],
            doing=self._far[1],
            error=self.error,
            message=self.message,
            published=published,
            folder=self.folder or (earlier.folder if earlier else None),
            stages={**(earlier.stages if earlier else {}), **self._stages},
        )
        with whole(workspace.path / _FILE) as draft:
            draft.write_text(now_known.model_dump_json(indent=1))


_current: ContextVar[_Run | None] = ContextVar("run", default=None)


def _entry() -> str | None:
    """The entry of the calendar that the flow was started for."""
    return (flow_run.parameters or {}).get("entry")


def _peak_memory() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return -(-peak // MEMORY_STEP) * MEMORY_STEP
