"""What the noise on a partition does to the estimates made from it: exact laws, simulated at will.

The law of the noise is public, and so is everything here. The noise that was drawn on the private
counts plays no part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.certificates.single_columns import ColumnErrors
from hallmark.mechanisms.geometry.partition import Partition
from hallmark.mechanisms.privacy.queries import LaplaceNoise
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_laplace,
    simulate_laplace_sums,
)
from hallmark.mechanisms.wasserstein.pmm.design import Design, Estimator
from hallmark.mechanisms.wasserstein.pmm.tree import transport_cost

BATCH = 1 << 21  # noisy entries simulated at a time
SIMULATION_BYTES = BATCH * 8 * 6  # entries, estimates up and down the tree, and their temporaries


class NoiseModel:
    """Discrete Laplace noise on the levels of a partition, and the estimates that it passes to."""

    def __init__(self, design: Design, partition: Partition, scales: Sequence[Fraction]) -> None:
        """`scales` of the lowest levels, leaves last; a root without one is public and exact."""
        self._design = design
        self._partition = partition
        self._exact_levels = partition.depth + 1 - len(scales)
        self._scales = tuple(scales)

    @property
    def entries(self) -> int:
        """Number of noisy entries."""
        return sum(self._design.entries(level) for level, _ in self._noisy_levels())

    @cached_property
    def costs(self) -> list[Floats]:
        """`Partition.flow_costs` of levels 0, ..., depth - 1."""
        return [self._partition.flow_costs(level) for level in range(self._partition.depth)]

    @cached_property
    def leaves(self) -> Estimator:
        """Makes leaf estimates, shape (..., leaves), of the answers of all levels."""
        variances = [0.0] * self._exact_levels + [
            LaplaceNoise(scale).variance for scale in self._scales
        ]
        return self._design.estimator(variances, self._partition.empties)

    def one_way(self, leaves: Floats) -> tuple[Floats, ...]:
        """One-way histograms of leaf estimates, shape (..., cells) per attribute."""
        attributes = range(len(self._partition.domain))
        return tuple(self._partition.one_way(attribute, leaves) for attribute in attributes)

    def simulate(
        self, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[ColumnErrors, Floats]]:
        """Batches of fresh draws: errors of the one-way estimates, and of the leaf estimates.

        The second is of shape (draws of the batch, 2): what evening out the error of the leaf
        estimates costs, in records times distance, a wrong total included; and the error of the
        estimated number of records.
        """
        for batch in _batches(draws, self.entries):
            noise: list[Counts] = [np.zeros((batch, 1), dtype=np.int64)] * self._exact_levels
            for level, scale in self._noisy_levels():
                noise.append(
                    simulate_discrete_laplace(rng, scale, (batch, self._design.entries(level)))
                )
            leaves = self.leaves(noise)
            total = np.zeros(batch) if self._exact_levels else leaves.sum(axis=-1)
            moved = transport_cost(leaves, self.costs) + np.abs(total)
            errors = ColumnErrors(counts=self.one_way(leaves), total=total)
            yield errors, np.stack([moved, total], axis=1)

    def simulate_columns(self, draws: int, rng: np.random.Generator) -> Iterator[ColumnErrors]:
        """Batches of errors of the one-way estimates, from far fewer numbers than a tree has.

        All that a level tells of one attribute is sums of its answers over nodes whose boxes share
        an interval of the attribute. An estimate from these sums has the law of the tree's own
        where no box is empty, and errs slightly more elsewhere. Attributes err independently here,
        as they do in truth, but for the root, if the answers are differences between siblings.
        """
        columns = [self._column(attribute) for attribute in range(len(self._partition.domain))]
        for batch in _batches(draws, max(column.entries for column in columns)):
            counts, totals = zip(*(column.simulate(batch, rng) for column in columns), strict=True)
            total = np.zeros(batch) if self._exact_levels else totals[0]
            yield ColumnErrors(counts=counts, total=total)

    def _column(self, attribute: int) -> "_Column":
        partition = self._partition
        tree = partition.alone(attribute)
        told: list[list[_Source]] = [[] for _ in range(tree.depth + 1)]
        for level, scale in self._noisy_levels():
            if level == 0 or self._design.concerns(partition.splits[level - 1] == attribute):
                times = partition.splits[:level].count(attribute)
                terms = partition.occupied_beside(attribute, level)
                told[times].append(_Source(terms=terms, scale=scale))
        if self._exact_levels:
            told[0] = []
        return _Column(self._design, tree, told)

    def _noisy_levels(self) -> Iterator[tuple[int, Fraction]]:
        return zip(range(self._exact_levels, self._partition.depth + 1), self._scales, strict=True)


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Sums of `terms` noisy answers each, independent, of the same scale."""

    terms: int
    scale: Fraction

    @property
    def precision(self) -> float:
        """One over the variance, records^-2."""
        return 1 / (self.terms * LaplaceNoise(self.scale).variance)

    def simulate(self, rng: np.random.Generator, size: tuple[int, int]) -> Counts:
        if self.terms == 1:
            return simulate_discrete_laplace(rng, self.scale, size)
        return simulate_laplace_sums(rng, self.scale, self.terms, size)


class _Column:
    """One attribute's own tree, and what all levels of the partition's tell of its levels.

    Where several tell of the same level, their answers are averaged by precision. A level that
    nothing tells of is exact.
    """

    def __init__(self, design: Design, tree: Partition, told: Sequence[Sequence[_Source]]) -> None:
        self._design, self._tree, self._told = design, tree, told
        self._precisions = [sum(source.precision for source in sources) for sources in told]
        variances = [1 / precision if precision else 0.0 for precision in self._precisions]
        self._leaves = design.estimator(variances, tree.empties)

    @property
    def entries(self) -> int:
        """Number of noisy entries."""
        return sum(
            len(sources) * self._design.entries(level) for level, sources in enumerate(self._told)
        )

    def simulate(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Errors of the histogram, shape (draws, cells), and of the number of records."""
        noise = []
        for level, (sources, precision) in enumerate(
            zip(self._told, self._precisions, strict=True)
        ):
            answers = np.zeros((draws, self._design.entries(level)))
            for source in sources:
                share = source.precision / precision
                answers += share * source.simulate(rng, answers.shape)
            noise.append(answers)
        leaves = self._leaves(noise)
        return self._tree.one_way(0, leaves), leaves.sum(axis=-1)


def _batches(draws: int, entries: int) -> Iterator[int]:
    """Sizes of batches of `draws`, so that about `BATCH` entries are simulated at a time."""
    size = max(1, BATCH // max(1, entries))
    for start in range(0, draws, size):
        yield min(size, draws - start)
