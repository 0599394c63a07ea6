"""`hallmark alerts`: let the Prefect server alert people when something needs attention."""

import os
from fractions import Fraction
from typing import Annotated

import typer

from hallmark.flows.screen import say


def alerts(
    webhook: Annotated[
        str | None, typer.Option(help="URL to which JSON is sent by POST.", metavar="URL")
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="A notification block of the server, such as slack-webhook/reviewers.",
            metavar="TYPE/NAME",
        ),
    ] = None,
    budget_below: Annotated[
        str, typer.Option(help="Share of an account's cap, in whole percent.", metavar="SHARE")
    ] = "1/10",
    remove: Annotated[bool, typer.Option("--remove", help="Remove all alerts.")] = False,
) -> None:
    """Set up alerts on failed runs, waiting approvals and low budgets; run again to change them."""
    if not os.environ.get("PREFECT_API_URL"):
        raise typer.BadParameter("PREFECT_API_URL is not set; start a server with: make up")
    try:
        share = Fraction(budget_below)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"--budget-below is {budget_below!r}; write it like 1/10 or 0.1"
        ) from None
    from hallmark.flows import quiet

    quiet.configure()
    from hallmark.flows.alerts import remove as take_off
    from hallmark.flows.alerts import set_up

    if remove:
        removed = take_off()
        for name in removed:
            say(f"Removed {name}")
        if not removed:
            say("There were no alerts.")
        return
    for name in set_up(webhook=webhook, block=block, budget_below=share):
        say(f"Watching: {name.removeprefix('hallmark: ')}")
