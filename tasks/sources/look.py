"""Look at the beginning of a file that somebody uploaded, in a process of its own.

The file may be hostile, and what it holds is private. So the process may use little memory and
time, writes no file, knows no setting and no secret of the installation, and answers by one line: a
reader that breaks, breaks there, and what it says of it is not kept.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any

from hallmark.tasks.installation.errors import PrivateFact

if TYPE_CHECKING:
    from hallmark.tasks.sources.beginning import Look

MEMORY, SECONDS = 6 * 2**30, 40
"""What the process may use: bytes of address space, and seconds of a processor."""
_AT_ONCE = BoundedSemaphore(2)


class LookRefused(PrivateFact):
    """A file cannot be looked at; the message quotes nothing of it."""


def look(file: Path, form: Mapping[str, Any] | None = None) -> "Look":
    """What the beginning of a file shows.

    Args:
        form: keys of the section `data` that say how it is written; guessed where there are none.
    Raises:
        LookRefused: it took too much memory or time, or broke the reader.
    """
    from hallmark.tasks.sources.beginning import Look

    asked = json.dumps({"path": str(file.absolute()), "form": form})
    with _AT_ONCE:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-m", __name__],
                input=asked.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # it may quote the file
                timeout=2 * SECONDS,
                env={"OMP_NUM_THREADS": "1"},
                cwd="/",
                check=False,
            )
            answer = done.stdout if done.returncode == 0 else b""
        except subprocess.TimeoutExpired:
            answer = b""
    if not answer:
        raise LookRefused(
            f"{file.name} cannot be looked at: it took too much memory or time, or is so damaged "
            "that its reader broke. Save it again, or as CSV, and upload it again"
        )
    return Look(**json.loads(answer))


def _answer() -> None:
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    asked = json.loads(sys.stdin.buffer.read())
    from hallmark.tasks.sources.beginning import beginning  # what reads is loaded under the limits

    sys.stdout.write(json.dumps(asdict(beginning(asked["path"], asked["form"]))))


if __name__ == "__main__":
    _answer()
