"""When the stages of a release began: noted in the workspace, told in the audit record.

A release may take several runs (a gate that waits, a crash). The note keeps them all; times are of
the last one, which is the run that the record describes.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from hallmark.tasks.installation.progress import listening
from hallmark.tasks.installation.workspace import Workspace

_START = ""  # stands for the start of a run, which no stage is called


@dataclass(frozen=True)
class StageTime:
    """One stage that has ended."""

    stage: str
    started: datetime
    seconds: int  # rounded: finer times tell more of the data than anybody needs


@dataclass(frozen=True)
class RunTimes:
    """The last run of a release, and how many there were."""

    attempts: int
    started: datetime
    stages: tuple[StageTime, ...]


@contextmanager
def stages_noted(workspace: Workspace) -> Iterator[None]:
    """Note the start of this run, and of every stage that the flow announces meanwhile."""
    _note(workspace, _START)
    begun: set[str] = set()

    def note(stage: str, share: float, doing: str) -> None:
        if stage not in begun:  # progress within a stage is told to the same listener
            begun.add(stage)
            _note(workspace, stage)

    with listening(note):
        yield


def run_times(workspace: Workspace) -> RunTimes | None:
    """What was noted; None where no run was."""
    if not workspace.stages.exists():
        return None
    notes = [json.loads(line) for line in workspace.stages.read_text().splitlines()]
    starts = [i for i, (stage, *_) in enumerate(notes) if stage == _START]
    last = [(stage, datetime.fromisoformat(at), clock) for stage, at, clock in notes[starts[-1] :]]
    return RunTimes(
        attempts=len(starts),
        started=last[0][1],
        stages=tuple(
            StageTime(stage, began, round(end - start))
            for (stage, began, start), (_, _, end) in pairwise(last[1:])
        ),
    )


def _note(workspace: Workspace, stage: str) -> None:
    """Note when a stage began, also by a clock that nobody can set back during the run."""
    now = datetime.now(UTC).replace(microsecond=0)
    with workspace.stages.open("a") as file:
        file.write(json.dumps([stage, now.isoformat(), time.monotonic()]) + "\n")
