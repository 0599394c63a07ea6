"""The command line, `hallmark`: from a spec skeleton to a published, verified release."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows import quiet
from flows.cli_evaluate import evaluate
from flows.cli_ledger import ledger_app
from flows.exits import ExitCode, exit_code_of

app = typer.Typer(
    name="hallmark",
    help="Publish differentially private synthetic data with a certificate, an audit report and a "
    "signature.\n\nStart with `init`, fill in the spec, then `validate`, `plan` and `release`; "
    "hand `verify` and the report to the reviewer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Exit codes: 0 done, 2 wrong usage or spec, 3 the data break the spec, 4 the budget "
    "refuses, 5 the result failed a check, 6 verification failed, 1 anything else.",
)
app.add_typer(ledger_app, name="ledger")

SpecArgument = Annotated[
    Path, typer.Argument(help="The release spec, a YAML file.", metavar="SPEC")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command()
def init(
    source: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file (only its header is read), or a data dictionary in JSON.",
            metavar="HEADER|DICTIONARY",
            exists=True,
            dir_okay=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write it; default: the screen.")
    ] = None,
) -> None:
    """Write the skeleton of a spec; every bound is left for you to fill in."""
    if out is not None and out.exists():
        raise typer.BadParameter(f"{out} exists; name another file, nothing was written")
    text = _skeleton(source, spec_folder=Path() if out is None else out.parent)
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {out}. Fill in every FILL_IN, then: hallmark validate {out}")


@app.command()
def validate(
    spec: SpecArgument,
    data: Annotated[
        bool, typer.Option("--data", help="Check the private table too; counts stay internal.")
    ] = False,
) -> None:
    """Check a spec; with --data, check the private table against it."""
    quiet.configure()
    from tasks.prepare import prepare

    prepared = prepare(spec)
    for warning in prepared.spec.warnings():
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"{spec}: the spec is complete, with {len(prepared.spec.columns)} columns")
    if data:
        from flows.terminal import print_findings
        from tasks.validate import check_table

        findings = check_table(prepared)
        print_findings(findings)
        if any(finding.failing for finding in findings):
            raise typer.Exit(ExitCode.DATA)


@app.command()
def plan(spec: SpecArgument, as_json: JsonOption = False) -> None:
    """Show what a release will cost and how good it will be; reads no private byte."""
    quiet.configure()
    from flows.terminal import print_plan
    from tasks.prepare import prepare
    from tasks.summary import plan_summary

    summary = plan_summary(prepare(spec))
    if as_json:
        typer.echo(json.dumps(summary, indent=1))
    else:
        print_plan(summary)


@app.command()
def release(
    spec: SpecArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder in which the release folder is made.")
    ] = Path("releases"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a release that was started before.")
    ] = False,
    processes: Annotated[
        int, typer.Option(help="Dask worker processes; 0: threads of this process.", min=0)
    ] = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
    ] = None,
    as_json: JsonOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the orchestrator's log.")
    ] = False,
) -> None:
    """Run a release and publish it."""
    from schemas.loading import load_spec

    load_spec(spec)  # a wrong spec is refused before anything else happens
    quiet.configure(verbose=verbose)
    starting = quiet.start_orchestrator()
    from flows.cluster import on_cluster
    from flows.release import release as flow
    from flows.terminal import print_published, progress_shown
    from tasks.prepare import prepare

    with progress_shown(enabled=not as_json):
        prepare(spec)
        starting.join()
        run = on_cluster(flow, processes=processes, scheduler=scheduler)
        published = run(spec=str(spec), out=str(out), resume=resume)
    if as_json:
        typer.echo(json.dumps(published.to_json(), indent=1))
    else:
        print_published(published)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="FOLDER")],
    key: Annotated[
        Path | None, typer.Option("--key", help="The agency's public key (PEM), to be sure whose.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release offline: signature, files, claims, data; exit 6 if anything is wrong."""
    from flows.terminal import print_verification
    from tasks.verification import verify_release

    verification = verify_release(folder, key)
    if as_json:
        typer.echo(json.dumps(verification.to_json(), indent=1))
    else:
        print_verification(verification)
    if not verification.ok:
        raise typer.Exit(ExitCode.VERIFICATION)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="FOLDER")],
    render: Annotated[
        Path | None,
        typer.Option("--render", help="Render the JSON twin anew into this file instead."),
    ] = None,
) -> None:
    """Open the audit report in a browser, or render it anew from its JSON twin."""
    from flows.reports import open_report, render_again

    if render is None:
        typer.echo(f"Opening {open_report(folder)}")
    else:
        render_again(folder, render)
        typer.echo(f"Wrote {render}")


app.command()(evaluate)


def main() -> None:
    """Run the command line; errors of users end in one message and an exit code."""
    try:
        app()
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        typer.secho(f"error: {_in_words(error)}", err=True, fg=typer.colors.RED)
        sys.exit(code)


def _skeleton(source: Path, *, spec_folder: Path) -> str:
    from schemas.skeleton import (
        SkeletonError,
        skeleton_from_columns,
        skeleton_from_dictionary,
        skeleton_from_header,
    )

    located = os.path.relpath(source, spec_folder)  # a spec names its data relative to itself
    match source.suffix.lower():
        case ".json":
            return skeleton_from_dictionary(source)
        case ".parquet" | ".pq":
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                names = pq.read_schema(source).names
            except (OSError, pa.ArrowException):
                raise SkeletonError(
                    f"{source}: cannot be read as a Parquet file; name one, or a data dictionary"
                ) from None
            return skeleton_from_columns(names, source=located)
        case _:
            return skeleton_from_header(source, source=located)


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}"
    return str(error)
