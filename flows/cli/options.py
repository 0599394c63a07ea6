"""Arguments and options shared by several commands."""

from pathlib import Path
from typing import Annotated

import typer

SpecArgument = Annotated[
    Path, typer.Argument(help="The release spec, a YAML file.", metavar="SPEC")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Continue a run that was started before under this name.")
]
ProcessesOption = Annotated[
    int, typer.Option(help="Number of Dask worker processes; 0: threads of this process.", min=0)
]
SchedulerOption = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--folder", help="Where relative sources start; default: the spec's folder."),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder in which the release folder is made; default: HALLMARK_RELEASES, else "
        "releases.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show the orchestrator's log.")]
