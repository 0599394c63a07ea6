"""Make replicate weights for the released records, on the workers.

Nothing private has a part in it: the mechanism runs again on the records that are released, with
simulated noise. The task runs in the process of the flow and maps its runs over the workers. What
each run ended in lies in the workspace, so a resumed release goes on where it stopped.
"""

import hashlib
from dataclasses import dataclass
from functools import partial

import numpy as np
from distributed import Client
from prefect import task

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.checkpoint import FileCheckpoint
from hallmark.mechanisms.contract import Measurements, SyntheticMeasure
from hallmark.mechanisms.inference.blue import LinearQuery, NotMeasured
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.mechanisms.replicates.calibration import Calibration, calibrated
from hallmark.mechanisms.replicates.rerun import Rerun, Rerunning, as_many
from hallmark.mechanisms.replicates.weights import LANES, Weighing, drawn, with_sampling
from hallmark.tasks.generate import SyntheticFile, synthetic_records
from hallmark.tasks.installation.compute import DaskCompute
from hallmark.tasks.installation.progress import reporter
from hallmark.tasks.installation.workspace import Workspace, private_folder
from hallmark.tasks.output.replicates import ReplicateWeights, write_replicates
from hallmark.tasks.planning.prepared import PreparedRelease

_BLOCK = LANES  # replicates that one worker makes in a row


@task(name="replicate")
def replicate(
    prepared: PreparedRelease,
    synthetic: SyntheticFile,
    transcript: Transcript,
    workspace: Workspace,
) -> None:
    """Weights of the released records for the noise, and for noise and sampling, in the staging
    folder."""
    asked = prepared.spec.output.replicates
    assert asked is not None, "the spec asks for them"
    codes = synthetic.load().codes
    records = _records_of(transcript, len(codes))
    job = _Job(prepared, synthetic, records, workspace)
    numbers = list(range(1, asked.number + 1))
    blocks = [numbers[i : i + _BLOCK] for i in range(0, len(numbers), _BLOCK)]
    compute = DaskCompute(Client.current(), None, reporter("replicate"))
    rerun = partial(_rerun_block, job)
    reruns = [
        one
        for block in compute.map(rerun, blocks, doing="running the mechanism again")
        for one in block
    ]
    pairs, weight = prepared.pairs, records / len(codes)
    released, stood_for = weight * pairs.counts(codes), pairs.counts(job.stood_for(codes))
    estimates = Estimator.of(transcript)
    calibration = calibrated(
        pairs,
        estimates.tables,
        estimates.total,
        released=released,
        stood_for=stood_for,
        reruns=reruns,
    )
    weigh = partial(_weigh_block, job, calibration, released, stood_for)
    parts = [[(number, reruns[number - 1]) for number in block] for block in blocks]
    sets = list(compute.map(weigh, parts, doing="weighing the records"))
    write_replicates(
        ReplicateWeights(
            weight=np.full(len(codes), weight),
            noise=np.column_stack([noise for noise, _ in sets]),
            sampling=np.column_stack([sampling for _, sampling in sets]),
            stretch=calibration.stretch,
            steepest=float(calibration.slopes.max()),
        ),
        workspace.staging,
        release=prepared.spec.release,
        formats=asked.formats,
    )


@dataclass(frozen=True, eq=False)
class _Job:
    """What every run needs. Public; pickles.

    Attributes:
        records: number of private records, as estimated or public.
    """

    prepared: PreparedRelease
    synthetic: SyntheticFile
    records: int
    workspace: Workspace

    def stood_for(self, codes: AnyCodes) -> AnyCodes:
        """The records that stand for the private ones."""
        return as_many(codes, self.records, self.prepared.rng("rerun"))

    def checkpoint(self, number: int) -> FileCheckpoint:
        """Where a run leaves what it ended in."""
        folder = private_folder(self.workspace.path / "reruns")
        return FileCheckpoint(folder / f"{number}.npz")


def _records_of(transcript: Transcript, otherwise: int) -> int:
    """The number of private records: public, or estimated from all that was measured."""
    if transcript.total is not None:
        return transcript.total
    try:
        found = Estimator.of(transcript).estimates([LinearQuery((), np.ones(()))])
    except NotMeasured:
        return otherwise
    return max(1, round(float(found.values[0])))


def _rerun_block(job: _Job, numbers: list[int]) -> list[Rerun]:
    codes = job.synthetic.load().codes
    made_of = repr(job.prepared.pairs).encode() + np.ascontiguousarray(codes).tobytes()
    key = hashlib.sha256(made_of).hexdigest()
    prepared, found = job.prepared, []
    mechanism, plan = prepared.mechanism, prepared.plan

    def generate(measurements: Measurements, rng: np.random.Generator) -> SyntheticMeasure:
        return synthetic_records(mechanism, plan, measurements, rows=None, rng=lambda purpose: rng)

    rerunning = Rerunning(
        mechanism=mechanism,
        plan=plan,
        records=job.stood_for(codes),
        pairs=prepared.pairs,
        generate=generate,
    )
    for number in numbers:
        checkpoint = job.checkpoint(number)
        kept = checkpoint.load(key)
        if kept is None:
            one = rerunning.rerun(prepared.rng(f"rerun {number}"))
            checkpoint.save(key, {"tables": one.tables, "answers": one.answers})
        else:
            one = Rerun(kept["tables"], kept["answers"])
        found.append(one)
    return found


def _weigh_block(
    job: _Job,
    calibration: Calibration,
    released: Floats,
    stood_for: Floats,
    block: list[tuple[int, Rerun]],
) -> tuple[Floats, Floats]:
    codes = job.synthetic.load().codes
    weighing = Weighing.of(
        job.prepared.pairs, codes, weight=job.records / len(codes), urgent=calibration.slopes
    )
    changes = [calibration.stretched(one.tables - stood_for) for _, one in block]
    size = len(codes)
    starts = [drawn(job.records, size, job.prepared.rng(f"start {number}")) for number, _ in block]
    noise = weighing.weights([released + change for change in changes], np.column_stack(starts))
    sampling = [
        with_sampling(weights, job.records, job.prepared.rng(f"sampling {number}"))
        for (number, _), weights in zip(block, noise.T, strict=True)
    ]
    return noise, np.column_stack(sampling)
