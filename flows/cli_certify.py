"""`hallmark certify`: a certificate for records made elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from flows import quiet
from flows.cli_options import (
    FolderOption,
    JsonOption,
    ProcessesOption,
    ResumeOption,
    SchedulerOption,
    VerboseOption,
)
from flows.cli_running import stoppable, tell_ending


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
    from schemas.loading import load_spec

    known = load_spec(spec, folder)  # a wrong spec is refused before anything else happens
    quiet.configure(verbose=verbose)
    from tasks.accounts import refuse_without_account
    from tasks.anchors import open_ledger
    from tasks.workspace import ledger_url

    refuse_without_account(known, open_ledger(ledger_url()), out)
    starting = quiet.start_orchestrator()
    from flows import (
        cluster,
    )  # first: the cluster's library stays quiet if it is imported before Prefect
    from flows.certify import certify as flow
    from flows.terminal_progress import progress_shown
    from tasks.places import out_folder
    from tasks.prepare import prepare_certificate

    with stoppable(), progress_shown(enabled=not as_json):
        prepare_certificate(spec, file, folder)
        starting.join()
        run = cluster.on_cluster(flow, processes=processes, scheduler=scheduler)
        start = str(folder) if folder else None
        where = str(out_folder(out and out.absolute(), otherwise="certificates"))
        ending = run(spec=str(spec), file=str(file), out=where, resume=resume, folder=start)
    tell_ending(ending, as_json=as_json)
