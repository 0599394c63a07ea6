"""`hallmark smooth`: a revised series of past tables, from the releases of all periods."""

from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.options import ConfidenceOption, CsvFileOption
from hallmark.flows.screen import say


def smooth(
    releases: Annotated[
        list[Path],
        typer.Argument(
            help="Release folders of one series, one for each period.",
            metavar="RELEASE…",
            exists=True,
            file_okay=False,
        ),
    ],
    out: CsvFileOption,
    confidence: ConfidenceOption = 0.95,
) -> None:
    """Estimate the tables of all periods of a series again, each from the releases of all.

    Nothing is drawn or spent: releases hold all that is used. The result is a revision, to be
    published as such: levels and changes are more exact than those of single releases, and rest on
    a model of how tables move from period to period (docs/series.md).
    """
    from hallmark.tasks.smooth import smooth as smoothed

    made = smoothed(releases, confidence=confidence)
    made.frame.to_csv(out, index=False)
    tables, periods = made.frame["columns"].nunique(), made.frame["period"].nunique()
    say(f"{tables} tables of {periods} periods: {out}")
    for note in made.replaced:
        say(f"{note}; that one is used")
    for name, broken in made.broken.items():
        say(f"{name}: not what other periods made probable: {', '.join(broken)}")
    if made.left_out:
        say(f"Left out, since their codes have changed: {', '.join(made.left_out)}")
