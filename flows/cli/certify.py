"""`hallmark certify`: a certificate for records made elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.options import RunOptions, taking
from hallmark.flows.cli.running import run_flow


@taking(RunOptions)
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
    *,
    how: RunOptions,
) -> None:
    """Certify records made elsewhere, or by an earlier release, and publish the bounds.

    FILE must be public: its name, SHA-256, number of rows and distributions are published.
    """
    run_flow(spec, out, how, file)
