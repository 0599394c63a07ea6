"""Fit particles to evidence: project the marginals, then move the particles.

A fit leaves its state in a checkpoint: what was projected after each chunk of tables, and besides
where the particles are after each epoch. One that was killed goes on from there.

Claim.   On a CPU an interrupted fit ends bit by bit as one that was not.
Proof.   All that is drawn follows from the seed and from how far the fit is (`targets`, `descent`),
         and the key of a checkpoint is a digest of everything else.
Oracle.  tests/mechanisms/marginals/generators/particles/test_particles.py kills fits.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Mask, Table
from hallmark.mechanisms.checkpoint import Checkpoint
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.execution import Execution, part
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.device import chosen_device
from hallmark.mechanisms.marginals.generators.embedding import Positions, nearest_codes
from hallmark.mechanisms.marginals.generators.history import short
from hallmark.mechanisms.marginals.generators.particles.descent import State, descend
from hallmark.mechanisms.marginals.generators.particles.particles import (
    ParticleModel,
    Particles,
    spread,
)
from hallmark.mechanisms.marginals.generators.particles.quantisation import Target
from hallmark.mechanisms.marginals.generators.particles.targets import (
    allowed_cells,
    loss_weights,
    target_tables,
)

_PROJECTED = 0.15  # progress when the descent starts
_DESCENT = "descent/"  # in a checkpoint: what the names of the descent's arrays begin with

Arrays = Mapping[str, NDArray[Any]]


def fitted(
    generator: Particles,
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    execution: Execution,
    earlier: ParticleModel | None,
    draft: bool,
) -> ParticleModel:
    """Particles whose marginals look like the evidence; see `Particles.fit`."""
    device, seed = chosen_device(generator.device), int(rng.integers(2**63))
    projection, descent = generator.schedules(draft)
    start = _start(generator, evidence, earlier, np.random.default_rng([seed, 0]))
    masks = [allowed_cells(evidence.domain, clique) for clique in evidence.by_clique]
    keeper = _Keeper(
        None if draft else execution.checkpoint,
        _digest(generator.settings, device.type, seed, evidence, masks, start),
    )
    projecting = part(execution.progress, 0.0, _PROJECTED)
    tables, projected = target_tables(
        evidence,
        masks,
        projection=projection,
        seed=seed,
        device=device,
        known=_reusable(evidence, earlier) if draft else {},
        kept=keeper.kept,
        after_chunk=lambda done: keeper.offer(lambda: done),
        report=lambda share: projecting(share, "projecting marginals"),
    )
    state = keeper.descent(device) or State.at(start, device)
    moving = part(execution.progress, _PROJECTED, 1.0)

    def after_epoch(state: State) -> None:
        moving(
            state.epoch / descent.epochs,
            f"moving particles: epoch {state.epoch} of {descent.epochs}, "
            f"loss {state.losses[-1]:.3g}",
        )
        keeper.offer(lambda: {**projected, **_named(state)})

    descend(
        state,
        _targets(evidence, tables, start.shape[1], generator.weight_cap, device),
        descent=descent,
        seed=seed,
        penalties=generator.penalties,
        after_epoch=after_epoch,
    )
    noisy = zip(evidence.marginals, tables, strict=True) if draft else ()
    return ParticleModel(
        shape=evidence.domain.shape,
        positions=state.positions.cpu().numpy(),
        history=_history(generator, evidence.domain.shape, state),
        projected={m.clique: (m, table) for m, table in noisy if m.sigma},
    )


def _start(
    generator: Particles,
    evidence: Evidence,
    earlier: ParticleModel | None,
    rng: np.random.Generator,
) -> Positions:
    """Where the particles begin: at those of an earlier model, or uniform in the box."""
    atoms = generator.count(evidence.total)
    if earlier is None or earlier.shape != evidence.domain.shape:
        return rng.random((len(evidence.domain), atoms), dtype=np.float32)
    return earlier.positions[:, spread(earlier.positions.shape[1], atoms, rng)]


def _reusable(evidence: Evidence, earlier: ParticleModel | None) -> dict[Clique, Table]:
    """Projections of marginals that have not changed since an earlier draft.

    The number of records may have been estimated anew since; for a draft that makes no difference.
    """
    if earlier is None:
        return {}
    found = {}
    for clique, (marginal, table) in earlier.projected.items():
        now = evidence.by_clique.get(clique)
        if now is not None and now.sigma and np.array_equal(now.counts, marginal.counts):
            found[clique] = table
    return found


def _targets(
    evidence: Evidence, tables: Sequence[Table], atoms: int, cap: float, device: torch.device
) -> list[Target]:
    """The tables as so many atoms, with their weights in the loss."""
    weights = loss_weights(evidence.marginals, cap)
    return [
        Target.of(clique, table, atoms, device=device, weight=weight)
        for clique, table, weight in zip(evidence.by_clique, tables, weights, strict=True)
    ]


def _history(generator: Particles, shape: tuple[int, ...], state: State) -> Mapping[str, Any]:
    positions = state.positions.cpu().numpy()
    history: dict[str, Any] = {
        "device": state.positions.device.type,
        "particles": positions.shape[1],
        "descent_loss": short(state.losses),
    }
    if generator.penalties:
        codes = nearest_codes(positions, shape)
        history["penalty"] = short(state.penalties)
        history["statistics"] = short([p.of_records(codes, shape) for p in generator.penalties])
    return history


class _Keeper:
    """A checkpoint with the key of one fit, and what was found under it."""

    def __init__(self, checkpoint: Checkpoint | None, key: str) -> None:
        self._checkpoint = checkpoint
        self._key = key
        self.kept: Arrays = (checkpoint.load(key) if checkpoint else None) or {}

    def descent(self, device: torch.device) -> State | None:
        """Where the particles were, if they had begun to move."""
        left = {
            name.removeprefix(_DESCENT): array
            for name, array in self.kept.items()
            if name.startswith(_DESCENT)
        }
        return State.of_arrays(left, device) if left else None

    def offer(self, state: Callable[[], Arrays]) -> None:
        """Save what it returns if it is time to; it is not called otherwise."""
        if self._checkpoint is not None and self._checkpoint.due():
            self._checkpoint.save(self._key, state())


def _named(state: State) -> Arrays:
    """The descent's arrays, as a checkpoint has them beside the projected tables."""
    return {_DESCENT + name: array for name, array in state.arrays().items()}


def _digest(
    settings: Mapping[str, Any],
    device: str,
    seed: int,
    evidence: Evidence,
    masks: Sequence[Mask | None],
    start: Positions,
) -> str:
    """The digest of everything that a fit's result depends on."""
    digest = hashlib.sha256(json.dumps([settings, device, seed, evidence.total]).encode())
    for marginal, mask in zip(evidence.marginals, masks, strict=True):
        digest.update(json.dumps([marginal.clique, marginal.sigma, marginal.counts.shape]).encode())
        digest.update(np.ascontiguousarray(marginal.counts).tobytes())
        digest.update(b"" if mask is None else np.packbits(mask).tobytes())
    digest.update(np.ascontiguousarray(start).tobytes())
    return digest.hexdigest()
