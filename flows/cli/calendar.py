"""`hallmark calendar`: releases that recur in every period."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.options import OutOption
from hallmark.flows.cli.running import stoppable, tell_ending
from hallmark.flows.screen import say
from hallmark.tasks.installation.workspace import ledger_url

calendar_app = typer.Typer(
    help="Recurring releases, each period with its own release and budget.", no_args_is_help=True
)

CalendarArgument = Annotated[
    Path, typer.Argument(help="The calendar, a YAML file.", metavar="CALENDAR")
]


@calendar_app.command("show")
def show(calendar: CalendarArgument) -> None:
    """Check a calendar and its specs, and list what is due in the current period of each entry.

    Where the account keeps a series, also what the period has of its cap.
    """
    from hallmark.flows import quiet

    quiet.configure()
    from hallmark.flows.cli.terminal import print_calendar
    from hallmark.schemas.loading import load_calendar
    from hallmark.tasks.ledger.anchors import open_ledger
    from hallmark.tasks.ledger.series import told_of_period
    from hallmark.tasks.planning.instances import due

    now, book = datetime.now(UTC), open_ledger(ledger_url())
    found = []
    for name, entry in load_calendar(calendar).releases.items():
        prepared = (one := due(calendar, name, now)).prepared
        share = told_of_period(book, prepared.spec.population.account, prepared.period)
        found.append((name, entry, one, share))
    print_calendar(found)


@calendar_app.command("run")
def run(
    calendar: CalendarArgument,
    entry: Annotated[str, typer.Argument(help="Name of the entry.", metavar="ENTRY")],
    period: Annotated[
        str | None, typer.Option(help="A period such as 2026-11; default: the current one.")
    ] = None,
    out: OutOption = None,
    revision: Annotated[
        str | None,
        typer.Option(
            "--revision",
            help="Release a published period again, with a draw and a charge of its own: why, for "
            "everybody who uses the release. With the same reason, that revision is continued.",
            metavar="REASON",
        ),
    ] = None,
) -> None:
    """Run an entry's release for one period, or continue it; or revise it."""
    from hallmark.schemas.loading import load_calendar

    load_calendar(calendar)  # a wrong calendar is refused before anything else happens
    from hallmark.flows import quiet

    quiet.configure()
    with stoppable("again"):
        starting = quiet.start_orchestrator()
        from hallmark.flows.cli.terminal_progress import progress_shown
        from hallmark.flows.scheduled import calendar_release
        from hallmark.tasks.installation.places import out_folder

        with progress_shown(enabled=True):
            where = str(out_folder(out and out.absolute()))
            with quiet.orchestrated(starting):
                ending = calendar_release(
                    calendar=str(calendar),
                    entry=entry,
                    out=where,
                    period=period,
                    revision=revision,
                )
    if ending is None:
        say("Another run of this release is in progress; nothing was done.")
    else:
        tell_ending(ending)
