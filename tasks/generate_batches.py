"""Make the records of a large table in batches, on all workers.

A worker fits the measurements, and all workers draw batches, each the same wherever and whenever it
is drawn: a worker that dies changes nothing, and a run that is resumed goes on with the batches
that are there. Nothing here sees private data.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from prefect import task

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.batches import batch_sizes
from hallmark.mechanisms.checkpoint import FileCheckpoint
from hallmark.mechanisms.compute import Compute
from hallmark.mechanisms.contract import Fit, Fitting, Measurements
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import Execution, part
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.generate import MOVED, SyntheticFile, obedient
from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.compute import DaskCompute
from hallmark.tasks.installation.progress import reporter
from hallmark.tasks.installation.workspace import Workspace, private_folder
from hallmark.tasks.planning.prepared import PreparedRelease, stage_rng

_FITTED = 0.3  # progress when batches begin


@task(name="fit")
def fit(prepared: PreparedRelease, measurements: Measurements, workspace: Workspace) -> Fit:
    """What batches of records are drawn from."""
    mechanism = prepared.mechanism
    assert isinstance(mechanism, Fitting), "where the plan says so"
    return mechanism.fit(
        prepared.plan,
        measurements,
        rng=prepared.rng("generate"),
        execution=Execution(
            progress=part(reporter("generate"), 0.0, _FITTED),
            checkpoint=FileCheckpoint(workspace.path / "generating.npz"),
        ),
    )


@task(name="generate")
def generate_batches(
    spec: ReleaseSpec,
    domain: Domain,
    fitted: Fit,
    measurements: Measurements,
    workspace: Workspace,
) -> SyntheticFile:
    """As `drawn`, on the workers; runs in the process of the flow."""
    compute = DaskCompute(Client.current(), None, part(reporter("generate"), _FITTED, 1.0))
    return drawn(spec, domain, fitted, measurements, workspace, compute)


def drawn(
    spec: ReleaseSpec,
    domain: Domain,
    fitted: Fit,
    measurements: Measurements,
    workspace: Workspace,
    compute: Compute,
) -> SyntheticFile:
    """Records that obey the edit rules of the domain, batch by batch.

    Args:
        fitted: to the measurements.
    """
    shape = (spec.records or fitted.rows, len(domain))
    sizes = batch_sizes(*shape)
    folder = private_folder(workspace.path / "batches")
    key = _key(spec, measurements, sizes)
    draw = partial(_draw, spec.release, domain, fitted, folder, key)
    batches = list(compute.map(draw, list(enumerate(sizes)), doing="making batches of records"))
    file = SyntheticFile(workspace.path / "synthetic.npy")
    every = (batch.codes() for batch in batches)
    file.save_batches(every, shape, _kind(domain), _history(batches))
    shutil.rmtree(folder)
    return file


@dataclass(frozen=True, eq=False)
class _Batch:
    """Where the records of a batch lie, and what making them did."""

    path: Path
    key: str
    history: Mapping[str, Any]

    def codes(self) -> AnyCodes:
        kept = FileCheckpoint(self.path).load(self.key)
        assert kept is not None, "it was drawn"
        return kept["codes"]


def _draw(
    release: str, domain: Domain, fitted: Fit, folder: Path, key: str, batch: tuple[int, int]
) -> _Batch:
    """A batch of so many records, unless it lies there."""
    number, rows = batch
    path = folder / f"{number:06d}.npz"
    checkpoint = FileCheckpoint(path)
    kept = checkpoint.load(key)
    if kept is None:
        made = fitted.batch(rows, stage_rng(release, f"generate {number}"))
        made = obedient(made, domain.rules, stage_rng(release, f"rules {number}"))
        kept = {
            "codes": np.asfortranarray(made.codes, dtype=_kind(domain)),
            "history": np.array(json.dumps(dict(made.history))),
        }
        checkpoint.save(key, kept)
    return _Batch(path, key, json.loads(str(kept["history"])))


def _kind(domain: Domain) -> np.dtype[Any]:
    """The smallest type of numbers that all codes fit in."""
    return np.min_scalar_type(max(domain.shape) - 1)


def _key(spec: ReleaseSpec, measurements: Measurements, sizes: Sequence[int]) -> str:
    """A digest of all that the batches depend on."""
    told = hashlib.sha256(f"{spec.digest()} {code_digest()} {sizes}".encode())
    for tables in measurements.tables.values():
        for table in tables:
            told.update(np.ascontiguousarray(table).tobytes())
    return told.hexdigest()


def _history(batches: Sequence[_Batch]) -> Mapping[str, Any]:
    """That of the first batch, with what was done to all of them."""
    histories = [batch.history for batch in batches]
    moved = {MOVED: sum(h[MOVED] for h in histories)} if MOVED in histories[0] else {}
    return {**histories[0], **moved, "batches": len(batches)}
