"""A distribution that gives every cell of an enumerated universe its share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.marginals.generators.rounding import rounded_sample


@dataclass(frozen=True, eq=False)
class Weights:
    """Shares of the cells of a universe.

    Attributes:
        shares: nonnegative and summing to 1, shape (universe.size,).
    """

    universe: Universe
    shares: Floats

    @property
    def history(self) -> Mapping[str, Any]:
        """Empty: the number of steps is the planned one, and none has a result to judge."""
        return {}

    def answers(self) -> Floats:
        """Answers to all queries, shape (queries,)."""
        return self.universe.answers(self.shares)

    def cells(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Every cell's share of `rows`, rounded up or down; the mean is exact."""
        drawn = rounded_sample(self.shares, rows, rng)
        return np.stack(np.unravel_index(drawn, self.universe.shape), axis=1).astype(np.int64)


def tilted(uniform: Floats, exponents: Floats) -> Floats:
    """Shares proportional to `uniform * exp(exponents)`, without overflow.

    Exponents where `uniform` is 0 may be any; they count for nothing.
    """
    top = exponents.max(where=uniform > 0, initial=-np.inf)
    shares: Floats = uniform * np.exp(np.minimum(exponents - top, 0.0))
    return shares / shares.sum()
