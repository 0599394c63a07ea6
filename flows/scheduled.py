"""A release of the calendar: what a schedule starts, and an operator who makes up for a period."""

from datetime import UTC, datetime

from prefect import flow
from prefect.runtime import flow_run
from prefect.states import Completed
from prefect_dask import DaskTaskRunner

from flows.cluster import THREADS
from flows.endings import Ending, ended
from flows.release import carry_out
from tasks.instances import instance
from tasks.places import given, out_folder
from tasks.prepare import as_release
from tasks.runs import run_logged
from tasks.workspace import AlreadyRunning


@flow(name="calendar-release", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def calendar_release(
    calendar: str, entry: str, out: str | None = None, period: str | None = None
) -> Ending:
    """Run the release of a calendar's entry for one period, or go on with it.

    The period follows from when the run was scheduled for, so a late run is still about its own.
    A schedule and an operator who start the same period do no double run: what one has started,
    the other leaves alone.

    Args:
        calendar: path of the calendar.
        entry: name of the entry in it.
        out: folder in which the release folder is made; a relative one starts in the folder of
            `HALLMARK_RELEASES`, which it is where none is given.
        period: the period instead of the present one, such as 2026-11, where a run was missed.
    """
    moment = flow_run.scheduled_start_time or datetime.now(UTC)
    with run_logged():
        due = instance(given("calendar", calendar), entry, moment, period)
        try:
            folder = out_folder(out)
            prepared = as_release(due.prepared)
            outcome = carry_out(prepared, folder, resume=True, allowance=due.allowance)
        except AlreadyRunning as error:
            return Completed(name="Skipped", message=str(error))
        return ended(outcome)
