"""Keep private values out of exceptions: what a library says may quote the row it failed on.

Code that touches private rows runs under `guarded`. Our own errors pass, since their messages are
written without private values. Any other is replaced by one that tells the stage and the type,
and its details go to the release's restricted workspace.
"""

import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from hallmark.mechanisms.privacy.accountant import BudgetExceeded
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.tasks.installation.errors import SafeError

P = ParamSpec("P")
R = TypeVar("R")


class StageFailed(SafeError):
    """An unexpected failure where private rows were at hand; details are in the workspace."""


def guarded(stage: str, workspace: Path, function: Callable[P, R]) -> Callable[P, R]:
    """`function`, with every exception that is not ours replaced by a `StageFailed`."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (SafeError, LedgerError, BudgetExceeded):
            raise
        except Exception as error:
            log = workspace / "failures.log"
            log.touch(mode=0o600)
            with log.open("a") as details:
                details.write(f"--- {stage}\n{traceback.format_exc()}")
            kind = type(error).__name__
        # Raised outside the handler: an exception's context travels with it and would be logged.
        raise StageFailed(
            f"stage {stage} failed with {kind}; its message may quote private data and is only "
            f"in {log}. Nothing is lost: fix the cause and run again (a release: with --resume)"
        )

    return run
