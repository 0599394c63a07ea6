"""Post-process noisy measurements into synthetic records, on a worker."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from prefect import task

from mechanisms.checkpoint import FileCheckpoint
from mechanisms.contract import Measurements, SyntheticMeasure
from mechanisms.rules import Rules
from tasks.prepare import Prepared
from tasks.progress import reporter
from tasks.workspace import Workspace, whole


@dataclass(frozen=True)
class SyntheticFile:
    """Where synthetic codes and the generator's history lie; passed instead of the records."""

    path: Path

    def load(self) -> SyntheticMeasure:
        """The synthetic records."""
        history = json.loads(self.path.with_suffix(".json").read_text())
        return SyntheticMeasure(codes=np.load(self.path), history=history)


@task(name="generate")
def generate(prepared: Prepared, measurements: Measurements, workspace: Workspace) -> SyntheticFile:
    """Synthetic records in cell codes that obey the spec's edit rules.

    Sees no private data: the measurements are noisy, and the rules are public. Whatever mechanism
    made the records, those that break a rule are moved to the nearest that break none; the history
    says how many.
    """
    rows = prepared.spec.output.rows
    synthetic = prepared.mechanism.generate(
        prepared.plan,
        measurements,
        rows=None if rows == "same" else rows,
        rng=prepared.rng("generate"),
        progress=reporter("generate"),
        checkpoint=FileCheckpoint(workspace.path / "generating.npz"),
    )
    synthetic = obedient(synthetic, prepared.plan.domain.rules, prepared.rng("rules"))
    file = SyntheticFile(workspace.path / "synthetic.npy")
    # Dask may run this again, to the same end, while a later stage reads the files.
    with whole(file.path.with_suffix(".json")) as draft:
        draft.write_text(json.dumps(dict(synthetic.history)))
    with whole(file.path) as draft:
        np.save(draft, synthetic.codes)
    return file


MOVED = "records_moved_to_obey_rules"


def obedient(
    synthetic: SyntheticMeasure, rules: Rules, rng: np.random.Generator
) -> SyntheticMeasure:
    """The records with those that break a rule moved; what determines what, they say themselves.

    A mechanism that has settled that already is not contradicted, for then its records agree.
    """
    if not rules:
        return synthetic
    codes = rules.repair(synthetic.codes, rng)
    moved = int((codes != synthetic.codes).any(axis=1).sum())
    return replace(synthetic, codes=codes, history={**synthetic.history, MOVED: moved})
