"""How a stage of post-processing is executed: where it works, whom it tells, where it resumes.

Randomness is not part of it: `rng` changes what a stage returns, and none of this does.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hallmark.mechanisms.checkpoint import Checkpoint
from hallmark.mechanisms.compute import SERIAL, Compute

Progress = Callable[[float, str], None]
"""Called with the share done in [0, 1] and what is being done; safe to ignore."""


def silent(share: float, doing: str) -> None:
    """Progress that nobody is told of."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """Progress of a step that takes its stage from share `start` to share `end`."""
    return lambda share, doing: progress(float(start + share * (end - start)), doing)


@dataclass(frozen=True, eq=False, kw_only=True)
class Execution:
    """How a stage is executed. Nothing in it changes what the stage returns.

    Attributes:
        compute: where heavy parts of a certificate run.
        progress: told how far a long stage is.
        checkpoint: where a long fit leaves its state, to go on from there after a crash.
    """

    compute: Compute = SERIAL
    progress: Progress = silent
    checkpoint: Checkpoint | None = None


INLINE = Execution()
"""In this thread, silently, from the beginning; for notebooks and tests."""
