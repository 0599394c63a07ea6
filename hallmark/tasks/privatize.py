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

from hallmark.mechanisms.contract import Measurements
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.tasks.counting import DaskCounter
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.rollback import refuse_rolled_back
from hallmark.tasks.spec.prepare import Prepared, PreparedCertificate, PreparedRelease

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Asked(Generic[Result]):
    """The result of a private stage, and the transcript of its questions and answers. Public."""

    result: Result
    transcript: Transcript


@task(name="select")
def select(
    prepared: PreparedRelease, files: Sequence[Path], ledger: str, workspace: Workspace
) -> Asked[Any]:
    """What to measure: a public choice, or private rounds that the curator charges."""
    return _ask("select", prepared, files, ledger, workspace, prepared.mechanism.select)


@task(name="privatize")
def privatize(
    prepared: PreparedRelease,
    selection: Any,
    files: Sequence[Path],
    ledger: str,
    workspace: Workspace,
) -> Asked[Measurements]:
    """The noisy measurements, drawn once for the release and read back ever after."""

    def measure(curator: Transcribing, plan: Any) -> Measurements:
        return prepared.mechanism.measure(curator, plan, selection)

    return _ask("privatize", prepared, files, ledger, workspace, measure)


@task(name="privatize")
def measure_to_certify(
    prepared: PreparedCertificate, files: Sequence[Path], ledger: str, workspace: Workspace
) -> Asked[Measurements]:
    """What a certificate alone rests on, drawn once and read back ever after."""
    measure = prepared.certifier.measure
    return _ask("privatize", prepared, files, ledger, workspace, measure)


def _ask(
    stage: str,
    prepared: Prepared,
    files: Sequence[Path],
    ledger: str,
    workspace: Workspace,
    ask: Callable[[Transcribing, Any], Result],
) -> Asked[Result]:
    book = open_ledger(ledger)
    refuse_rolled_back(book, prepared.spec.population.account)
    curator = Curator(
        counter=DaskCounter(tuple(files), Client.current()),
        ledger=book,
        release=prepared.spec.release,
        adjacency=prepared.plan.adjacency,
        budget=prepared.plan.budget,
    )
    transcribing = Transcribing(curator)
    result = guarded(stage, workspace.path, ask)(transcribing, prepared.plan)
    return Asked(result, transcribing.transcript)
