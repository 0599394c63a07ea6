"""Read a file that somebody uploaded in a process of its own.

The file may be hostile, and what it holds is private. So the process may use little memory and
time, writes no file, knows no setting and no secret of the installation, and answers by one line: a
reader that breaks, breaks there, and what it says of it is not kept.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from threading import BoundedSemaphore
from typing import Any

MEMORY, SECONDS = 6 * 2**30, 40
"""What the process may use: bytes of address space, and seconds of a processor."""
_AT_ONCE = BoundedSemaphore(2)


def asked_apart(module: str, asked: Mapping[str, Any]) -> Any:
    """What a module answers, run in a process of its own; None if it took too much memory or time,
    or broke.

    Args:
        module: which calls `answer` where it is run.
        asked: plain JSON values.
    """
    with _AT_ONCE:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-m", module],
                input=json.dumps(asked).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # it may quote the file
                timeout=2 * SECONDS,
                env={"OMP_NUM_THREADS": "1"},
                cwd="/",
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None


def answer(respond: Callable[[Mapping[str, Any]], Any]) -> None:
    """Answer what this process was asked, under its limits.

    Args:
        respond: imports what reads, so that it is loaded under the limits, too.
    """
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    sys.stdout.write(json.dumps(respond(json.loads(sys.stdin.buffer.read()))))
