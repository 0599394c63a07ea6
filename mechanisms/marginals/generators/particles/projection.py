"""Projection: the probability tables nearest to noisy signed ones in sliced W1.

Along one direction, W1 is the L1 norm of the difference of the distribution functions (Vallender
1974), which signed tables have too. Its gradient is closed: raising a cell by one adds, from that
cell on, the sign of the difference times the gap to the next cell. Tables are softmaxes of free
numbers, moved by Adam.

Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML, eq. (5) and section 4.1.
Oracle.  tests/mechanisms/marginals/generators/particles/test_projection.py: the paper's loop with
         fresh directions, full sorts and automatic differentiation; and a linear program.

Where mass differs. A noisy table sums to the number of records but for noise; where it does not,
the two functions never meet on the right and (3) is infinite. We spread what is missing evenly over
the cells. The paper's code cuts the difference at the last cell (`mass="cut"`): tables that miss
much then end up to twice as far from the truth. Which cell is last depends on the sense of the
direction, so every line is run through in both senses: the mean over the sphere, without the chance
of it, which a bank would not average out.
Where we leave the paper: directions come from a bank that is sorted once (all tables of a shape
share it), of which every iteration draws a fresh subset.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.marginals.generators.embedding import centres
from hallmark.mechanisms.marginals.generators.particles.adam import Moments
from hallmark.mechanisms.marginals.generators.particles.directions import on_sphere
from hallmark.mechanisms.marginals.generators.particles.settings import Projection

LEAST = 1e-9  # added to the start, so that its logarithm is finite
_DOUBLE_FROM = 1 << 14  # cells from which on running sums are taken in double precision
_AT_ONCE = 1 << 18  # numbers handled together on a CPU: a megabyte, which stays in its cache
_AT_ONCE_GPU = 1 << 26
ADAM_EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Bank:
    """Directions through the cells of one shape, sorted.

    Attributes:
        order: cells by their place along every direction, int32 of shape (directions, cells).
        rank: its inverse: where in the order a cell is.
        gaps: from every cell in the order to the next, 0 after the last.
    """

    order: torch.Tensor
    rank: torch.Tensor
    gaps: torch.Tensor

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        directions: NDArray[np.float32],
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> "Bank":
        """The bank of `directions`, shape (directions, attributes)."""
        places = directions.astype(np.float64) @ centres(shape).T.astype(np.float64)
        order = np.argsort(places, axis=1, kind="stable").astype(np.int32)
        gaps = np.diff(np.take_along_axis(places, order, axis=1), axis=1, append=0)
        gaps[:, -1] = 0
        rank = np.argsort(order, axis=1).astype(np.int32)
        return cls(
            torch.as_tensor(order, device=device),
            torch.as_tensor(rank, device=device),
            torch.as_tensor(gaps, dtype=dtype, device=device),
        )

    def pick(self, chosen: torch.Tensor) -> "Bank":
        """Some of the directions."""
        return Bank(self.order[chosen], self.rank[chosen], self.gaps[chosen])


def sliced_w1(difference: torch.Tensor, bank: Bank) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean over the bank, each line in both senses, of the L1 norm of running sums; its gradient.

    Args:
        difference: of tables, flat, shape (tables, cells).
    Returns:
        Shapes (tables,) and (tables, cells). Where a running sum is 0, its sign counts as 0.
    """
    tables, cells = difference.shape
    mass = difference.sum(dim=1)[:, None, None]
    loss = difference.new_zeros(tables)
    gradient = torch.zeros_like(difference)
    at_once = _AT_ONCE_GPU if difference.is_cuda else _AT_ONCE
    step = max(1, at_once // difference.numel())
    for start in range(0, len(bank.gaps), step):
        gaps = bank.gaps[start : start + step]
        lines = len(gaps)
        along = difference.index_select(1, bank.order[start : start + step].reshape(-1))
        upto = along.view(tables, lines, cells).cumsum(dim=2)
        after = mass - upto
        # Raising a cell raises the sums up to all gaps behind it, and those after gaps before it.
        behind = upto.sign().mul_(gaps)
        before = after.sign().mul_(gaps)
        loss += upto.mul_(behind).add_(after.mul_(before)).sum(dim=(1, 2))
        total = behind.sum(dim=2, keepdim=True)
        turned = before.sub_(behind)
        slopes = turned.cumsum(dim=2).sub_(turned).add_(total)
        offsets = torch.arange(0, lines * cells, cells, dtype=torch.int32, device=gaps.device)
        back = (bank.rank[start : start + step] + offsets[:, None]).reshape(-1)
        gradient += slopes.view(tables, -1).index_select(1, back).view(tables, lines, cells).sum(1)
    senses = 2 * len(bank.gaps)
    return loss / senses, gradient / senses


def project(
    signed: Table,
    *,
    projection: Projection,
    rng: np.random.Generator,
    device: torch.device,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[Table, NDArray[np.float64]]:
    """Probability tables near to `signed` ones of equal shape, and how near.

    Args:
        signed: shape (tables, k_1, ..., k_w): noisy counts over the number of records.
        report: called with the share done.
    Returns:
        Tables of the shape of `signed`, and the sliced W1 from each to its signed one along the
        whole bank, shape (tables,); to the one of mass 1, where mass is spread.
    """
    tables, shape = len(signed), signed.shape[1:]
    cells = prod(shape)
    dtype = torch.float64 if cells >= _DOUBLE_FROM else torch.float32
    size = projection.bank_of(cells)
    directions = on_sphere(size, len(shape), rng)
    bank = Bank.of(shape, directions, dtype=dtype, device=device)
    flat = signed.reshape(tables, cells)
    if projection.mass == "spread":
        flat = flat + (1 - flat.sum(axis=1, keepdims=True)) / cells
    target = torch.as_tensor(flat, dtype=dtype, device=device)
    logits = torch.log(clipped(target) + LEAST)
    moments = Moments.of(logits)
    for iteration in range(projection.iterations):
        chosen = torch.as_tensor(
            rng.choice(size, size=projection.directions, replace=False), device=device
        )
        weights = logits.softmax(dim=1)
        _, slope = sliced_w1(weights - target, bank.pick(chosen))
        slope = weights * (slope - (weights * slope).sum(dim=1, keepdim=True))
        moments.step(logits, slope, rate=projection.rate(iteration), epsilon=ADAM_EPSILON)
        report((iteration + 1) / projection.iterations)
    weights = logits.softmax(dim=1)
    distance, _ = sliced_w1(weights - target, bank)
    found = weights.double().cpu().numpy()
    found /= found.sum(axis=1, keepdims=True)
    return found.reshape(signed.shape), distance.double().cpu().numpy()


def clipped(signed: torch.Tensor) -> torch.Tensor:
    """Rows without what is negative, rescaled to 1; uniform where nothing is left."""
    kept = signed.clamp(min=0)
    mass = kept.sum(dim=1, keepdim=True)
    uniform = torch.full_like(kept, 1 / kept.shape[1])
    return torch.where(mass > 0, kept / mass.clamp(min=torch.finfo(kept.dtype).tiny), uniform)
