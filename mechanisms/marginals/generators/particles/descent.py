"""Particle descent: move points of the unit box until their marginals look like the targets.

Loss.    The sum over marginals of the squared sliced 2-Wasserstein distance to the target, eq. (7),
         plus penalties. Along one direction the sorted coupling is optimal, so the gradient is
         closed: twice a particle's place less the quantile it is coupled to, over the number of
         particles.
Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML, Algorithm 3 and section 4.1.
Oracle.  tests/mechanisms/marginals/generators/particles/test_descent.py: the same loss written down
         with torch.sort and automatic differentiation, moved by torch.optim.SparseAdam.

A step takes a batch of marginals, each along fresh directions. A random share of the gradient's
entries is masked: they neither move nor advance their moments. As all particles of one place feel
the same force, that is what tells them apart. Gradients carry no 1/particles and are scaled by
100, which matters only to Adam's epsilon; then particles are pushed back into the box.

All that an epoch draws comes from the seed and its number. So a descent that stops between two
epochs and goes on from its state ends bit by bit where it would have ended (on a CPU).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from hallmark.mechanisms.marginals.generators.particles.adam import Moments
from hallmark.mechanisms.marginals.generators.particles.directions import on_sphere
from hallmark.mechanisms.marginals.generators.particles.penalty import Penalty
from hallmark.mechanisms.marginals.generators.particles.quantisation import Target, expanded
from hallmark.mechanisms.marginals.generators.particles.settings import Descent
from hallmark.mechanisms.marginals.generators.particles.sorting import sorted_rows

GRADIENT_SCALE = 100.0
"""Adam's epsilon is stated for gradients without 1/particles, times this."""


@dataclass
class State:
    """Where a descent stands between two epochs; changed in place.

    Attributes:
        epoch: how many are done.
        positions: in [0, 1], float32 of shape (attributes, particles).
        losses: of every epoch done, the mean over marginals of the squared distance.
        penalties: likewise, the sum of penalties with their strengths.
    """

    epoch: int
    positions: torch.Tensor
    moments: Moments
    losses: list[float]
    penalties: list[float]

    @classmethod
    def at(cls, positions: NDArray[np.float32], device: torch.device) -> "State":
        """Before the first epoch."""
        tensor = torch.tensor(positions, device=device)
        return cls(0, tensor, Moments.of(tensor), [], [])

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All of it, to be kept."""
        return {
            "epoch": np.array(self.epoch),
            "positions": self.positions.cpu().numpy(),
            "first": self.moments.first.cpu().numpy(),
            "second": self.moments.second.cpu().numpy(),
            "steps": np.array(self.moments.steps),
            "losses": np.array(self.losses, dtype=np.float64),
            "penalties": np.array(self.penalties, dtype=np.float64),
        }

    @classmethod
    def of_arrays(cls, kept: Mapping[str, NDArray[np.generic]], device: torch.device) -> "State":
        """What `arrays` kept."""
        return cls(
            int(kept["epoch"]),
            torch.tensor(kept["positions"], device=device),
            Moments(
                torch.tensor(kept["first"], device=device),
                torch.tensor(kept["second"], device=device),
                int(kept["steps"]),
            ),
            kept["losses"].tolist(),
            kept["penalties"].tolist(),
        )


def descend(
    state: State,
    targets: Sequence[Target],
    *,
    descent: Descent,
    seed: int,
    penalties: Sequence[Penalty] = (),
    after_epoch: Callable[[State], None] = lambda state: None,
) -> None:
    """Carry the descent on from `state` to its last epoch, in place.

    Args:
        targets: as many atoms each as there are particles.
        seed: all epochs' directions, masks and orders follow from it.
    """
    device = state.positions.device
    batches = -(-len(targets) // descent.batch)
    while state.epoch < descent.epochs:
        rng = np.random.default_rng([seed, state.epoch])
        masks = torch.Generator(device).manual_seed(int(rng.integers(2**63)))
        order = rng.permutation(len(targets))
        loss, penalty = torch.zeros(2, dtype=torch.float64, device=device)
        for start in range(0, len(targets), descent.batch):
            chosen = [targets[i] for i in order[start : start + descent.batch]]
            sizes = [1 if len(target.clique) == 1 else descent.directions for target in chosen]
            directions = [
                torch.as_tensor(on_sphere(size, len(target.clique), rng), device=device)
                for size, target in zip(sizes, chosen, strict=True)
            ]
            rows = sorted({a for target in chosen for a in target.clique})
            distances, gradient = pull(state.positions, chosen, directions)
            loss += distances
            if penalties:
                value, slope = push(state.positions, penalties)
                penalty += value / batches
                gradient += (gradient.shape[1] / batches) * slope
                rows = list(range(len(gradient)))
            where = torch.as_tensor(rows, device=device)
            gradient = gradient[where] * GRADIENT_SCALE
            state.moments.step(
                state.positions,
                gradient,
                rate=descent.rate(state.epoch),
                epsilon=descent.adam_epsilon,
                live=_live(gradient, descent.masked, masks),
                rows=where,
            )
            state.positions.clamp_(0.0, 1.0)
        state.epoch += 1
        state.losses.append(float(loss) / len(targets))
        state.penalties.append(float(penalty))
        after_epoch(state)


def pull(
    positions: torch.Tensor, targets: Sequence[Target], directions: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over targets of squared sliced W2 along the directions, and the gradient.

    Args:
        positions: shape (attributes, particles).
        directions: for every target, unit vectors of shape (directions, its attributes).
    Returns:
        The sum, a scalar, unweighted; and the gradient of the weighted sum times the number of
        particles, of the shape of `positions`.
    """
    particles = positions.shape[1]
    excess = couple(
        torch.cat(
            [d @ positions[list(t.clique)] for t, d in zip(targets, directions, strict=True)]
        ),
        [target.runs(d) for target, d in zip(targets, directions, strict=True)],
    )
    squares = excess.square().mean(dim=1)
    total = torch.zeros((), dtype=torch.float64, device=positions.device)
    gradient = torch.zeros_like(positions)
    start = 0
    for target, along in zip(targets, directions, strict=True):
        size = len(along)
        part = slice(start, start + size)
        total += squares[part].mean()
        gradient[list(target.clique)] += (2 * target.weight / size) * (along.T @ excess[part])
        start += size
    assert start * particles == excess.numel()
    return total, gradient


def couple(places: torch.Tensor, runs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """Places less the quantiles that they are coupled to, in each row.

    Args:
        places: of the particles, shape (rows, particles).
        runs: places and counts of the target, ascending, of consecutive rows.
    """
    ordered, order = sorted_rows(places)
    quantiles = expanded(
        torch.cat([along.reshape(-1) for along, _ in runs]),
        torch.cat([counts.reshape(-1) for _, counts in runs]),
        *places.shape,
    )
    return torch.empty_like(places).scatter_(1, order, ordered - quantiles)


def push(
    positions: torch.Tensor, penalties: Sequence[Penalty]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of penalties with their strengths, and its gradient by automatic differentiation."""
    moved = positions.detach().requires_grad_()
    value = torch.stack([penalty.strength * penalty.value(moved) for penalty in penalties]).sum()
    (slope,) = torch.autograd.grad(value, moved)
    return value.detach(), slope


def _live(gradient: torch.Tensor, masked: float, generator: torch.Generator) -> torch.Tensor:
    """1.0 where an entry moves: not masked, and with a gradient that is not 0 to begin with."""
    live = gradient != 0
    if masked:
        drawn = torch.rand(gradient.shape, generator=generator, device=gradient.device)
        live &= drawn >= masked
    return live.to(gradient.dtype)
