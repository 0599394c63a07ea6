"""`hallmark ledger restored`: go on with a ledger that was put back from a copy."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.anchors import AccountArgument
from hallmark.flows.cli.caps import ChangedDeltaOption, EpsilonOption, RhoOption, changed_cap
from hallmark.flows.screen import say
from hallmark.tasks.installation.workspace import ledger_url


def restored(
    account: AccountArgument,
    reason: Annotated[str, typer.Option("--reason", help="What happened, and who decided this.")],
    releases: Annotated[
        list[Path] | None,
        typer.Option("--releases", help="A folder of published releases; repeatable."),
    ] = None,
    epsilon: EpsilonOption = None,
    delta: ChangedDeltaOption = None,
    rho: RhoOption = None,
) -> None:
    """Accept a ledger that was restored from a backup: enter again what published releases prove to
    have spent, and record for good what else it lacks.

    --epsilon or --rho say what the cap was, where it was raised since the backup.
    """
    from hallmark.schemas.documents.manifest import MANIFEST_FILE
    from hallmark.tasks.ledger.anchors import open_ledger
    from hallmark.tasks.ledger.rollback import unanswered_since
    from hallmark.tasks.lost_charges import account_for

    if not reason.strip():
        raise typer.BadParameter("give a reason", param_hint="--reason")
    if not releases and unanswered_since(account):
        raise typer.BadParameter(
            "give the folder of everything that was published since the backup; an empty one, if "
            "there is nothing",
            param_hint="--releases",
        )
    for folder in releases or ():
        if not folder.is_dir() or (folder / MANIFEST_FILE).exists():
            raise typer.BadParameter(
                f"{folder} is no folder that holds release folders", param_hint="--releases"
            )
    book, cap = open_ledger(ledger_url()), None
    if delta is not None and epsilon is None and rho is None:
        raise typer.BadParameter("is of a cap; give --epsilon or --rho, too", param_hint="--delta")
    if epsilon is not None or rho is not None:
        cap = changed_cap(book.account(account), epsilon, rho, delta)
    done = account_for(book, account, releases or (), by=getpass.getuser(), reason=reason, cap=cap)
    for proof in done.entered:
        say(
            f"Entered: {proof.release} spent epsilon {proof.budget.epsilon}, delta "
            f"{proof.budget.delta}, as {proof.folder} proves. Nothing more can be drawn for it."
        )
    if not done.lost:
        known = "has all entries that are known here"
        say(f"{account} {known}; {'nothing else' if done.entered else 'nothing'} was written.")
        return
    say(
        f"Recorded: {account} continues with {done.entries} entries, and {done.lost} known heads "
        "are lost. Releases on this account will say so."
    )
    if not done.entries:
        say(
            "The account is gone. Open it with the cap and the terms that it had (hallmark ledger "
            "open), and run this command again, to enter what its releases prove."
        )
    say(
        "Runs that drew and published nothing left no proof: look for `reserved` in the log, and "
        "lower the cap by their budgets before the next release: "
        f"hallmark ledger cap {account} --epsilon CAP --delta CAP --reason WHY"
    )
