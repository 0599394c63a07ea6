"""The private stages: the only ones that get a curator, and so the only ones that draw noise.

They run in the process of the flow, never on a worker: Dask runs a task again behind everybody's
back when a worker dies, and the curator's log, not luck, is what makes a second run harmless.
Workers count; the curator adds the noise to the sums.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from distributed import Client
from prefect import task

from hallmark.mechanisms.certificates.alone import CertificateAlone
from hallmark.mechanisms.contract import Measurements, Mechanism
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.tasks.counting import DaskCounter
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.accounts import refuse_without_account
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.looks import answered

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Asked(Generic[Result]):
    """The result of a private stage, and the transcript of its questions and answers. Public."""

    result: Result
    transcript: Transcript


@task(name="select")
def select(job: Job, mechanism: Mechanism, files: Sequence[Path]) -> Asked[Any]:
    """What to measure: a public choice, or private rounds that the curator charges."""
    return _ask("select", job, files, mechanism.select)


@task(name="privatize")
def privatize(
    job: Job, mechanism: Mechanism, selection: Any, files: Sequence[Path]
) -> Asked[Measurements]:
    """The noisy measurements, drawn once for the release and read back ever after."""

    def measure(curator: Transcribing, plan: Any) -> Measurements:
        return mechanism.measure(curator, plan, selection)

    return _ask("privatize", job, files, measure)


@task(name="privatize")
def measure_to_certify(
    job: Job, certifier: CertificateAlone, files: Sequence[Path]
) -> Asked[Measurements]:
    """What a certificate alone rests on, drawn once and read back ever after."""
    return _ask("privatize", job, files, certifier.measure)


def _ask(
    stage: str,
    job: Job,
    files: Sequence[Path],
    ask: Callable[[Transcribing, Any], Result],
) -> Asked[Result]:
    prepared, book = job.prepared, open_ledger(job.ledger)
    refuse_without_account(prepared.spec, book, job.out)
    curator = Curator(
        counter=DaskCounter(tuple(files), Client.current()),
        ledger=book,
        release=job.release,
        adjacency=prepared.plan.adjacency,
        budget=prepared.plan.budget,
    )
    transcribing = Transcribing(curator)
    result = guarded(stage, job.workspace.path, ask)(transcribing, prepared.plan)
    if transcribing.transcript.entries:
        answered(job.workspace)
    return Asked(result, transcribing.transcript)
