"""Particles: the generator of PrivPGD as the paper has it.

Every noisy marginal is projected onto the probability tables in sliced W1, quantised to as many
atoms as there are particles, and particles in the unit box are moved until their marginals look
like that in sliced W2. Each ends in the cell whose centre is nearest.

Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML, Algorithm 3; constants of
         section 4.1.
Oracle.  tests/mechanisms/marginals/generators/particles/test_particles.py transcribes the paper's
         loops.

Attributes are embedded in their given order, also unordered ones. Where noise is equal, marginals
weigh the same; a more precise one weighs more, a public one `weight_cap` times as much.
PyTorch is loaded by a fit alone (`fitting`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique, cells, title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import INLINE, Execution, Progress
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.device import Device, chosen_device
from hallmark.mechanisms.marginals.generators.embedding import Positions, nearest_codes
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.marginals.generators.moves.excess import counts
from hallmark.mechanisms.marginals.generators.particles.penalty import Penalty
from hallmark.mechanisms.marginals.generators.particles.settings import Descent, Projection

MOST_PARTICLES = 100_000  # the paper's number; where more records are asked for, they repeat
MOST_CELLS = 1 << 20  # of one marginal: some 4 GB of directions through its cells
MOST_CELLS_IN_ALL = 1 << 27

_DRAFT_LINES, _DRAFT_DIRECTIONS = 50, 4  # of projection and descent
_DRAFT_EPSILON = 0.03  # of Adam: rounding residuals do not become full steps
_TORCH_BYTES = 250_000_000  # of the library itself
_BANK_BYTES = 44  # a cell and direction, while a bank is sorted
_COUPLING_BYTES = 40  # a particle and direction of a batch: places, order, quantiles, excess
_STATE_BYTES = 60  # a particle's coordinate: itself, two moments, gradients, masks, moves
_CELL_BYTES = 64  # of a marginal: counts, tables, atoms


@dataclass(frozen=True, eq=False)
class ParticleModel:
    """Particles where the descent left them. Public.

    Attributes:
        shape: cells of every attribute.
        positions: in [0, 1], float32 of shape (attributes, particles).
        history: losses by epoch.
        projected: noisy marginals with their projections, for a next draft to go on with.
    """

    shape: tuple[int, ...]
    positions: Positions
    history: Mapping[str, Any]
    projected: Mapping[Clique, tuple[NoisyMarginal, Table]] = field(default_factory=dict)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """Codes of the nearest cell centres, shape (particles, attributes)."""
        return nearest_codes(self.positions, self.shape)

    def marginal(self, clique: Clique) -> Table:
        """Shares of the particles."""
        return counts(self.codes, clique, [self.shape[a] for a in clique]) / len(self.codes)

    def wanted(self, clique: Clique) -> Table:
        return self.marginal(clique)

    def records(
        self, rows: int, rng: np.random.Generator, progress: Progress
    ) -> tuple[NDArray[np.int32], Mapping[str, Any]]:
        """The particles; as many whole copies as fit, and for the rest some drawn at random.

        Raises:
            ValueError: `rows` is below 1.
        """
        if rows < 1:
            raise ValueError(f"rows: {rows}; ask for at least 1")
        progress(1.0, "particles moved")
        picks = spread(len(self.codes), rows, rng)
        return self.codes[picks], {"particles": len(self.codes)}


@dataclass(frozen=True, kw_only=True)
class Particles:
    """The generator. Every field is public.

    Attributes:
        particles: how many; None for as many as there are records, at most 100,000.
        projection, descent: their constants.
        draft_iterations, draft_epochs: of a draft, whose learning rates fall that much faster.
        weight_cap: the most that a marginal weighs in the loss beside one of median noise.
        penalties: on statistics of the particles.
        device: "cpu", "cuda", or "auto" for a GPU where there is one.
    """

    particles: int | None = None
    projection: Projection = field(default_factory=Projection)
    descent: Descent = field(default_factory=Descent)
    draft_iterations: int = 100
    draft_epochs: int = 20
    weight_cap: float = 4.0
    penalties: tuple[Penalty, ...] = ()
    device: Device = "auto"

    name = "particles"
    takes_prior = False
    source = (
        "PrivPGD: Donhauser, Abad, Hulkund, Yang (2024), Privacy-preserving data release "
        "leveraging optimal transport and particle gradient descent, ICML"
    )

    def __post_init__(self) -> None:
        if self.particles is not None and self.particles < 1:
            raise ValueError(f"particles: {self.particles}; give at least 1")
        for setting in ("draft_iterations", "draft_epochs"):
            if getattr(self, setting) < 1:
                raise ValueError(f"{setting}: {getattr(self, setting)}; give at least 1")
        if not 1 <= self.weight_cap < float("inf"):
            raise ValueError(f"weight_cap: {self.weight_cap}; give a number from 1 up")
        if self.device not in ("auto", "cpu", "cuda"):
            raise ValueError(f"device: {self.device!r}; choose auto, cpu or cuda")

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every constant that shapes the result, as plain JSON values."""
        lists = [{**asdict(p), "weights": list(p.weights)} for p in self.penalties]
        return {**asdict(self), "penalties": lists}

    def memory(self, domain: Domain, cliques: Sequence[Clique], records: int) -> int:
        """Forecast of peak memory, bytes; of the machine, not of its GPU.

        Raises:
            ValueError: a marginal or all together are too large, a penalty is for another number
                of columns, or the device is not there.
        """
        self._check(domain, cliques)
        if self.device == "cuda":
            chosen_device(self.device)
        sizes = [cells(clique, domain.shape) for clique in cliques]
        atoms = self.count(records)
        bank = max((self.projection.bank_of(size) * size for size in sizes), default=0)
        batch = min(self.descent.batch, len(cliques)) * self.descent.directions
        descent = atoms * (batch * _COUPLING_BYTES + len(domain) * _STATE_BYTES)
        return _TORCH_BYTES + sum(sizes) * _CELL_BYTES + max(bank * _BANK_BYTES, descent)

    def admits(self, domain: Domain, cliques: Sequence[Clique], share: float) -> bool:
        """Whether no marginal is too large; particles are as many for any number of them."""
        sizes = [cells(clique, domain.shape) for clique in cliques]
        return max(sizes, default=0) <= MOST_CELLS and sum(sizes) <= MOST_CELLS_IN_ALL

    def fit(
        self,
        evidence: Evidence,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        previous: Model | None = None,
        draft: bool = False,
    ) -> ParticleModel:
        """Particles whose marginals look like the evidence.

        Args:
            previous: particles to start from instead of uniform ones.
            draft: fewer iterations and epochs; projections of an earlier draft are used again.
            execution: a draft is too short for its checkpoint. On a CPU an interrupted fit ends
                bit by bit as one that was not.
        Raises:
            ValueError: see `memory`; or there is no marginal.
        """
        from hallmark.mechanisms.marginals.generators.particles.fitting import fitted

        if not evidence.marginals:
            raise ValueError("no marginal was measured; particles have nothing to look like")
        self._check(evidence.domain, list(evidence.by_clique))
        earlier = previous if isinstance(previous, ParticleModel) else None
        return fitted(self, evidence, rng=rng, execution=execution, earlier=earlier, draft=draft)

    def count(self, records: float) -> int:
        """Particles for so many records."""
        return self.particles or max(1, min(round(records), MOST_PARTICLES))

    def schedules(self, draft: bool) -> tuple[Projection, Descent]:
        """Constants of a fit; those of a draft are short, with the same steps of the rate.

        A draft masks nothing: after so few epochs a masked descent is three times as far off.
        """
        if not draft:
            return self.projection, self.descent
        iterations = min(self.draft_iterations, self.projection.iterations)
        epochs = min(self.draft_epochs, self.descent.epochs)
        return (
            replace(
                self.projection,
                iterations=iterations,
                directions=min(_DRAFT_LINES, self.projection.directions),
                decay_every=_scaled(
                    self.projection.decay_every, iterations, self.projection.iterations
                ),
            ),
            replace(
                self.descent,
                epochs=epochs,
                directions=min(_DRAFT_DIRECTIONS, self.descent.directions),
                masked=0.0,
                adam_epsilon=_DRAFT_EPSILON,
                decay_every=_scaled(self.descent.decay_every, epochs, self.descent.epochs),
            ),
        )

    def _check(self, domain: Domain, cliques: Sequence[Clique]) -> None:
        sizes = [cells(clique, domain.shape) for clique in cliques]
        if sizes and max(sizes) > MOST_CELLS:
            largest = cliques[int(np.argmax(sizes))]
            raise ValueError(
                f"mechanism.selection: the marginal of {title(largest, domain.names)} has "
                f"{max(sizes):,} cells, more than {MOST_CELLS:,}; use coarser cells or smaller "
                "marginals, or another generator"
            )
        if sum(sizes) > MOST_CELLS_IN_ALL:
            raise ValueError(
                f"mechanism.selection: the marginals have {sum(sizes):,} cells in all, more than "
                f"{MOST_CELLS_IN_ALL:,}; use coarser cells or fewer marginals"
            )
        for position, penalty in enumerate(self.penalties):
            if len(penalty.weights) != len(domain):
                raise ValueError(
                    f"mechanism.generator.penalties[{position}].weights: "
                    f"{len(penalty.weights)} numbers for {len(domain)} columns; give one for each "
                    "column, 0 where it plays no part"
                )


def spread(size: int, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`rows` of `size` positions, each as often as any other up to one; all in order if equal."""
    picks = np.tile(np.arange(size), rows // size)
    rest = rows - len(picks)
    return np.concatenate([picks, rng.choice(size, size=rest, replace=False)]) if rest else picks


def _scaled(every: int, steps: int, full: int) -> int:
    return max(1, round(every * steps / max(full, 1)))
