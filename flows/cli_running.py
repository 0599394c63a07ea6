"""What the commands that run a flow have in common: their options, and how they end."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.exits import ExitCode

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from schemas.approvals import Waiting
    from tasks.publish import Published

SpecArgument = Annotated[
    Path, typer.Argument(help="The release spec, a YAML file.", metavar="SPEC")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with what was started before under this name.")
]
ProcessesOption = Annotated[
    int, typer.Option(help="Dask worker processes; 0: threads of this process.", min=0)
]
SchedulerOption = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--folder", help="Where relative sources start; default: the spec's folder."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show the orchestrator's log.")]


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
