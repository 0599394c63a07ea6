"""What the command line shows a person: progress, plans, results, accounts."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from mechanisms.privacy.ledger import AccountState, Entry
from tasks.progress import listening
from tasks.publish import Published
from tasks.validate import Finding
from tasks.verification import Verification

_FAR = 2  # times as many rows as are expected, or fewer: perhaps another table
_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)

_DOING = {
    "start": "Start the orchestrator",
    "reserve": "Reserve the budget",
    "validate": "Validate the table against the spec",
    "discretize": "Code the records",
    "select": "Select what to measure",
    "privatize": "Measure with noise (the only private step)",
    "generate": "Generate synthetic records",
    "read": "Read the records to certify",
    "certify": "Certify them",
    "finalise": "Write the files and read them back",
    "report": "Write the audit report",
    "publish": "Sign and publish",
}


@contextmanager
def progress_shown(*, enabled: bool) -> Iterator[None]:
    """Show the stages of a release, with a bar where a stage reports how far it is."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[doing]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_err, disable=not enabled) as progress:
        shown: dict[str, TaskID] = {}

        def show(stage: str, share: float, doing: str) -> None:
            if stage not in shown:
                _complete(progress)
                shown[stage] = progress.add_task(_DOING.get(stage, stage), total=None, doing="")
            if share:
                progress.update(shown[stage], total=1.0, completed=share, doing=doing)

        show("start", 0.0, "")
        with listening(show):
            yield
        _complete(progress)


def _complete(progress: Progress) -> None:
    for task in progress.tasks:
        if not task.finished:
            progress.update(task.id, total=1.0, completed=1.0, doing="")


def print_findings(findings: Sequence[Finding], *, expected_rows: int) -> None:
    """Internal findings of a validation, for the steward's own eyes."""
    table = Table(
        "column", "rule", "rows", "failing", title="Validation (internal, do not publish)"
    )
    for finding in findings:
        style = ("red" if finding.rule.refuses else "yellow") if finding.failing else ""
        table.add_row(
            finding.rule.column,
            finding.rule.rule,
            str(finding.rows),
            str(finding.failing),
            style=style,
        )
    _out.print(table)
    rows = max(finding.rows for finding in findings)
    if not expected_rows / _FAR <= rows <= expected_rows * _FAR:
        _out.print(
            f"The table has {rows:,} rows, and the spec expects {expected_rows:,}: is it the one "
            "that is meant? Forecasts are for what data.expected_rows says."
        )


def print_plan(summary: Mapping[str, Any]) -> None:
    """A plan, as `tasks.summary.plan_summary` makes it."""
    privacy, forecast = summary["privacy"], summary["forecast"]
    _out.print(f"[bold]{summary['title']}[/] ({summary['release']})")
    _out.print(f"mechanism  {summary['mechanism']}: {summary['source']}")
    _out.print(f"protects   {privacy['unit']}, under {privacy['neighbours']}")
    low, high = privacy["proven_epsilon"]
    _out.print(
        f"cost       epsilon {privacy['epsilon']}, delta {privacy['delta']} of account "
        f"{summary['account']}\n           proven between {low:.6g} and {high:.6g}; "
        f"second accountant: at most {privacy['cross_check_epsilon']:.6g}"
    )
    _out.print(f"settings   {'; '.join(_settings(summary['parameters']))}")
    noise = Table("measured", "entries", "noise", "std. deviation", title="Noise")
    for line in summary["noise"]:
        noise.add_row(
            line["query"],
            str(line["cells"]),
            _short(f"{line['family']}, {line['parameter']}"),
            f"{line['standard_deviation']:.4g} {line['unit']}",
        )
    _out.print(noise)
    if forecast["per_attribute"]:
        errors = Table(
            "column",
            "share of diameter",
            "in its unit",
            title="Forecast certificate, 1-Wasserstein",
        )
        for line in forecast["per_attribute"]:
            errors.add_row(
                line["column"], f"{line['bound']:.4f}", f"{line['in_unit']:.4g} {line['unit']}"
            )
        _out.print(errors)
    _out.print(
        f"forecast   {forecast['metric']}: {forecast['expected_error']:.4g} "
        f"({forecast['statement']})\nmemory     {forecast['memory_bytes'] / 2**20:.0f} MiB at the "
        "peak"
    )
    for total in summary["public_totals"]:
        _out.print(f"total      {total['total']}, held exactly; from {total['reference']}")
    for warning in summary["warnings"]:
        _out.print(f"[yellow]warning[/]    {warning}")


def _settings(parameters: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """The parameters that fit on a line each, as `name value`; all of them are in --json."""
    for name, value in parameters.items():
        words = f"{within}{name.replace('_', ' ')} "
        if isinstance(value, Mapping):
            yield from _settings(value, words)
            continue
        shown = _short(", ".join(map(str, value)) if isinstance(value, list) else str(value))
        if len(shown) <= 40:
            yield words + shown


def _short(text: str) -> str:
    """The text with its long fractions as decimals; they are exact in --json."""
    return re.sub(
        r"(\d+)/(\d+)",
        lambda part: part[0] if len(part[0]) <= 12 else f"{int(part[1]) / int(part[2]):.6g}",
        text,
    )


def print_published(published: Published) -> None:
    """Where a release is, what it cost, what it guarantees, how to read on."""
    folder = os.path.relpath(published.folder)
    if published.earlier:
        _out.print("This release was published before; nothing was drawn or charged again.")
    _out.print(f"[bold]Release[/]      {folder}")
    _out.print(
        f"[bold]Budget[/]       spent epsilon {published.epsilon}, delta {published.delta} of "
        f"account {published.account}; left: epsilon {published.left[0]}, delta {published.left[1]}"
    )
    _out.print(f"[bold]Certificate[/]  {published.certificate}")
    _out.print(f"[bold]Report[/]       hallmark report {folder}")
    _out.print(f"[bold]Check it[/]     hallmark verify {folder}")
    _out.print(f"[bold]Internal[/]     {published.review} (confidential; not part of the release)")
    for warning in published.warnings:
        _out.print(f"[yellow]warning[/]      {warning}")


def print_verification(verification: Verification) -> None:
    """Every check of a release folder, and whether all of them passed."""
    for check in verification.checks:
        mark = "[green]ok[/]   " if check.ok else "[red]WRONG[/]"
        _out.print(f"{mark}  {check.name}: {check.detail}")
    _out.print(
        "[green]The release is what it claims.[/]"
        if verification.ok
        else "[red]Do not use this release.[/]"
    )


def print_accounts(states: Sequence[AccountState]) -> None:
    """Accounts with their balances."""
    table = Table("account", Column("unit", overflow="fold"), "cap", "spent", "reserved", "left")
    for state in states:
        table.add_row(
            state.name,
            f"{state.neighbours}, {state.unit}",
            _amount(state.cap.epsilon, state.cap.delta, ROUND_FLOOR),
            _amount(*state.spent, ROUND_CEILING),
            _amount(*state.reserved, ROUND_CEILING),
            _amount(*state.remaining, ROUND_FLOOR),
        )
    _out.print(table if states else "No account yet; open one with: hallmark ledger open --help")


def print_entries(entries: Sequence[Entry]) -> None:
    """The append-only entries of an account."""
    table = Table("#", "time", "entry", "release", "hash")
    for entry in entries:
        table.add_row(
            str(entry.seq), entry.at, entry.kind, entry.release or "", f"{entry.hash[:12]}…"
        )
    _out.print(table)


def _amount(epsilon: Fraction, delta: Fraction, rounding: str) -> str:
    """To six digits, so rounded that nobody counts on budget that is not there."""
    six = Context(prec=6, rounding=rounding)
    shown = (six.divide(Decimal(e.numerator), Decimal(e.denominator)) for e in (epsilon, delta))
    return "ε {:g}, δ {:g}".format(*map(float, shown))
