"""Which process goes first on a busy processor: who answers people, before who computes.

What answers people (the desk, the Prefect server), and what watches over runs (the worker that
starts them, the Dask scheduler), has the normal priority. Runs and Dask workers yield to them a
little: with less they would wait, on a machine that is busy otherwise, until somebody takes them
for dead.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

NICE = 2
"""A third of a busy processor against one process of 0, and all of an idle one (sched(7))."""

_TRIES, _PAUSE = 50, 0.1  # s: Linux lets ordinary users weigh one session in a tenth of a second


def yield_to_others(process: int) -> None:
    """Give a process that has just begun, and all that it starts, a lower priority.

    Args:
        process: whose session has nobody else in it: where Linux weighs sessions against each
            other (sched(7), autogroup), a process's own number counts within its session alone.
    Raises:
        ProcessLookupError: it has ended.
    """
    os.setpriority(os.PRIO_PROCESS, process, max(NICE, os.getpriority(os.PRIO_PROCESS, process)))
    session = Path(f"/proc/{process}/autogroup")
    for _ in range(_TRIES):
        try:
            session.write_text(str(NICE))
            return
        except BlockingIOError:  # somebody else's was weighed just now
            time.sleep(_PAUSE)
        except OSError:  # a system that does not weigh them
            return


def run_yields() -> None:
    """Let this process yield, if the orchestrator's worker started it for one run of a flow.

    The worker gives each a session of its own. Others, such as a command in somebody's terminal,
    keep the priority that they were started with.
    """
    if _OF_A_RUN in os.environ:
        with suppress(ProcessLookupError):
            yield_to_others(os.getpid())


_OF_A_RUN = "PREFECT__FLOW_RUN_ID"
