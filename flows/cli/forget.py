"""`hallmark forget`: remove what was kept of a private table for its steward."""

from typing import Annotated

import typer

from hallmark.flows.screen import say


def forget(
    release: Annotated[str, typer.Argument(help="Name of the release.", metavar="RELEASE")],
) -> None:
    """Remove from a release's workspace the pages that show or count private records."""
    from hallmark.tasks.installation.workspace import Workspace, workspaces_place

    workspace = Workspace.at(release)
    if workspace.path.parent != workspaces_place() or not workspace.path.is_dir():
        raise typer.BadParameter(f"there is no workspace of a release {release!r} here")
    removed = workspace.forget()
    say(f"Removed {', '.join(removed)}." if removed else "Nothing was kept.")
