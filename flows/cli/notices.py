"""`hallmark supersede` and `withdraw`: signed notices about releases that were published."""

from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.options import ReleaseFolder
from hallmark.flows.screen import say

ReasonOption = Annotated[
    str, typer.Option("--reason", help="Why, for everybody who uses the release.")
]


def supersede(
    folder: ReleaseFolder,
    by: Annotated[
        Path, typer.Argument(help="The folder of the release that takes its place.", metavar="BY")
    ],
    reason: ReasonOption,
) -> None:
    """Give signed notice that one published release took the place of another.

    A revision gives it by itself when it is published. The notice and a page lie beside the
    folders, in which nothing changes.
    """
    from hallmark.tasks import notices

    file = notices.supersede(folder, by, reason=reason)
    say(f"Wrote {file} and {file.with_suffix('.md')}: publish them where the release is.")


def withdraw(folder: ReleaseFolder, reason: ReasonOption) -> None:
    """Give signed notice that a published release is withdrawn; it cannot be taken back.

    Whoever verifies the release is told so, and later periods of a series learn from it no more.
    No budget comes back. The notice and a page lie beside the folder, in which nothing changes.
    """
    from hallmark.tasks.notices import withdraw_published

    file = withdraw_published(folder, reason=reason)
    say(f"Wrote {file} and {file.with_suffix('.md')}: publish them where the release is.")
