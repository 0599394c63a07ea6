"""Exit codes of the command line, and the errors that lead to them."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `hallmark`; 0 means done."""

    FAILED = 1  # any other error
    USAGE = 2  # wrong arguments or an invalid spec
    DATA = 3  # the private table cannot be read, or breaks the spec
    BUDGET = 4  # the ledger refuses the budget
    CHECK = 5  # the result failed a check and was not published
    VERIFICATION = 6  # a release folder is not what it claims
    WAITING = 7  # for an approval, or for the end of an embargo; run again with --resume
    INTERRUPTED = 130  # by Ctrl-C; run again with --resume


# By qualified name: importing the classes would load every library before a short message.
CODES = {
    "flows.alerts.AlertsRefused": ExitCode.USAGE,
    "tasks.losses.ClusterLost": ExitCode.FAILED,
    "flows.cluster.ClusterRefused": ExitCode.USAGE,
    "flows.reports.ReportMissing": ExitCode.USAGE,
    "schemas.loading.SpecError": ExitCode.USAGE,
    "schemas.skeleton.SkeletonError": ExitCode.USAGE,
    "tasks.approvals.DecisionRefused": ExitCode.USAGE,
    "tasks.approvals.GateRejected": ExitCode.CHECK,
    "tasks.copies.CopyRefused": ExitCode.USAGE,
    "tasks.instances.CalendarRefused": ExitCode.USAGE,
    "tasks.places.PathRefused": ExitCode.USAGE,
    "tasks.prepare.PlanRefused": ExitCode.USAGE,
    "tasks.publish.PublishRefused": ExitCode.USAGE,
    "tasks.rehearsal.RehearsalFailed": ExitCode.FAILED,
    "tasks.rehearsal_table.RehearsalRefused": ExitCode.USAGE,
    "tasks.reserve.AlreadyStarted": ExitCode.USAGE,
    "tasks.signing.SigningError": ExitCode.USAGE,
    "tasks.time_stamp.TimeStampRefused": ExitCode.FAILED,
    "tasks.output_table.TableNotLoaded": ExitCode.FAILED,
    "tasks.output_table.TableRefused": ExitCode.USAGE,
    "tasks.workers.WorkersUnfit": ExitCode.USAGE,
    "tasks.workspace.AlreadyRunning": ExitCode.USAGE,
    "mechanisms.privacy.accountant.BudgetExceeded": ExitCode.BUDGET,
    "mechanisms.privacy.ledger_errors.LedgerError": ExitCode.BUDGET,
    "tasks.finalise.FinalCheckFailed": ExitCode.CHECK,
    "tasks.guard.StageFailed": ExitCode.FAILED,
    "tasks.errors.SafeError": ExitCode.DATA,  # all other errors whose message may be shown
    "builtins.OSError": ExitCode.FAILED,
}


def exit_code_of(error: BaseException) -> ExitCode | None:
    """The exit code of an error whose message may be shown to users; None for any other error."""
    for kind in type(error).__mro__:  # from the error's own class to the most general
        code = CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None
