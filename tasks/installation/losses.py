"""What becomes of work whose workers, or whose scheduler, are lost for good."""

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from hallmark.tasks.installation.errors import SafeError


class ClusterLost(SafeError):
    """The cluster did not outlive the run; what was drawn is in the log."""


@contextmanager
def losses_told() -> Iterator[None]:
    """Say so where Dask gives up; of one worker that dies, it takes care itself.

    Raises:
        ClusterLost: workers died again and again, or the scheduler did.
    """
    try:
        yield
        return
    except KilledWorker as error:
        task = str(error.task).rpartition("-")[0]
        what = (
            f"worker after worker died at {task}; often they lack memory: give them more, or "
            "fewer threads each"
        )
    except (CancelledError, CommClosedError):
        what = "the scheduler was lost; see that it is up"
    raise ClusterLost(f"cluster: {what}. Nothing is lost: run again with --resume")
