"""Read a file that somebody uploaded in a process of its own.

The file may be hostile, and what it holds is private. So the process may use little memory and
time, writes no file, knows no setting and no secret of the installation, and answers once: a reader
that breaks, breaks there, and what it says of it is not kept.

Loading the readers takes longer than most files. So each question is answered by a fork of a
process that has loaded them and has seen no file (`apart_host`), nor what another fork answered,
which comes here directly; two such wait for the next question.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.reduction import send_handle
from threading import BoundedSemaphore
from typing import Any

MEMORY, SECONDS = 6 * 2**30, 40
"""What a process may use: bytes of address space, and seconds of a processor."""
PATIENCE = 2 * SECONDS
"""Seconds after which it is stopped."""
_AT_ONCE = BoundedSemaphore(2)


def asked_apart(
    respond: Callable[[Mapping[str, Any]], Any], readers: str, asked: Mapping[str, Any]
) -> Any:
    """What a function answers, run in a process of its own; None if it took too much memory or
    time, or broke.

    Args:
        respond: a function of a module, from and to plain JSON values.
        readers: the module that it reads with, loaded before the limits are set.
    """
    question = {"module": respond.__module__, "function": respond.__name__, "readers": readers}
    with _AT_ONCE:
        host = _waiting()
        try:
            said = host.told(json.dumps(question | {"asked": asked}).encode())
        except OSError:
            host.end()
            return None
        _idle.append(host)
    return None if said is None else json.loads(said)


class _Host:
    """A process that has its forks answer, one question after the other."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-m", f"{__package__}.apart_host", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # it may quote the file
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={"OMP_NUM_THREADS": "1"},
                cwd="/",
            )

    def told(self, question: bytes) -> bytes | None:
        """The answer of a fork; None if it broke.

        Raises:
            OSError: this process broke, or the fork was not stopped in time (TimeoutError).
        """
        answer, theirs = Pipe(duplex=False)
        with answer:
            with theirs:
                self.connection.send_bytes(question)
                send_handle(self.connection, theirs.fileno(), self.process.pid)
            if not answer.poll(PATIENCE + 10):
                raise TimeoutError
            try:
                return answer.recv_bytes()
            except EOFError:
                return None

    def end(self) -> None:
        """Stop it, and its fork."""
        self.connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


_idle: list[_Host] = []
# They belong to the process that started them.
os.register_at_fork(after_in_child=_idle.clear)


def _waiting() -> _Host:
    while _idle:
        host = _idle.pop()
        if host.process.poll() is None:
            return host
        host.end()
    return _Host()


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()
