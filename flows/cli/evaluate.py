"""`hallmark evaluate`: how far a synthetic file is from the private table. Internal."""

from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows import quiet
from hallmark.flows.cli.options import JsonOption, SpecArgument
from hallmark.flows.screen import line, say, say_json, table

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from hallmark.tasks.evaluate import Evaluation


def evaluate(
    spec: SpecArgument,
    synthetic: Annotated[
        str, typer.Option("--synthetic", help="The synthetic file, in the format of a release.")
    ],
    data: Annotated[
        str | None, typer.Option("--data", help="The private table; default: the spec's source.")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option("--test", help="Held-out private records to predict; default: a fifth."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN[=VALUE]",
            help="Predict this column (or whether it is VALUE) from all other columns.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a synthetic file with the private table; the result is internal."""
    if test is not None and label is None:
        raise typer.BadParameter("it is only read with --label", param_hint="--test")
    quiet.configure()
    from hallmark.tasks.evaluate import LabelRefused, evaluate_files

    try:
        found = evaluate_files(spec, synthetic, data=data, test=test, label=label)
    except LabelRefused as error:
        raise typer.BadParameter(str(error), param_hint="--label") from error
    if as_json:
        say_json(found.to_json(), indent=None)  # one line, so that the warning is in the first
    else:
        _print(found)


def _print(found: "Evaluation") -> None:
    from rich.table import Column

    from hallmark.tasks.evaluate import NOTICE, in_words

    metrics = found.metrics
    say(NOTICE, style=typer.colors.RED)
    line(
        f"{metrics.rows_real:,} private and {metrics.rows_synthetic:,} synthetic records; "
        "0 is best for every number"
    )
    if found.label is not None:
        line(f"label {found.label}, predicted for {found.held_out} ({metrics.rows_test:,})")
    if found.left_out:
        line(
            f"{found.left_out:,} more private records are left out, which a release does not keep "
            "of their persons"
        )
    for sample in found.samples:
        line(f"sampled: {sample.used:,} of {sample.of:,} {sample.what}")
    if found.merged:
        line(f"columns coarsened to 32 cells: {', '.join(found.merged)}")
    table(
        ("metric", Column("value", justify="right"), "meaning"),
        (
            (
                told.metric,
                ["–" if told.value is None else f"{told.value:.4g}", (told.unit, "dim")],
                told.meaning,
            )
            for told in in_words(metrics, found.downstream_unit)
        ),
        plain=True,
    )
