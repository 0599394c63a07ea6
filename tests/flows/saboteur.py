"""A preload of Dask workers: who first works on a stage is killed there, or tells and goes on.

The folder `HALLMARK_TEST_FAULTS` holds a file `kill-TASK` or `tell-TASK` for every fault that is to
happen; who meets it renames it to `met-TASK-WORKER`, so that each happens once.
"""

import os
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin

FOLDER = Path(os.environ["HALLMARK_TEST_FAULTS"])
INTO = 0.03  # seconds into the task


class Saboteur(WorkerPlugin):
    """Watches what its worker begins to execute."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        if finish != "executing":
            return
        for fault in FOLDER.glob("*-*"):
            kind, _dash, task = fault.name.partition("-")
            if kind == "met" or not str(key).startswith(f"{task}-"):
                continue
            if kind == "tell" and self._mark(task).exists():
                continue  # it told before; the next to tell is another worker
            if self._met(fault, task) and kind == "kill":
                self._worker.loop.call_later(INTO, os.kill, os.getpid(), signal.SIGKILL)

    def _mark(self, task: str) -> Path:
        return FOLDER / f"met-{task}-{self._worker.name}"

    def _met(self, fault: Path, task: str) -> bool:
        try:
            fault.rename(self._mark(task))
        except FileNotFoundError:  # the other worker was first
            return False
        return True


async def dask_setup(worker: Worker) -> None:
    """Called by Dask in each worker process, before it registers."""
    if list(FOLDER.glob("tell-*")):
        # Importing these holds a process up for seconds, in which an impatient scheduler would take
        # it for dead.
        for module in (
            "great_expectations.expectations",
            "hallmark.tasks.generate",
            "hallmark.tasks.output.finalise",
        ):
            import_module(module)
    await worker.plugin_add(plugin=Saboteur(worker), name="saboteur")
