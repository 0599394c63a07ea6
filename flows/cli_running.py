"""How the commands that run a flow end."""

import json
from typing import TYPE_CHECKING

import typer

from flows.exits import ExitCode

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from schemas.approvals import Waiting
    from tasks.publish import Published


def tell_ending(ending: "Published | Waiting", *, as_json: bool = False) -> None:
    """Print how a run ended; one that waits exits with a code of its own."""
    from flows.endings import in_words
    from flows.terminal import print_published
    from schemas.approvals import Waiting

    if isinstance(ending, Waiting):
        typer.echo(ending.model_dump_json(indent=1) if as_json else in_words(ending))
        raise typer.Exit(ExitCode.WAITING)
    if as_json:
        typer.echo(json.dumps(ending.to_json(), indent=1))
    else:
        print_published(ending)
