"""`hallmark backup` and `hallmark restore`: an installation in one file."""

import os
from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.screen import say

FileArgument = Annotated[Path, typer.Argument(help="The backup, a tar file.", metavar="FILE")]


def backup(
    file: FileArgument,
    work: Annotated[
        bool,
        typer.Option(
            "--work",
            help="Workspaces of releases, too. They hold private values: encrypt the file.",
        ),
    ] = False,
) -> None:
    """Write ledger, anchors and the history of runs to one file, for its owner alone."""
    from hallmark.tasks.backup import back_up

    done = back_up(file, work=work)
    entries = sum(head.entries for head in done.heads)
    say(f"Wrote {file}: {len(done.heads)} accounts with {entries} entries, all verified.")
    if database := os.environ.get("PREFECT_API_DATABASE_CONNECTION_URL"):
        kind = database.partition(":")[0].partition("+")[0]
        say(f"The history of runs is in a database of its own ({kind}); dump that with its tools.")
    say("Keys and passwords are not in it. Keep it as safe as the ledger, on another machine.")


def restore(file: FileArgument) -> None:
    """Put a backup back into an installation whose ledger is empty."""
    from hallmark.tasks.backup import put_back

    done = put_back(file)
    for name in done.kept:
        say(f"{name} was here already, and stays as it is.")
    accounts = [head.account for head in done.contents.heads]
    say(f"The ledger is that of {done.contents.at:%Y-%m-%d %H:%M} UTC, and verified.")
    say("What was released since must be charged before anything runs:")
    for account in accounts:
        say(f"  hallmark ledger restored {account} --releases FOLDER --reason WHY")
