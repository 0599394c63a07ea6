"""`hallmark certify`: a certificate for records made elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows import quiet
from hallmark.flows.cli.options import (
    FolderOption,
    JsonOption,
    ProcessesOption,
    ResumeOption,
    SchedulerOption,
    VerboseOption,
)
from hallmark.flows.cli.running import stoppable, tell_ending


def certify(
    spec: Annotated[
        Path, typer.Argument(help="A spec with mechanism certify, a YAML file.", metavar="SPEC")
    ],
    file: Annotated[
        Path,
        typer.Argument(help="The records to certify, a CSV or Parquet file.", metavar="FILE"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder in which the certificate's folder is made; default: HALLMARK_RELEASES, "
            "else certificates.",
        ),
    ] = None,
    resume: ResumeOption = False,
    processes: ProcessesOption = 0,
    scheduler: SchedulerOption = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Certify records made elsewhere, or by an earlier release, and publish the bounds.

    FILE must be public: its name, SHA-256, number of rows and distributions are published.
    """
    from hallmark.schemas.loading import load_spec

    known = load_spec(spec, folder)  # a wrong spec is refused before anything else happens
    quiet.configure(verbose=verbose)
    from hallmark.tasks.installation.workspace import ledger_url
    from hallmark.tasks.ledger.accounts import refuse_without_account
    from hallmark.tasks.ledger.anchors import open_ledger

    refuse_without_account(known, open_ledger(ledger_url()), out)
    with stoppable():
        starting = quiet.start_orchestrator()
        # first: the cluster's library stays quiet if it is imported before Prefect
        from hallmark.flows import cluster
        from hallmark.flows.certify import certify as flow
        from hallmark.flows.cli.terminal_progress import progress_shown
        from hallmark.tasks.installation.places import out_folder
        from hallmark.tasks.planning.prepare import prepare

        with progress_shown(enabled=not as_json):
            prepare(spec, folder).certifying(file)
            run = cluster.on_cluster(flow, processes=processes, scheduler=scheduler)
            start = str(folder) if folder else None
            where = str(out_folder(out and out.absolute(), otherwise="certificates"))
            with quiet.orchestrated(starting):
                ending = run(spec=str(spec), file=str(file), out=where, resume=resume, folder=start)
    tell_ending(ending, as_json=as_json)
