"""The PrivPGD paper's generator, slow and plain: automatic differentiation, full sorts, no bank.

A transcription of Algorithm 3 with the constants of section 4.1, for comparison; and small tables.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from tests.mechanisms.marginals.domains import marginal_of

Clique = tuple[int, ...]
Array = NDArray[np.float64]


def correlated(rows: int, shape: Sequence[int], seed: int) -> NDArray[np.int32]:
    """Records whose columns share a hidden cause, unevenly spread over the cells."""
    rng = np.random.default_rng(seed)
    hidden = rng.beta(1.5, 3, (rows, 1))
    own = rng.beta(2, 3, (rows, len(shape)))
    return np.floor((0.6 * hidden + 0.4 * own) * shape).astype(np.int32)


def sphere(count: int, dimension: int, draws: torch.Generator) -> torch.Tensor:
    directions = torch.randn(count, dimension, generator=draws)
    return directions / directions.norm(dim=1, keepdim=True)


def cells_of(shape: Sequence[int]) -> torch.Tensor:
    """Eq. (4): centres of the cells, one after the other."""
    return torch.tensor(
        [
            [(2 * x + 1) / (2 * k) for x, k in zip(cell, shape, strict=True)]
            for cell in np.ndindex(*shape)
        ],
        dtype=torch.float32,
    )


def project(
    signed: Array, *, iterations: int, directions: int, decay_every: int, seed: int
) -> Array:
    """Eq. (5): distribution functions of signed measures by (3), cut at the last cell."""
    draws = torch.Generator().manual_seed(seed)
    cells = cells_of(signed.shape)
    noisy = torch.tensor(signed.ravel(), dtype=torch.float32)
    start = noisy.clamp(min=0)
    logits = torch.log(start / start.sum() + 1e-9).requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(adam, decay_every, 0.8)
    for _ in range(iterations):
        places, order = (sphere(directions, signed.ndim, draws) @ cells.T).sort(dim=1)
        functions = (logits.softmax(0) - noisy)[order].cumsum(1)
        loss = (functions[:, :-1].abs() * places.diff(dim=1)).sum(1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    return logits.detach().softmax(0).numpy().reshape(signed.shape).astype(np.float64)


def quantise(table: Array, atoms: int, rng: np.random.Generator) -> torch.Tensor:
    """Eq. (6) as the authors' code has it: floor, and fill up by a draw; shape (atoms, columns)."""
    share = table.ravel() / table.sum()
    counts = np.floor(share * atoms).astype(int)
    counts += rng.multinomial(atoms - counts.sum(), share)
    return cells_of(table.shape).repeat_interleave(torch.tensor(counts), dim=0)


def descend(
    targets: dict[Clique, Array],
    shape: Sequence[int],
    *,
    particles: int,
    epochs: int,
    decay_every: int,
    seed: int,
) -> NDArray[np.int32]:
    """Eq. (7) without a penalty, by SparseAdam on a gradient of which 4/5 are masked."""
    rng = np.random.default_rng(seed)
    draws = torch.Generator().manual_seed(seed)
    atoms = {clique: quantise(table, particles, rng) for clique, table in targets.items()}
    points = torch.rand(particles, len(shape), generator=draws).requires_grad_()
    adam = torch.optim.SparseAdam([points], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(adam, decay_every, 0.75)
    for _ in range(epochs):
        order = [list(targets)[i] for i in rng.permutation(len(targets))]
        for start in range(0, len(order), 5):
            loss = torch.zeros(())
            for clique in order[start : start + 5]:
                directions = sphere(10, len(clique), draws)
                ours, _ = (points[:, list(clique)] @ directions.T).sort(dim=0)
                theirs, _ = (atoms[clique] @ directions.T).sort(dim=0)
                loss = loss + ((ours - theirs) ** 2).sum(0).mean()  # times particles
            (gradient,) = torch.autograd.grad(loss, points)
            keep = torch.rand(gradient.shape, generator=draws) >= 0.8
            points.grad = (100 * gradient * keep).to_sparse()
            adam.step()
            with torch.no_grad():
                points.clamp_(0, 1)
        schedule.step()
    sizes = torch.tensor(list(shape))
    nearest = torch.floor(points.detach() * sizes).clamp(min=0)
    return torch.minimum(nearest, sizes - 1).int().numpy()


def sliced_w1(p: Array, q: Array) -> float:
    """Between two probability tables, along 100 fixed directions in both senses."""
    directions = sphere(100, p.ndim, torch.Generator().manual_seed(123))
    places, order = (directions @ cells_of(p.shape).T).sort(dim=1)
    functions = torch.tensor((p - q).ravel(), dtype=torch.float32)[order].cumsum(1)
    return float((functions[:, :-1].abs() * places.diff(dim=1)).sum(1).mean())


def errors(codes: NDArray[np.integer], truth: dict[Clique, Array]) -> tuple[float, float]:
    """Mean sliced W1 and mean total variation over the marginals."""
    shape = {a: table.shape[i] for c, table in truth.items() for i, a in enumerate(c)}
    sizes = [shape[a] for a in sorted(shape)]
    found = {clique: marginal_of(codes, clique, sizes) for clique in truth}
    return (
        float(np.mean([sliced_w1(found[c], truth[c]) for c in truth])),
        float(np.mean([np.abs(found[c] - truth[c]).sum() / 2 for c in truth])),
    )
