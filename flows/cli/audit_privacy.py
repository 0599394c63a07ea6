"""`hallmark audit-privacy`: attack the mechanism of a spec on made-up tables."""

from typing import Annotated

import typer

from hallmark.flows import quiet
from hallmark.flows.cli.exits import ExitCode
from hallmark.flows.cli.options import JsonOption, SpecArgument
from hallmark.flows.screen import line, say_json, table


def audit_privacy(
    spec: SpecArgument,
    runs: Annotated[
        int, typer.Option(min=100, max=1_000_000, help="Attacks for each number of units.")
    ] = 1000,
    as_json: JsonOption = False,
) -> None:
    """Attack the mechanism's own noise on made-up tables, and hold it against what is claimed.

    Reads no private byte and spends no budget. Exits with 6 where an attack is right more often
    than the accountant allows.
    """
    quiet.configure()
    from hallmark.tasks import privacy_audit
    from hallmark.tasks.planning.prepare import prepare
    from hallmark.tasks.rendering.wording import percent

    found = list(privacy_audit.audit_privacy(prepare(spec), runs))
    if as_json:
        say_json({"confidence": privacy_audit.CONFIDENCE, "attacks": [a.to_json() for a in found]})
    else:
        table(
            ("tables differ in", "guesses right", "surely at least", "allowed at most"),
            (
                (
                    f"{one.units} unit{'s' if one.units > 1 else ''}",
                    f"{percent(one.right / one.runs)} of {one.runs:,}",
                    percent(one.least),
                    percent(one.allowed, up=True),
                )
                for one in found
            ),
            title="Attacks",
        )
        if any(one.broken for one in found):
            line(("BROKEN", "red"), "  less noise is drawn than is stated; do not release")
        else:
            line("No attack is surely right more often than is allowed; a coin is right in 50 %.")
    if any(one.broken for one in found):
        raise typer.Exit(ExitCode.VERIFICATION)
