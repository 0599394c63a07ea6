"""Noise on all cells of a line and on blocks of consecutive ones, which answer for far transport.

Claim.   `two_level` costs exactly `epsilon`, whatever its blocks; the estimate is linear and
         unbiased, and the least-squares one with squared scales for variances.
Proof.   Both the blocks' counts and the cells' are histograms, which move by at most
         c = `adjacency.l1` in L1 norm, so scale 2c / epsilon on each costs half of epsilon (a
         single block is the number of records, which moves less: `transforms.BlockSums`). A
         block's count is known from its own answer and from its cells' answers; least squares
         weighs them inversely to their variances, then shares what blocks lack to a public total in
         proportion to theirs, and what a block lacks evenly among its cells.
Blocks.  On m cells at equal steps, noise of scale b on each costs about 0.89 b sqrt(m) records
         times the line's length to even out. With B blocks, blocks and cells give squares
         proportional to B and m / B, least together at B = sqrt(m): 2.5 c m^(1/4) / epsilon. Equal
         noise on the cells alone costs 0.89 c sqrt(m) / epsilon, more from m = 64 on.
Source.  Hay, Rastogi, Miklau, Suciu (2010), Boosting the accuracy of differentially private
         histograms through consistency, for the least squares; two levels only.
Oracle.  tests/mechanisms/blocks/strategies/test_two_level.py enumerates all neighbours of tiny
         tables, and solves the least squares.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.strategies.strategy import simulate_errors
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.transforms import BlockSums


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoLevel:
    """Counts of the blocks of a partition of the cells, and of all cells.

    Attributes:
        labels: block of every cell, int64 of shape (size,), in 0..blocks-1, no block empty.
        block_scale: Laplace scale of every block's count, records.
        cell_scale: of every cell's count, records.
    """

    labels: NDArray[np.int64]
    block_scale: Fraction
    cell_scale: Fraction

    @property
    def name(self) -> str:
        return "two-level"

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self._lengths)

    @property
    def noise(self) -> tuple[tuple[Noise, int], ...]:
        return (
            (LaplaceNoise(self.block_scale), self.blocks),
            (LaplaceNoise(self.cell_scale), self.size),
        )

    def queries(self, cells: CellMap) -> tuple[HistogramQuery, ...]:
        blocks = BlockSums(self.labels, self.blocks)
        return (
            HistogramQuery(cells, LaplaceNoise(self.block_scale), blocks),
            HistogramQuery(cells, LaplaceNoise(self.cell_scale)),
        )

    def estimate(self, answers: Sequence[NDArray[np.number]], total: int | None) -> Floats:
        direct, counts = (np.asarray(answer, dtype=np.float64) for answer in answers)
        sums = np.add.reduceat(counts[..., self._by_block], self._starts, axis=-1)
        of_direct = float(self.block_scale) ** 2  # variances, up to a common factor
        of_sums = self._lengths * float(self.cell_scale) ** 2
        trusted = of_sums / (of_sums + of_direct)
        blocks = sums + trusted * (direct - sums)
        if total is not None:
            variances = trusted * of_direct
            lacking = total - blocks.sum(axis=-1, keepdims=True)
            blocks += lacking * (variances / variances.sum())
        return counts + ((blocks - sums) / self._lengths)[..., self.labels]

    def simulate(self, draws: int, rng: np.random.Generator, *, total_is_public: bool) -> Floats:
        return simulate_errors(self, draws, rng, total_is_public=total_is_public)

    @property
    def digest(self) -> str:
        sha = hashlib.sha256(f"two-level {self.block_scale} {self.cell_scale}".encode())
        sha.update(np.ascontiguousarray(self.labels, dtype="<i8").tobytes())
        return sha.hexdigest()

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        """Cells of every block."""
        return np.bincount(self.labels)

    @cached_property
    def _by_block(self) -> NDArray[np.int64]:
        """The cells, block by block."""
        return np.argsort(self.labels, kind="stable")

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where every block starts in `_by_block`."""
        return np.cumsum(self._lengths) - self._lengths


def two_level(space: FiniteSpace, *, epsilon: Fraction, adjacency: Adjacency) -> TwoLevel:
    """Stretches of the space's path, as many as each has points; costs exactly `epsilon`."""
    blocks = isqrt(space.size)
    labels = np.empty(space.size, dtype=np.int64)
    labels[space.order] = np.arange(space.size) * blocks // space.size
    return TwoLevel(
        labels=labels,
        block_scale=2 * BlockSums(labels, blocks).l1(adjacency) / epsilon,
        cell_scale=2 * adjacency.l1 / epsilon,
    )
