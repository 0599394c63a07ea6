"""A strategy whose estimate is settled: brought to a number of records that is known better.

Claim.   The estimate stays linear and unbiased, and sums to the public number of records or, where
         that is private, to a noisy one that is asked for beside the histogram.
Proof.   The same constant is added to all points, linear in the answers and with mean zero. The
         noisy total is one more query; what it costs adds to what the strategy costs.
Oracle.  tests/mechanisms/wasserstein/single_histogram/test_settled_strategy.py.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.strategies.strategy import Strategy, simulate_errors
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.transforms import Total


@dataclass(frozen=True, eq=False, kw_only=True)
class SettledStrategy:
    """Another strategy, settled.

    Attributes:
        strategy: measures the histogram.
        total_scale: noise scale of the number of records, which is asked for first; None where it
            is not asked, and then an estimate is settled only if the number is public.
    """

    strategy: Strategy
    total_scale: Fraction | None = None

    @property
    def name(self) -> str:
        return self.strategy.name

    @property
    def size(self) -> int:
        return self.strategy.size

    @property
    def noise(self) -> tuple[tuple[Noise, int], ...]:
        if self.total_scale is None:
            return self.strategy.noise
        return ((LaplaceNoise(self.total_scale), 1), *self.strategy.noise)

    def queries(self, cells: CellMap) -> tuple[HistogramQuery, ...]:
        histogram = self.strategy.queries(cells)
        if self.total_scale is None:
            return histogram
        return (HistogramQuery(cells, LaplaceNoise(self.total_scale), Total()), *histogram)

    def estimate(self, answers: Sequence[NDArray[np.number]], total: int | None) -> Floats:
        known: NDArray[np.number] | int | None = total
        if self.total_scale is not None:
            known, *answers = answers
        counts = self.strategy.estimate(answers, total)
        if known is None:
            return counts
        return counts + (known - counts.sum(axis=-1, keepdims=True)) / self.size

    def simulate(self, draws: int, rng: np.random.Generator, *, total_is_public: bool) -> Floats:
        return simulate_errors(self, draws, rng, total_is_public=total_is_public)

    @property
    def digest(self) -> str:
        text = f"settled {self.total_scale} {self.strategy.digest}"
        return hashlib.sha256(text.encode()).hexdigest()
