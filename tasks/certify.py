"""Certify synthetic records, made here or elsewhere, by noisy measurements.

Runs in the process of the flow and maps its simulations over the workers, since a task on a worker
would have to wait for a worker.
"""

from functools import partial

from distributed import Client
from prefect import task

from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.execution import Execution
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.compute import DaskCompute
from hallmark.tasks.installation.progress import reporter
from hallmark.tasks.installation.workspace import Workspace, home, private_folder
from hallmark.tasks.planning.outside_records import OutsideRecordsRefused, read_outside_records
from hallmark.tasks.planning.prepared import PreparedCertificate, PreparedRelease, Product


@task(name="read")
def read(prepared: PreparedCertificate, workspace: Workspace) -> SyntheticFile:
    """The records to certify, in cell codes.

    Raises:
        OutsideRecordsRefused: the file has changed since the run began.
    """
    given, codes = read_outside_records(prepared.spec, prepared.file.path, prepared.folder)
    if given != prepared.file:
        raise OutsideRecordsRefused(
            f"{given.path}: changed since this run began; restore the file as it was then, and run "
            "again with --resume"
        )
    file = SyntheticFile(workspace.path / "given.npy")
    file.save(SyntheticMeasure(codes=codes))
    return file


@task(name="certify")
def certify(prepared: Product, measurements: Measurements, synthetic: SyntheticFile) -> Certificate:
    """Bounds on the distance to the private data, from released numbers only."""
    cache = private_folder(home() / "cache" / "quantiles")
    if isinstance(prepared, PreparedRelease):
        bounds = partial(prepared.mechanism.certify, prepared.plan)
    else:
        bounds = partial(prepared.certifier.certify, prepared.plan)
    return bounds(
        measurements,
        synthetic.load(),
        confidence=float(prepared.spec.certificate.confidence),
        rng=prepared.rng("certify"),
        execution=Execution(compute=DaskCompute(Client.current(), cache, reporter("certify"))),
    )
