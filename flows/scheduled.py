"""A release of the calendar, started by a schedule, or by an operator for a missed period."""

from datetime import UTC, datetime
from pathlib import Path

from prefect import flow
from prefect.context import FlowRunContext
from prefect.runtime import flow_run
from prefect.states import Completed
from prefect_dask import DaskTaskRunner

from hallmark.flows.cluster import THREADS
from hallmark.flows.endings import Ending, ended
from hallmark.flows.release import carry_out
from hallmark.tasks.gates.series_approval import keep_series_plan
from hallmark.tasks.installation.operator import Order, numbered, ordered
from hallmark.tasks.installation.places import given, out_folder
from hallmark.tasks.installation.workspace import AlreadyRunning, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.instances import instance
from hallmark.tasks.planning.recurring import scheduled_by
from hallmark.tasks.revisions import revision as revised
from hallmark.tasks.runs import run_logged


@flow(name="calendar-release", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def calendar_release(
    calendar: str,
    entry: str,
    out: str | None = None,
    period: str | None = None,
    order: str | None = None,
    revision: str | None = None,
) -> Ending:
    """Run the release of a calendar's entry for one period, or continue it.

    The period follows from the time that the run was scheduled for, so a late run is still about
    the right period. If a schedule and an operator start the same period, it runs only once: the
    second run leaves the first alone.

    Args:
        calendar: path of the calendar.
        entry: name of the entry.
        out: folder in which the release folder is made; a relative path starts in the folder
            `HALLMARK_RELEASES`, which is the default.
        period: a missed period, such as 2026-11, instead of the current one.
        order: number of the order that somebody gave at the desk.
        revision: why a period that is published is released again, by a release of its own.
    """
    moment = flow_run.scheduled_start_time or datetime.now(UTC)
    with run_logged():
        file = given("calendar", calendar)
        folder = out_folder(out)
        again = (
            None
            if revision is None
            else revised(file, entry, moment, period, reason=revision, out=folder)
        )
        due = instance(file, entry, moment, period, again)
        try:
            prepared = due.prepared.releasing()
            release = prepared.spec.release
            keep_series_plan(due, open_ledger(ledger_url()))
            with ordered(order or _order_of_schedule(file, entry, release), release):
                outcome = carry_out(prepared, folder, resume=True, allowance=due.allowance)
        except AlreadyRunning as error:
            return Completed(name="Skipped", message=str(error))
        return ended(outcome)


def _order_of_schedule(calendar: Path, entry: str, release: str) -> str | None:
    """The order of whoever scheduled the entry at the desk, if the schedule started this run.

    Who starts the entry on the server, or on the command line, becomes nobody else.
    """
    context = FlowRunContext.get()
    run = None if context is None else context.flow_run
    by = scheduled_by(calendar, entry) if run is not None and run.auto_scheduled else None
    if by is None:
        return None
    return numbered(Order(release=release, by=by, at=datetime.now(UTC)))
