"""Certify synthetic records against the measurements they came from, on a worker."""

from prefect import task

from mechanisms.contract import Certificate, Measurements
from tasks.generate import SyntheticFile
from tasks.prepare import Prepared


@task(name="certify")
def certify(
    prepared: Prepared, measurements: Measurements, synthetic: SyntheticFile
) -> Certificate:
    """Bounds on the distance to the private data, from released numbers only."""
    return prepared.mechanism.certify(
        prepared.plan,
        measurements,
        synthetic.load(),
        confidence=float(prepared.spec.certificate.confidence),
        rng=prepared.rng("certify"),
    )
