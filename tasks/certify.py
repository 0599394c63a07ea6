"""Certify synthetic records against the measurements they came from.

Runs in the process of the flow and maps its simulations over the workers, as a task on a worker
would wait for a worker.
"""

from distributed import Client
from prefect import task

from mechanisms.contract import Certificate, Measurements
from tasks.compute import DaskCompute
from tasks.generate import SyntheticFile
from tasks.prepare import Prepared
from tasks.progress import reporter
from tasks.workspace import home, private_folder


@task(name="certify")
def certify(
    prepared: Prepared, measurements: Measurements, synthetic: SyntheticFile
) -> Certificate:
    """Bounds on the distance to the private data, from released numbers only."""
    cache = private_folder(home() / "cache" / "quantiles")
    return prepared.mechanism.certify(
        prepared.plan,
        measurements,
        synthetic.load(),
        confidence=float(prepared.spec.certificate.confidence),
        rng=prepared.rng("certify"),
        compute=DaskCompute(Client.current(), cache, reporter("certify")),
    )
