"""Independent noise on every cell, centred where the number of records is public.

Claim.   Laplace noise from `identity` costs exactly `epsilon`; the estimate is unbiased.
Proof.   A histogram moves by at most c = `adjacency.l1` in L1 norm, and noise of scale c / epsilon
         then costs epsilon. Centring is post-processing: the cells' sum is known to be the total.
Oracle.  tests/mechanisms/blocks/strategies/test_identity.py.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.strategies.strategy import simulate_errors
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise, Noise


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The histogram itself with equal noise on every cell."""

    size: int
    cell_noise: Noise

    @property
    def name(self) -> str:
        return "gaussian" if isinstance(self.cell_noise, GaussianNoise) else "identity"

    @property
    def noise(self) -> tuple[tuple[Noise, int], ...]:
        return ((self.cell_noise, self.size),)

    def queries(self, cells: CellMap) -> tuple[HistogramQuery, ...]:
        return (HistogramQuery(cells, self.cell_noise),)

    def estimate(self, answers: Sequence[NDArray[np.number]], total: int | None) -> Floats:
        counts = np.asarray(answers[0], dtype=np.float64)
        if total is None:
            return counts
        return counts + (total - counts.sum(axis=-1, keepdims=True)) / self.size

    def simulate(self, draws: int, rng: np.random.Generator, *, total_is_public: bool) -> Floats:
        return simulate_errors(self, draws, rng, total_is_public=total_is_public)

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"identity {self.size} {self.cell_noise!r}".encode()).hexdigest()


def identity(size: int, *, epsilon: Fraction, adjacency: Adjacency) -> Identity:
    """Laplace noise that costs exactly `epsilon`."""
    return Identity(size=size, cell_noise=LaplaceNoise(adjacency.l1 / epsilon))
