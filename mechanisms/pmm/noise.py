"""What PMM's noise does to the estimates made from it: an exact model, simulated at will.

The law of the noise is public, and so is everything here. The noise that was drawn on the private
counts plays no part.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

from mechanisms.certificates.one_way import OneWayErrors
from mechanisms.geometry.partition import Partition
from mechanisms.pmm.tree import LeastSquares, transport_cost
from mechanisms.privacy.simulation import simulate_discrete_laplace

BATCH = 1 << 21  # noisy counts simulated at a time
SIMULATION_BYTES = BATCH * 8 * 6  # counts, least squares up and down, and their temporaries


class NoiseModel:
    """Discrete Laplace noise on the levels of a partition, and the estimates that it passes to."""

    def __init__(self, partition: Partition, scales: Sequence[Fraction]) -> None:
        """`scales` of the lowest levels, leaves last; a root without one is public and exact."""
        self._partition = partition
        self._scales = tuple(scales)
        self._exact_levels = partition.depth + 1 - len(scales)

    @cached_property
    def costs(self) -> list[NDArray[np.float64]]:
        """`Partition.flow_costs` of levels 0, ..., depth - 1."""
        return [self._partition.flow_costs(level) for level in range(self._partition.depth)]

    @cached_property
    def _least_squares(self) -> LeastSquares:
        levels = range(self._partition.depth + 1)
        variances = [0.0] * self._exact_levels + [variance(scale) for scale in self._scales]
        return LeastSquares(variances, [self._partition.empty(level) for level in levels])

    def leaves(self, levels: Sequence[NDArray[np.number]]) -> NDArray[np.float64]:
        """Least-squares leaf estimates, shape (..., leaves), from the counts of all levels."""
        return self._least_squares(levels)

    def one_way(self, leaves: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """One-way histograms of leaf estimates, shape (..., cells) per attribute."""
        attributes = range(len(self._partition.domain))
        return tuple(self._partition.one_way(attribute, leaves) for attribute in attributes)

    def simulate(
        self, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[OneWayErrors, NDArray[np.float64]]]:
        """Batches of fresh draws: errors of the one-way estimates, and of the leaf estimates.

        The second is of shape (draws of the batch, 2): what evening out the error of the leaf
        estimates costs, in records times distance, a wrong total included; and the error of the
        estimated number of records.
        """
        size = max(1, BATCH // (2 * self._partition.leaves))
        for start in range(0, draws, size):
            batch = min(size, draws - start)
            noise = [np.zeros((batch, 1), dtype=np.int64)] * self._exact_levels
            for level, scale in enumerate(self._scales, self._exact_levels):
                noise.append(simulate_discrete_laplace(rng, scale, (batch, 1 << level)))
            leaves = self.leaves(noise)
            total = np.zeros(batch) if self._exact_levels else leaves.sum(axis=-1)
            moved = transport_cost(leaves, self.costs) + np.abs(total)
            errors = OneWayErrors(counts=self.one_way(leaves), total=total)
            yield errors, np.stack([moved, total], axis=1)


def variance(scale: Fraction) -> float:
    """Variance 2p / (1 - p)^2 of discrete Laplace noise, p = exp(-1 / scale), records^2."""
    return 2 * exp(-1 / float(scale)) / expm1(-1 / float(scale)) ** 2
