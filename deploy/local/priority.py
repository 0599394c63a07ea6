"""Processes that compute yield the processor to those that answer people."""

import os
from contextlib import suppress
from pathlib import Path

_NICE = 10  # nine times less of a busy processor than a process of 0; all of an idle one


def yield_to_others(process: int) -> None:
    """Give a process that has just begun, and all that it starts, a low priority.

    Args:
        process: the first of its session, since Linux also weighs sessions (sched(7), autogroup).
    """
    os.setpriority(os.PRIO_PROCESS, process, _NICE)
    with suppress(OSError):  # a system that does not
        Path(f"/proc/{process}/autogroup").write_text(str(_NICE))
