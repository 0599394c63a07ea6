"""Post-process noisy measurements into synthetic records, on a worker."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from prefect import task

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.checkpoint import FileCheckpoint
from hallmark.mechanisms.contract import Measurements, Mechanism, Plan, SyntheticMeasure
from hallmark.mechanisms.domain.multiplicity import NothingCommon, without_rare
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.rules.rules import joint_of
from hallmark.mechanisms.domain.totals import PublicTotals, hold
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.progress import reporter
from hallmark.tasks.installation.workspace import Workspace, whole
from hallmark.tasks.panel import linked
from hallmark.tasks.planning.prepared import PreparedRelease


@dataclass(frozen=True)
class SyntheticFile:
    """Where synthetic codes, the generator's history and what it keeps for the certificate lie;
    passed instead of the records."""

    path: Path

    def load(self) -> SyntheticMeasure:
        """The synthetic records; codes are read where they are used."""
        history = json.loads(self.path.with_suffix(".json").read_text())
        codes = np.load(self.path, mmap_mode="r", allow_pickle=False)
        with np.load(self.path.with_suffix(".npz")) as kept:
            return SyntheticMeasure(codes=codes, history=history, kept=dict(kept))

    def save(self, synthetic: SyntheticMeasure) -> None:
        """Leave them there. Dask may do this again, to the same end, while another stage reads."""
        self._save_beside(synthetic.history, synthetic.kept)
        with whole(self.path) as draft:
            np.save(draft, synthetic.codes)

    def save_batches(
        self,
        batches: Iterable[AnyCodes],
        shape: tuple[int, int],
        kind: np.dtype[Any],
        history: Mapping[str, Any],
    ) -> None:
        """Leave the records of all batches there, column by column; one batch is in memory.

        Args:
            shape: (rows of all together, attributes).
            kind: type of the codes.
        """
        self._save_beside(history, {})
        with whole(self.path) as draft:
            table = np.lib.format.open_memmap(
                draft, mode="w+", dtype=kind, shape=shape, fortran_order=True
            )
            end = 0
            for codes in batches:
                table[end : end + len(codes)] = codes
                end += len(codes)
            assert end == len(table), "every batch has the records that it was asked for"
            table.flush()

    def _save_beside(self, history: Mapping[str, Any], kept: Mapping[str, Floats]) -> None:
        with whole(self.path.with_suffix(".json")) as draft:
            draft.write_text(json.dumps(dict(history)))
        with whole(self.path.with_suffix(".npz")) as draft:
            np.savez(draft, **kept)  # type: ignore[arg-type]  # arrays, not flags


@task(name="generate")
def generate(
    prepared: PreparedRelease, measurements: Measurements, workspace: Workspace
) -> SyntheticFile:
    """Synthetic records in cell codes that obey the spec's edit rules and have its public totals.

    Sees no private data: the measurements are noisy, and rules and totals are public. Whatever
    mechanism made the records, those that break a rule are moved to the nearest that break none,
    and then as few as possible until the totals hold; the history says how many.

    Raises:
        TotalsUnreachable: the totals cannot hold with what noisy answers say determines what.
    """
    made = synthetic_records(
        prepared.mechanism,
        prepared.plan,
        measurements,
        rows=prepared.spec.records,
        rng=prepared.rng,
        execution=Execution(
            progress=reporter("generate"),
            checkpoint=FileCheckpoint(workspace.path / "generating.npz"),
        ),
    )
    spec, rules = prepared.spec, prepared.plan.domain.rules
    made = linked(made, spec, rules, workspace.path, prepared.rng("panel"))
    file = SyntheticFile(workspace.path / "synthetic.npy")
    file.save(without_faces(made, prepared))
    return file


def synthetic_records(
    mechanism: Mechanism,
    plan: Plan,
    measurements: Measurements,
    *,
    rows: int | None,
    rng: Callable[[str], np.random.Generator],
    execution: Execution = INLINE,
) -> SyntheticMeasure:
    """Records of the mechanism that obey the edit rules and have the public totals.

    Args:
        rows: how many; None for as many as were measured.
        rng: gives a generator for each purpose.
    Raises:
        TotalsUnreachable: the totals cannot hold with what noisy answers say determines what.
    """
    synthetic = mechanism.generate(
        plan,
        measurements,
        rows=rows,
        rng=rng("generate"),
        execution=execution,
    )
    domain = plan.domain
    synthetic = obedient(synthetic, domain.rules, rng("rules"))
    return totalled(synthetic, domain.totals, domain.rules, rng("totals"))


MOVED = "records_moved_to_obey_rules"
TOTALLED = "records_moved_to_hold_totals"


FACELESS = "records_moved_from_rare_combinations"
"""In the history: how many records, and the largest change of a column's distribution by it."""


class TotalsUnreachable(SafeError):
    """The public totals cannot hold with the functions that were measured."""


class OnlyRare(SafeError):
    """All combinations of the keys of face privacy are rarer than is asked."""


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


def without_faces(synthetic: SyntheticMeasure, prepared: PreparedRelease) -> SyntheticMeasure:
    """The records without rare combinations of the keys that the spec names, if it does.

    Raises:
        OnlyRare: all combinations are rare.
    """
    asked, domain = prepared.spec.output.face_privacy, prepared.plan.domain
    if asked is None:
        return synthetic
    keys = [domain.names.index(name) for name in asked.columns]
    try:
        codes = without_rare(synthetic.codes, domain, keys, asked.least, prepared.rng("faces"))
    except NothingCommon as error:
        raise OnlyRare(
            f"output.face_privacy: {error} in what was made; name fewer columns, or ask for fewer "
            "records. No budget is lost: correct the spec, and run again with --resume"
        ) from error
    changes = [
        np.abs(np.bincount(now, minlength=k) - np.bincount(before, minlength=k)).sum() / 2
        for now, before, k in zip(codes.T, synthetic.codes.T, domain.shape, strict=True)
    ]
    moved = int((codes != synthetic.codes).any(axis=1).sum())
    told = {"records": moved, "largest_change": float(max(changes)) / len(codes)}
    return replace(synthetic, codes=codes, history={**synthetic.history, FACELESS: told})


def totalled(
    synthetic: SyntheticMeasure, totals: PublicTotals, rules: Rules, rng: np.random.Generator
) -> SyntheticMeasure:
    """The records, which obey the rules, with as few moved as it takes for the totals to hold.

    Raises:
        TotalsUnreachable: they cannot, with what the records say determines what.
    """
    if not totals:
        return synthetic
    settled = rules.settled(joint_of(synthetic.codes, rules.shape))
    try:
        codes = hold(totals, settled, synthetic.codes, rng)
    except ValueError as error:
        if not rules.determinations:
            raise  # the plan was checked, so this is a mistake of ours
        raise TotalsUnreachable(
            "public_totals: they cannot hold together with what noisy answers say of the rules "
            "with determines; state which value goes with which by rules, or drop a total. No "
            "budget is lost: correct the spec, and run again with --resume"
        ) from error
    moved = int((codes != synthetic.codes).any(axis=1).sum())
    return replace(synthetic, codes=codes, history={**synthetic.history, TOTALLED: moved})
