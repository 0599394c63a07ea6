"""The joint estimate of all blocks of a family, and the law of its error.

Claim.   `FamilyEstimator.estimate` is linear in the answers and unbiased, so its error is the same
         function of the noise alone, which `simulate` draws; both cost nothing.
Proof.   Every strategy's estimate is linear and unbiased; spreading evenly what a table lacks to a
         public total and making tables consistent are linear and leave true tables as they are.
Oracle.  tests/mechanisms/blocks/test_estimate.py.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.consistency import Consistency
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.queries import HistogramQuery, Noise


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyEstimate:
    """Estimates, or errors of them, of all blocks' histograms.

    Attributes:
        tables: for every block, records, shape (..., size).
        total: of the number of records, shape (...): exact, and without error, where it is public.
            All tables sum to it.
    """

    tables: tuple[Floats, ...]
    total: Floats


@dataclass(frozen=True, eq=False)
class FamilyEstimator:
    """How a family is measured and estimated. Public; pickles.

    Attributes:
        family: what is estimated.
        strategies: one for every block, independent of each other.
        adjacency: decides whether the number of records is public.
    """

    family: Family
    strategies: tuple[Strategy, ...]
    adjacency: Adjacency

    def __post_init__(self) -> None:
        sizes = [block.space.size for block in self.family.blocks]
        if sizes != [strategy.size for strategy in self.strategies]:
            raise ValueError(f"blocks of {sizes} points need strategies of the same sizes")

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is known exactly."""
        return self.adjacency.total_is_public

    @cached_property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """Queries of all blocks, in order."""
        pairs = zip(self.strategies, self.family.blocks, strict=True)
        return tuple(query for strategy, block in pairs for query in strategy.queries(block.cells))

    def noise_lines(self, purpose: str = "") -> tuple[NoiseLine, ...]:
        """Lines of a plan's noise table, one for all queries that differ in their cells alone."""
        entries = [n for strategy in self.strategies for _, n in strategy.noise]
        owners = [b for b, strategy in enumerate(self.strategies) for _ in strategy.noise]
        alike: dict[tuple[str, str, Noise], list[int]] = {}
        for position, query in enumerate(self.queries):
            kind = (self.strategies[owners[position]].name, type(query.transform).__name__)
            alike.setdefault((*kind, query.noise), []).append(position)
        return tuple(
            NoiseLine.of(
                self.queries[positions[0]],
                f"{name} noise on {self._tables({owners[p] for p in positions})}{purpose}",
                sum(entries[position] for position in positions),
                adjacency=self.adjacency,
                times=len(positions),
            )
            for (name, _, _), positions in alike.items()
        )

    def _tables(self, blocks: Collection[int]) -> str:
        if len(blocks) == len(self.family):
            return self.family.title
        name = self.family.blocks[min(blocks)].name
        return name if len(blocks) == 1 else f"{len(blocks)} tables such as {name}"

    def estimate(self, answers: Sequence[NDArray[np.number]], total: int | None) -> FamilyEstimate:
        """Consistent estimates from the answers to `queries`.

        `total` is the number of records where it is public, else None.
        """
        remaining = iter(answers)
        tables = [
            strategy.estimate([next(remaining) for _ in strategy.noise], total)
            for strategy in self.strategies
        ]
        return self._made_consistent(tables, total)

    def simulate(self, draws: int, rng: np.random.Generator) -> FamilyEstimate:
        """Errors of `estimate` from fresh draws of the noise alone, shapes (draws, size)."""
        tables = [
            strategy.simulate(draws, rng, total_is_public=self.total_is_public)
            for strategy in self.strategies
        ]
        return self._made_consistent(tables, 0 if self.total_is_public else None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all that shapes the law of the error and the distances it is measured in."""
        parts = [str(self.total_is_public)]
        for block, strategy in zip(self.family.blocks, self.strategies, strict=True):
            parts += [repr(block.columns), block.space.digest, strategy.digest]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @cached_property
    def _consistency(self) -> Consistency:
        return Consistency(self.family)

    def _made_consistent(self, tables: Sequence[Floats], total: int | None) -> FamilyEstimate:
        if total is not None:  # some strategies leak mass: `strategies.haar.paper_haar`
            tables = [
                table + (total - table.sum(axis=-1, keepdims=True)) / table.shape[-1]
                for table in tables
            ]
        consistent = self._consistency(tables)
        estimated = consistent[0].sum(axis=-1)
        if total is not None:
            estimated = np.full_like(estimated, float(total))
        return FamilyEstimate(tables=consistent, total=estimated)
