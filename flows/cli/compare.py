"""`hallmark compare`: how a table changed from one release to another, beyond the noise."""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.cli.options import (
    ConfidenceOption,
    CsvOption,
    JsonOption,
    SimultaneousOption,
)
from hallmark.flows.cli.query import interval, number
from hallmark.flows.screen import line, say, say_json, table
from hallmark.schemas.visible import visible

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from hallmark.tasks.changes import Changes, ShiftedTable, Shifts
    from hallmark.tasks.compared import Comparison


def compare(
    before: Annotated[
        Path, typer.Argument(help="The earlier release's folder.", exists=True, file_okay=False)
    ],
    after: Annotated[
        Path, typer.Argument(help="The later release's folder.", exists=True, file_okay=False)
    ],
    questions: Annotated[
        list[str] | None,
        typer.Argument(help="As of hallmark query; without one, what changed beyond noise."),
    ] = None,
    recode: Annotated[
        Path | None,
        typer.Option(
            "--recode",
            help="A public map {column: {earlier code: later code}} (YAML or CSV).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    simultaneous: SimultaneousOption = False,
    given_rules: Annotated[
        bool,
        typer.Option(
            "--given-rules",
            help="Take the specs' edit rules and public totals for true of the private tables.",
        ),
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Without a question: look at tables of two columns, too."),
    ] = False,
    within: Annotated[
        float,
        typer.Option(
            "--within",
            help="Without a question: say which tables could hide such a change of a share.",
        ),
    ] = 0.01,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how answers changed from one release to another, or what changed beyond noise at all."""
    if as_csv and as_json:
        raise typer.BadParameter("give one of them", param_hint="--csv, --json")
    if as_csv and len(questions or ()) > 1:
        raise typer.BadParameter("prints one question; use --json for several", param_hint="--csv")
    if not questions and (simultaneous or given_rules):
        raise typer.BadParameter(
            "are of questions; without one, intervals hold all at once, from the tables alone",
            param_hint="--simultaneous, --given-rules",
        )
    if questions and pairs:
        raise typer.BadParameter("is for a comparison without questions", param_hint="--pairs")
    from hallmark.schemas.question import QuestionError
    from hallmark.tasks.changes.plain import plain_changes, plain_shifts
    from hallmark.tasks.compared import Comparison

    comparison = Comparison.of(before, after, recode)
    if not questions:
        found = comparison.shifts(confidence=confidence, within=within, pairs=pairs)
        if as_json:
            say_json({"releases": _releases(comparison), **plain_shifts(found)})
        elif as_csv:
            _print_rows(_rows_of_shifts(found))
        else:
            _print_shifts(found)
        return
    try:
        every = comparison.ask(
            *questions, confidence=confidence, simultaneous=simultaneous, given_rules=given_rules
        )
    except QuestionError as error:
        raise typer.BadParameter(str(error), param_hint="QUESTION") from error
    if as_json:
        plain = [{"releases": _releases(comparison), **plain_changes(one)} for one in every]
        say_json(plain[0] if len(plain) == 1 else plain)
        return
    for one in every:
        if as_csv:
            _print_rows(_rows(one))
            continue
        if len(every) > 1:
            say(one.question)
        _print(one)


def _releases(comparison: "Comparison") -> dict[str, str]:
    return {"before": comparison.before.spec.release, "after": comparison.after.spec.release}


def _rows(found: "Changes") -> Iterator[list[object]]:
    for i, one in enumerate(found.changes):
        if i == 0:
            yield [*map(visible, found.by), *one.numbers]
        yield [*map(visible, one.group), *one.numbers.values()]


def _rows_of_shifts(found: "Shifts") -> Iterator[list[object]]:
    from hallmark.tasks.changes.plain import numbers_of

    yield ["columns", "changed", "probability", "hidden", "cell", "before", "after", "change",
           "low", "high", "is_told"]  # fmt: skip
    for one in found.tables:
        for shift in one.largest:
            yield [
                _joined(one.columns), one.changed, one.test.probability, one.hidden,
                _joined(shift.cell), *numbers_of(shift).values(),
            ]  # fmt: skip


def _print_rows(rows: Iterator[list[object]]) -> None:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([repr(one) if isinstance(one, float) else one for one in row])
    for printed in text.getvalue().splitlines():
        say(printed)


def _print(found: "Changes") -> None:
    from rich.table import Column

    percent = f"{100 * found.confidence:g} %"
    together = ", all at once" if found.simultaneous else ""
    has_raw = any(one.raw_low is not None for one in found.changes)
    has_relative = any(one.relative is not None for one in found.changes)
    table(
        (
            *found.by,
            Column("before", justify="right"),
            Column("after", justify="right"),
            f"change ({percent} interval{together})",
            *(["relative"] if has_relative else []),
            *([Column("of raw values", justify="right")] if has_raw else []),
            "basis",
        ),
        (
            [
                *one.group,
                number(one.before.estimate),
                number(one.after.estimate),
                one.in_words(in_points=found.in_points),
                *([one.relative_in_words] if has_relative else []),
                *([interval(one.raw_low, one.raw_high)] if has_raw else []),
                one.basis,
            ]
            for one in found.changes
        ),
        plain=True,
    )
    for note in found.notes:
        line((note, "dim"))


def _print_shifts(found: "Shifts") -> None:
    from rich.table import Column

    table(
        (
            "table",
            "changed",
            Column("probability", justify="right"),
            "largest change",
            Column("points", justify="right"),
            Column("all at once", justify="right"),
            Column("may hide", justify="right"),
        ),
        (row for one in found.tables for row in _shown(one)),
        plain=True,
    )
    for columns, why in found.untold:
        say(f"{_joined(columns)} is not looked at: {why}")
    for note in found.notes:
        line((note, "dim"))


def _shown(one: "ShiftedTable") -> Iterator[list[str]]:
    """A table that changed has all its largest shifts; any other has one line."""
    told = [shift for shift in one.largest if shift.is_told] if one.changed else []
    for i, shift in enumerate(told or one.largest[:1]):
        head = ["", "", ""]
        if i == 0:
            says = "yes" if one.changed else "not told"
            head = [_joined(one.columns), says, f"{one.test.probability:.2g}"]
        yield [
            *head,
            _joined(shift.cell),
            f"{100 * shift.change:+.2f}",
            f"{100 * shift.low:.2f} to {100 * shift.high:.2f}",
            "" if i else f"± {100 * one.hidden:.2g}",
        ]


def _joined(names: tuple[str, ...]) -> str:
    return " x ".join(map(visible, names))
