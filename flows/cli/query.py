"""`hallmark query`: what a release says about a question, with the error of every answer."""

import csv
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.cli.options import (
    ConfidenceOption,
    CsvOption,
    JsonOption,
    SimultaneousOption,
)
from hallmark.flows.screen import line, say, say_json, table
from hallmark.schemas.visible import visible

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from hallmark.tasks.questions.answers import Answer, Answers


def query(
    release: Annotated[
        Path, typer.Argument(help="A release folder.", exists=True, file_okay=False)
    ],
    questions: Annotated[
        list[str],
        typer.Argument(help="One or more, such as 'mean of income where age >= 18 by sex'."),
    ],
    confidence: ConfidenceOption = 0.95,
    simultaneous: SimultaneousOption = False,
    given_rules: Annotated[
        bool,
        typer.Option(
            "--given-rules",
            help="Take the spec's edit rules and public totals for true of the private table.",
        ),
    ] = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer questions from a release, with an interval for every answer."""
    if as_csv and as_json:
        raise typer.BadParameter("give one of them", param_hint="--csv, --json")
    if as_csv and len(questions) > 1:
        raise typer.BadParameter("prints one question; use --json for several", param_hint="--csv")
    from hallmark.schemas.question import QuestionError
    from hallmark.tasks.opened import Release

    try:
        every = Release.of(release).ask(
            *questions,
            confidence=confidence,
            simultaneous=simultaneous,
            given_rules=given_rules,
        )
    except QuestionError as error:
        raise typer.BadParameter(str(error), param_hint="QUESTION") from error
    if as_json:
        plain = [_plain(found) for found in every]
        say_json(plain[0] if len(plain) == 1 else plain)
        return
    for found in every:
        if as_csv:
            _print_csv(found)
            continue
        if len(every) > 1:
            say(found.question)
        _print(found)


def _plain(found: "Answers") -> dict[str, object]:
    """For JSON, which has no infinite numbers: null ends with a deviation mean no bound."""
    from hallmark.tasks.questions.answers import finite

    return {
        "question": found.question,
        "confidence": found.confidence,
        "simultaneous": found.simultaneous,
        "answers": [
            {
                "group": dict(zip(found.by, one.group, strict=True)),
                **{name: finite(getattr(one, name)) for name in _NUMBERS},
                "basis": one.basis,
            }
            for one in found.answers
        ],
        "notes": list(found.notes),
    }


_NUMBERS = ("estimate", "low", "high", "deviation", "raw_low", "raw_high", "of_records")


def _print_csv(found: "Answers") -> None:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*map(visible, found.by), *_NUMBERS, "basis"])
    for one in found.answers:
        numbers = ["" if (n := getattr(one, name)) is None else repr(n) for name in _NUMBERS]
        writer.writerow([*map(visible, one.group), *numbers, one.basis])
    for row in text.getvalue().splitlines():
        say(row)


def _print(found: "Answers") -> None:
    from rich.table import Column

    percent = f"{100 * found.confidence:g} %"
    together = ", all at once" if found.simultaneous else ""
    has_raw = any(one.raw_low is not None for one in found.answers)
    table(
        (
            *found.by,
            Column("estimate", justify="right"),
            Column(f"{percent} interval{together}", justify="right"),
            *([Column("of raw values", justify="right")] if has_raw else []),
            Column("in records", justify="right"),
            "basis",
        ),
        (
            [
                *one.group,
                number(one.estimate),
                interval(one.low, one.high),
                *([interval(one.raw_low, one.raw_high)] if has_raw else []),
                _of_records(one),
                one.basis,
            ]
            for one in found.answers
        ),
        plain=True,
    )
    for note in found.notes:
        line((note, "dim"))


def interval(low: float | None, high: float | None) -> str:
    """The ends of an interval, for people."""
    if low is None or high is None:
        return "–"
    if not isfinite(high - low):
        return "unbounded"
    return f"{number(low)} to {number(high)}"


def _of_records(one: "Answer") -> str:
    if one.of_records is None:
        return "–"
    return number(one.of_records) + (" *" if one.records_mislead else "")


def number(value: float) -> str:
    """A number for people."""
    if not isfinite(value):
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
