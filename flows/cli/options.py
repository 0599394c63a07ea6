"""Arguments and options shared by several commands."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer


class NoSuchSpec(Exception):
    """There is no file at the path of a spec."""


def _there(spec: Path) -> Path:
    """The path, refused before anything is imported that takes long to."""
    if not spec.exists():
        from hallmark.schemas.yaml_document import NO_SUCH_FILE

        raise NoSuchSpec(f"{spec}: {NO_SUCH_FILE}")
    return spec


SpecArgument = Annotated[
    Path,
    typer.Argument(help="The release spec, a YAML file.", metavar="SPEC", callback=_there),
]
ReleaseFolder = Annotated[Path, typer.Argument(help="A release folder.", metavar="FOLDER")]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder in which the release folder is made; default: HALLMARK_RELEASES, else "
        "releases.",
    ),
]
CsvFileOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="The CSV file to write; one that is there is replaced."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
ConfidenceOption = Annotated[
    float, typer.Option("--confidence", help="Of each interval, between 0 and 1.")
]
SimultaneousOption = Annotated[
    bool,
    typer.Option(
        "--simultaneous",
        help="Widen the intervals so that all hold at once, those of all questions.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a command runs its flow."""

    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue a run that was started before under this name."),
    ] = False
    processes: Annotated[
        int,
        typer.Option(help="Number of Dask worker processes; 0: threads of this process.", min=0),
    ] = 0
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
    ] = None
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Where relative sources start; default: the spec's folder."),
    ] = None
    as_json: JsonOption = False
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the orchestrator's log.")] = False


def taking(shared: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator of a command that takes the options of `shared`, too.

    The command's last parameter gets what `shared` makes of them.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        *own, last = signature(command).parameters.values()
        added = signature(shared).parameters

        @wraps(command)
        def run(**given: Any) -> None:
            made = shared(**{name: given.pop(name) for name in added})
            command(**given, **{last.name: made})

        every = [*own, *added.values()]
        run.__signature__ = Signature(  # type: ignore[attr-defined]  # what typer reads
            [one.replace(kind=one.KEYWORD_ONLY) for one in every]
        )
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorated
