"""The log of an installation: what its runs did, one JSON object a line, and no private value.

Lines go to `logs/hallmark.jsonl` in the home folder, for its owner alone, and with
HALLMARK_LOG=json to standard error too, from where a container's log is collected. Each event lists
here the fields that it may have, so that nothing is logged which nobody decided to log. Of a
failure that depends on the private table neither kind nor message is here. Three things here do
depend on it: times and memory, the stage at which a run ended, and which releases are of copies of
one table (`charged-twice`).
Processes share the file: every line is written whole, under a lock.
"""

import fcntl
import json
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal

from prefect.runtime import flow_run, task_run

from hallmark.tasks.installation.workspace import home, private_folder

VARIABLE = "HALLMARK_LOG"
MOST_BYTES = 10_000_000  # of one file, before the next is begun
KEPT = 5  # files, the one that is written to included

RELEASE: ContextVar[str | None] = ContextVar("release", default=None)
"""The release that the run under way is about, as far as it is known."""

Public = str | int | Sequence[str] | None
"""What a field may hold. Numbers of the budget are exact texts."""

FIELDS: dict[str, frozenset[str]] = {
    "run-started": frozenset({"flow", "entry"}),
    "run-ended": frozenset({"how", "seconds"}),
    "stage-begun": frozenset({"stage"}),
    "stage-ended": frozenset({"stage", "seconds", "peak_memory"}),
    "reserved": frozenset({"account", "epsilon", "delta", "left_epsilon", "left_delta"}),
    "charged-twice": frozenset({"accounts"}),
    "gate-waiting": frozenset({"gate", "required", "since", "until"}),
    "gate-passed": frozenset({"gate"}),
    "gate-rejected": frozenset({"gate", "role"}),
    "published": frozenset({"folder", "account"}),
    "failed": frozenset({"error", "message"}),
}
_LEVELS: dict[str, Literal["warning", "error"]] = {
    "charged-twice": "warning",
    "gate-rejected": "warning",
    "failed": "error",
}


def log_file() -> Path:
    """The file that is written to; older ones have a number behind their name."""
    return private_folder(home() / "logs") / "hallmark.jsonl"


def tell(event: str, **fields: Public) -> None:
    """Log an event of the run under way.

    A log that cannot be written is no reason to end a release: that is said on standard error.

    Raises:
        ValueError: the event, or a field of it, is not in `FIELDS`.
    """
    if event not in FIELDS or not FIELDS[event].issuperset(fields):
        raise ValueError(f"{event} with {', '.join(fields)} is no event of the log; see FIELDS")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    known = {
        "time": now,
        "level": _LEVELS.get(event, "info"),
        "event": event,
        "release": RELEASE.get(),
        "flow_run": flow_run.id,
        "task_run": task_run.id,
        **fields,
    }
    line = json.dumps({name: value for name, value in known.items() if value is not None})
    if os.environ.get(VARIABLE) == "json":
        print(line, file=sys.stderr, flush=True)
    try:
        _append(log_file(), f"{line}\n".encode())
    except OSError as error:
        print(f"warning: the log cannot be written: {error.strerror}", file=sys.stderr)


def _append(path: Path, line: bytes) -> None:
    with _opened(path.with_suffix(".lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists() and path.stat().st_size + len(line) > MOST_BYTES:
            _rotate(path)
        with _opened(path) as log:
            log.write(line)


def _opened(path: Path) -> BinaryIO:
    """A file to append to, readable by its owner alone whatever the umask."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def _rotate(path: Path) -> None:
    """Number the files on; the oldest one is overwritten."""
    files = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, KEPT))]
    for older, newer in zip(reversed(files), reversed(files[:-1]), strict=False):
        if newer.exists():
            newer.replace(older)
