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

    Reads no private byte and spends no budget. The report of a release of the spec shows the
    result. Exits with 6 where an attack is right more often than the accountant allows.
    """
    quiet.configure()
    from hallmark.tasks import privacy_audit
    from hallmark.tasks.planning.prepare import prepare
    from hallmark.tasks.rendering.wording import percent

    prepared = prepare(spec)
    found = list(privacy_audit.audit_privacy(prepared, runs))
    kept = privacy_audit.record_audit(prepared, found)
    if as_json:
        attacks = [one.to_json() for one in found]
        say_json(kept.model_dump(mode="json") | {"attacks": attacks})
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
        line("Kept for the report of a release of this spec.")
    if any(one.broken for one in found):
        raise typer.Exit(ExitCode.VERIFICATION)
