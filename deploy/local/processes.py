"""Processes of server mode: kept running, and the computing ones a little out of the way."""

import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from deploy.local.services import Service
from hallmark.tasks.installation.priority import yield_to_others
from hallmark.tasks.installation.workspace import private_folder

SECONDS = 240  # the longest wait for a service

PAUSES = (1, 2, 5, 10, 30)
"""Seconds before a process that ended is started again; then the last again and again."""

STEADY = 300
"""Seconds after which a process counts as running, so that the pauses begin anew."""


class Pauses:
    """The pauses of one process: longer with each end, and short again after it ran steadily."""

    def __init__(self) -> None:
        self._ends = 0  # in a row

    def after(self, seconds: float) -> int:
        """The pause, in seconds, after the process ran for so many seconds and ended."""
        if seconds >= STEADY:
            self._ends = 0
        self._ends += 1
        return PAUSES[min(self._ends, len(PAUSES)) - 1]


class Processes:
    """Processes that are kept running."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self._wanted: list[Service] = []
        self._logs = private_folder(home / "logs")
        self._environment = {**os.environ, **environment, "TMPDIR": str(home / "tmp")}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}  # when, by the monotonic clock
        self._due: dict[str, float] = {}  # when those that died are started again
        self._pauses: dict[str, Pauses] = defaultdict(Pauses)

    def start(self, service: Service) -> None:
        """Start a process and keep it running."""
        self._wanted.append(service)
        self._start(service)

    def await_answer(self, service: Service, url: str) -> None:
        """Wait until a service answers; asking for a password counts as an answer.

        Raises:
            SystemExit: it ended, or does not answer for 240 s.
        """
        log = self._logs / f"{service.name}.log"
        deadline = time.monotonic() + SECONDS
        while True:
            if (code := self._running[service.name].poll()) is not None:
                raise SystemExit(f"error: {service.name} ended ({code}) as it started; see {log}")
            with suppress(httpx.HTTPError):
                if httpx.get(url).status_code < 500:
                    return
            if time.monotonic() > deadline:
                raise SystemExit(f"error: {url} does not answer after {SECONDS} s; see {log}")
            time.sleep(0.5)

    def watch(self) -> None:
        """Restart processes that die; never returns."""
        while True:
            for service in self._wanted:
                self._look_after(service)
            time.sleep(1)

    def stop(self) -> None:
        """Stop all processes, the last one first."""
        for service in reversed(self._wanted):
            if (process := self._running.get(service.name)) is not None:
                process.send_signal(signal.SIGTERM)
        for process in self._running.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def _look_after(self, service: Service) -> None:
        """Start a process that died again, once its pause is over; others do not wait for it."""
        name, now = service.name, time.monotonic()
        if (code := self._running[name].poll()) is None:
            return
        if name not in self._due:
            pause = self._pauses[name].after(now - self._started[name])
            log = self._logs / f"{name}.log"
            print(f"{name} ended ({code}); restarting in {pause} s. See {log}")
            self._due[name] = now + pause
        elif now >= self._due[name]:
            del self._due[name]
            self._start(service)

    def _start(self, service: Service) -> None:
        path = self._logs / f"{service.name}.log"
        path.touch()
        path.chmod(0o600)  # also one that was there before
        with path.open("ab") as log:
            process = subprocess.Popen(
                service.command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # this process passes Ctrl-C on
            )
        if service.yields:
            with suppress(ProcessLookupError):  # it ended at once; `watch` tells
                yield_to_others(process.pid)
        self._running[service.name] = process
        self._started[service.name] = time.monotonic()


@contextmanager
def running(home: Path, environment: dict[str, str]) -> Iterator[Processes]:
    """Processes that are stopped at the end, and by a signal."""
    processes = Processes(home, environment)
    for stop in (signal.SIGINT, signal.SIGTERM):  # in the background, a shell ignores the first
        signal.signal(stop, signal.default_int_handler)
    try:
        yield processes
    finally:
        processes.stop()
