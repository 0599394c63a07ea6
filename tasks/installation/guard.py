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
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.workspace import FAILURES

P = ParamSpec("P")
R = TypeVar("R")


class StageFailed(PrivateFact):
    """An unexpected failure where private rows were at hand; details are in the workspace."""


def guarded(stage: str, workspace: Path, function: Callable[P, R]) -> Callable[P, R]:
    """`function`, with every exception that is not ours replaced by a `StageFailed`.

    Raised outside the handlers and without a chain: what an exception was raised from, or while
    handling what, travels with it and would be logged.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        failure: Exception | None = None
        try:
            return function(*args, **kwargs)
        except (SafeError, LedgerError, BudgetExceeded) as ours:
            failure = ours
        except Exception as error:
            kind, details = type(error).__name__, traceback.format_exc()
        if failure is None:
            failure = StageFailed(
                f"stage {stage} failed with {kind}; {_kept(workspace, stage, details)}. Nothing is "
                "lost: fix the cause and run again (a release: with --resume)"
            )
        failure.__cause__ = failure.__context__ = None
        raise failure

    return run


def _kept(workspace: Path, stage: str, details: str) -> str:
    """Where the details of a failure are, after they were written to the workspace."""
    log = workspace / FAILURES
    try:
        log.touch(mode=0o600)
        with log.open("a") as file:
            file.write(f"--- {stage}\n{details}")
    except OSError as full:
        return f"its details could not be kept in {log} ({full.strerror})"
    return f"its message may quote private data and is only in {log}"
