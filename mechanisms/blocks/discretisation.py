"""Measure how far records lie from their points on average, instead of assuming the worst.

Claim.   The answers to `queries` cost exactly `epsilon`; and with probability at least
         `confidence`, for all blocks at once, the sum of the records' distances from their points
         is at most what `upper` says.
Proof.   A block's query is the sum over records of integer weights of at most w = 2^20, which
         changes by at most w times the records of a unit (`transforms.WeightedSum`); K blocks at
         scale K w m / epsilon cost epsilon. Weights are distances in units of radius / w rounded
         up, so the sum is never understated. The answer plus the noise's reach
         (`privacy.tails`) bounds the sum but for (1 - confidence) / K, for each of the K blocks.
Source.  The discretisation term of "Certified private data release for sparse Lipschitz functions"
         (AISTATS 2024), eq. (4), is the radius 1/(2k); smooth data in s columns have a mean
         distance of about s / (s + 1) of it.
Oracle.  tests/mechanisms/blocks/test_discretisation.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from hallmark.mechanisms.privacy.tails import reach
from hallmark.mechanisms.privacy.transforms import WeightedSum

STEPS = 2**20  # the radius is this many units of distance
MOST_CELLS = 2**22  # combinations of codes of one block


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredDiscretisation:
    """The plan of measuring it. Public.

    Attributes:
        family: whose blocks' distances are summed.
        epsilon: what it costs, all blocks together.
    """

    family: Family
    adjacency: Adjacency
    epsilon: Fraction

    @cached_property
    def measured(self) -> tuple[int, ...]:
        """Positions of the blocks with a radius; in all others every record lies on its point."""
        return tuple(b for b, block in enumerate(self.family.blocks) if block.radius > 0)

    @property
    def scale(self) -> Fraction:
        """Laplace scale of every block's sum, in units of radius / `STEPS`."""
        return len(self.measured) * STEPS * self.adjacency.records / self.epsilon

    @cached_property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """One number for each of the `measured` blocks."""
        noise, shape = LaplaceNoise(self.scale), self.family.domain.shape
        blocks = [self.family.blocks[position] for position in self.measured]
        return tuple(
            HistogramQuery(
                marginal(block.columns, shape), noise, WeightedSum(weights(block), (0, STEPS))
            )
            for block in blocks
        )

    def upper(self, answers: Sequence[Counts], *, confidence: float) -> Floats:
        """Bounds on the summed distances of all records, one a block, records times distance."""
        slack = self.slack((1 - confidence) / len(self.measured))
        bounds = np.zeros(len(self.family))
        for position, answer in zip(self.measured, answers, strict=True):
            radius = self.family.blocks[position].radius
            bounds[position] = max(0, int(answer[0]) + slack) * radius / STEPS
        return bounds

    def slack(self, failure: float) -> int:
        """How far the noise may hide a sum, in units of radius / `STEPS`, but for `failure`."""
        return reach(LaplaceNoise(self.scale), failure)


def weights(block: Block) -> Counts:
    """Distance of every combination of a block's codes from its point, rounded up, in C order.

    In units of the block's radius over `STEPS`.
    """
    columns = range(len(block.offsets))
    spread = [
        offset.reshape([-1 if axis == own else 1 for axis in columns])
        for own, offset in enumerate(block.offsets)
    ]
    largest = spread[0]
    for offset in spread[1:]:
        largest = np.maximum(largest, offset)
    return np.minimum(np.ceil(largest.ravel() / block.radius * STEPS), STEPS).astype(np.int64)


def can_be_measured(family: Family) -> bool:
    """Whether distances can help, and the tables to sum them over are of a reasonable size."""
    blocks = [block for block in family.blocks if block.radius > 0]
    sizes = [prod(family.domain.shape[c] for c in block.columns) for block in blocks]
    return 0 < max(sizes, default=0) <= MOST_CELLS
