"""What a perturbed leader adds to the payoffs of records: public random numbers of few queries.

FEM has one for every coordinate, here for every cell of every column (a one-hot record); sepFEM one
for every query of a separator, a set in which any two cells differ on some query.

Source.  Vietri, Tian, Bun, Steinke, Wu (2020), New oracle-efficient algorithms for private
         synthetic data release, ICML; separators after Syrgkanis, Krishnamurthy, Schapire (2016).
Oracle.  tests/mechanisms/linear_queries/peers/test_perturbation.py.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.linear_queries.universe import Universe

MOST_VALUES = 2**26  # of a separator's queries on all cells: 512 MiB


class Perturbation(Protocol):
    """A law of random payoffs of all cells."""

    @property
    def coordinates(self) -> int:
        """The number of random numbers per draw."""
        ...

    def draw(self, draws: int, scale: float, rng: np.random.Generator) -> Floats:
        """Random payoffs for every cell, shape (draws, universe.size)."""
        ...


@dataclass(frozen=True, eq=False)
class ByCoordinate:
    """Exponential numbers, one for every cell of every column; a record has the sum of its own."""

    universe: Universe

    @property
    def coordinates(self) -> int:
        return sum(self.universe.shape)

    def draw(self, draws: int, scale: float, rng: np.random.Generator) -> Floats:
        shape = self.universe.shape
        numbers = rng.exponential(scale, (draws, self.coordinates))
        total = np.zeros((draws, 1))
        for own in np.split(numbers, np.cumsum(shape[:-1]), axis=1):
            total = (total[:, :, None] + own[:, None, :]).reshape(draws, -1)
        return total


@dataclass(frozen=True, eq=False)
class BySeparator:
    """Laplace numbers, one for every query of a separator, times the query.

    Attributes:
        queries: the separator.
    """

    universe: Universe
    queries: tuple[int, ...]

    @property
    def coordinates(self) -> int:
        return len(self.queries)

    @cached_property
    def _values(self) -> Floats:
        return np.stack([self.universe.values(query) for query in self.queries])

    def draw(self, draws: int, scale: float, rng: np.random.Generator) -> Floats:
        payoffs: Floats = rng.laplace(0.0, scale, (draws, len(self.queries))) @ self._values
        return payoffs


def separator(universe: Universe) -> BySeparator:
    """Queries of the workload that tell all cells apart: those that split most evenly first.

    Raises:
        ValueError: some cells are alike to all queries, or values would not fit into memory.
    """
    shares = universe.answers(universe.uniform)
    queries = universe.queries
    middle = (queries.least + queries.greatest) / (2 * queries.unit)
    group, groups, chosen = np.zeros(universe.size, dtype=np.int64), 1, list[int]()
    for query in np.argsort(np.abs(shares - middle), kind="stable"):
        if groups == universe.size:
            break
        _, level = np.unique(universe.values(int(query)), return_inverse=True)
        _, finer = np.unique(group * (level.max() + 1) + level, return_inverse=True)
        if finer.max() + 1 > groups:
            group, groups = finer, int(finer.max()) + 1
            chosen.append(int(query))
        if len(chosen) * universe.size > MOST_VALUES:
            raise ValueError(
                f"mechanism.queries: sep-fem needs a small set of queries in which any two of the "
                f"{universe.size:,} cells differ; that set would have more than {len(chosen)} "
                "queries; use fewer columns, or fem"
            )
    if groups < universe.size:
        raise ValueError(
            f"mechanism.queries: sep-fem needs queries in which any two cells differ, but these "
            f"tell only {groups:,} of {universe.size:,} cells apart (marginals that cover all "
            "columns do); add queries, or choose fem"
        )
    return BySeparator(universe, tuple(chosen))
