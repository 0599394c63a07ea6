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
    TERMINATED = 143  # by SIGTERM; run again with --resume


# By qualified name: importing the classes would load every library before a short message.
CODES = {
    "hallmark.flows.alerts.AlertsRefused": ExitCode.USAGE,
    "hallmark.tasks.installation.losses.ClusterLost": ExitCode.FAILED,
    "hallmark.flows.cluster.ClusterRefused": ExitCode.USAGE,
    "hallmark.flows.cli.options.NoSuchSpec": ExitCode.USAGE,
    "hallmark.flows.cli.reports.ReportMissing": ExitCode.USAGE,
    "hallmark.schemas.given_dictionary.DictionaryError": ExitCode.USAGE,
    "hallmark.schemas.loading.SpecError": ExitCode.USAGE,
    "hallmark.schemas.skeleton.SkeletonError": ExitCode.USAGE,
    "hallmark.tasks.gates.approvals.DecisionRefused": ExitCode.USAGE,
    "hallmark.tasks.gates.approvals.GateRejected": ExitCode.CHECK,
    "hallmark.tasks.planning.private_tables.CopyRefused": ExitCode.USAGE,
    "hallmark.tasks.planning.instances.CalendarRefused": ExitCode.USAGE,
    "hallmark.tasks.gates.series_approval.NoSeriesPlan": ExitCode.USAGE,
    "hallmark.tasks.installation.places.PathRefused": ExitCode.USAGE,
    "hallmark.tasks.planning.requested.PlanRefused": ExitCode.USAGE,
    "hallmark.tasks.publish.PublishRefused": ExitCode.USAGE,
    "hallmark.tasks.backup.BackupRefused": ExitCode.USAGE,
    "hallmark.tasks.people.actions.LogBroken": ExitCode.VERIFICATION,
    "hallmark.tasks.people.directory.PersonRefused": ExitCode.USAGE,
    "hallmark.tasks.people.sessions.TokenRefused": ExitCode.USAGE,
    "hallmark.tasks.lost_charges.ProofRefused": ExitCode.CHECK,
    "hallmark.tasks.gates.rehearsal.RehearsalFailed": ExitCode.FAILED,
    "hallmark.tasks.gates.rehearsal_table.RehearsalRefused": ExitCode.USAGE,
    "hallmark.tasks.changes.common_cells.NotComparable": ExitCode.USAGE,
    "hallmark.tasks.verification.chain.NoSeries": ExitCode.USAGE,
    "hallmark.tasks.verification.as_signed.NotAsSigned": ExitCode.VERIFICATION,
    "hallmark.tasks.verification.in_use.NotInUse": ExitCode.VERIFICATION,
    "hallmark.tasks.notices.NoticeRefused": ExitCode.USAGE,
    "hallmark.tasks.revisions.RevisionRefused": ExitCode.USAGE,
    "hallmark.tasks.reserve.AlreadyStarted": ExitCode.USAGE,
    "hallmark.tasks.site.published.NotPublished": ExitCode.VERIFICATION,
    "hallmark.tasks.site.folder.SiteRefused": ExitCode.USAGE,
    "hallmark.tasks.withdrawals.GivenUp": ExitCode.USAGE,
    "hallmark.tasks.installation.key_register.RegisterRefused": ExitCode.USAGE,
    "hallmark.tasks.installation.signing_command.SigningError": ExitCode.USAGE,
    "hallmark.tasks.installation.time_stamp.TimeStampRefused": ExitCode.FAILED,
    "hallmark.tasks.output.output_table.TableNotLoaded": ExitCode.FAILED,
    "hallmark.tasks.output.output_table.TableRefused": ExitCode.USAGE,
    "hallmark.tasks.installation.workers.WorkersUnfit": ExitCode.USAGE,
    "hallmark.tasks.installation.workspace.AlreadyRunning": ExitCode.USAGE,
    "hallmark.mechanisms.privacy.accountant.BudgetExceeded": ExitCode.BUDGET,
    "hallmark.mechanisms.privacy.ledger.errors.LedgerUnreachable": ExitCode.FAILED,
    "hallmark.mechanisms.privacy.ledger.errors.LedgerError": ExitCode.BUDGET,
    "hallmark.tasks.output.finalise.FinalCheckFailed": ExitCode.CHECK,
    "hallmark.tasks.installation.disk.DiskFull": ExitCode.FAILED,
    "hallmark.tasks.installation.guard.StageFailed": ExitCode.FAILED,
    # all other errors whose message may be shown
    "hallmark.tasks.installation.errors.SafeError": ExitCode.DATA,
    "builtins.OSError": ExitCode.FAILED,
}


def exit_code_of(error: BaseException) -> ExitCode | None:
    """The exit code of an error whose message may be shown to users; None for any other error."""
    for kind in type(error).__mro__:  # from the error's own class to the most general
        code = CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None
