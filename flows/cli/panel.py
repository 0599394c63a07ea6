"""`hallmark lag` and `hallmark panel`: people who run through the periods of a series."""

from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.options import CsvFileOption
from hallmark.flows.screen import say


def lag(
    spec: Annotated[Path, typer.Argument(help="The spec of this period.", exists=True)],
    table: Annotated[Path, typer.Argument(help="The private table of this period.", exists=True)],
    before: Annotated[
        list[Path],
        typer.Argument(
            help="The private tables of the periods before, the nearest first.",
            metavar="BEFORE…",
            exists=True,
        ),
    ],
    person: Annotated[
        str, typer.Option("--person", help="The column of all that says whose a record is.")
    ],
    period: Annotated[
        str | None,
        typer.Option("--period", help="The period, where the spec is a calendar's template."),
    ] = None,
) -> None:
    """Write the private table of a panel: this period's, and what people were before.

    It is written where the spec says that its data are, for you alone to read, and is as private as
    the tables. All are CSV files written as the spec says. With a database, let data.query join the
    periods instead.
    """
    from hallmark.tasks.lag import lag as written
    from hallmark.tasks.lag import spec_about

    say(f"{written(spec_about(spec, period), spec.parent, table, before, person)}: private")


def panel(
    releases: Annotated[
        list[Path],
        typer.Argument(
            help="Release folders of consecutive periods of a panel.",
            metavar="RELEASE…",
            exists=True,
            file_okay=False,
        ),
    ],
    out: CsvFileOption,
) -> None:
    """Put the records of a panel's releases together, a person's one after the other.

    The releases hold all that is used; nothing is drawn or spent. Every release must go on from the
    one before it that you name (docs/series.md).
    """
    from hallmark.tasks.panels import panel as histories

    made = histories(releases)
    made.to_csv(out, index=False)
    for note in made.attrs["notes"]:
        say(note)
    people, periods = made["person"].nunique(), made["period"].nunique()
    say(f"{len(made):,} records of {people:,} people in {periods} periods: {out}")
