"""Exit codes of the command line, and which error ends in which."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the exit status of `hallmark` says; 0 is done, 1 an unexpected failure."""

    USAGE = 2  # wrong arguments or a wrong spec
    DATA = 3  # the private table cannot be read, or breaks the spec
    BUDGET = 4  # the ledger refuses
    CHECK = 5  # the result failed a check and was not published
    VERIFICATION = 6  # a release folder is not what it claims


def exit_code_of(error: BaseException) -> int | None:
    """The exit code of an error that is written for users; None for any other."""
    from flows.reports import ReportMissing
    from mechanisms.privacy.accountant import BudgetExceeded
    from mechanisms.privacy.ledger import LedgerError
    from schemas.loading import SpecError
    from schemas.skeleton import SkeletonError
    from tasks.finalise import FinalCheckFailed
    from tasks.guard import SafeError, StageFailed
    from tasks.prepare import PlanRefused
    from tasks.publish import PublishRefused
    from tasks.reserve import AlreadyStarted
    from tasks.signing import SigningError
    from tasks.workspace import AlreadyRunning

    match error:
        case SpecError() | PlanRefused() | SkeletonError() | SigningError():
            return ExitCode.USAGE
        case AlreadyStarted() | AlreadyRunning() | PublishRefused() | ReportMissing():
            return ExitCode.USAGE
        case LedgerError() | BudgetExceeded():
            return ExitCode.BUDGET
        case FinalCheckFailed():
            return ExitCode.CHECK
        case StageFailed() | OSError():
            return 1
        case SafeError():
            return ExitCode.DATA
    return None
