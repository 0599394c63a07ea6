"""A distribution over a universe that is kept by the cliques of a junction tree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.graphical_models.propagation import Calibrated
from hallmark.mechanisms.graphical_models.query import Query
from hallmark.mechanisms.graphical_models.sampling import sample
from hallmark.mechanisms.linear_queries.universe import Universe


@dataclass(frozen=True, eq=False)
class RandomField:
    """A random field as a distribution over the cells of a universe.

    Attributes:
        history: how it was fitted; empty where the number of steps is the planned one.
    """

    universe: Universe
    calibrated: Calibrated
    history: Mapping[str, Any] = field(default_factory=dict)

    def answers(self) -> Floats:
        """Answers to all queries, shape (queries,)."""
        query = Query(self.calibrated)
        wanted = dict.fromkeys(self.universe.cliques)
        return self.universe.answers_to(
            {clique: query.marginal(clique).ravel() for clique in wanted}
        )

    def cells(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Records with counts as near to expectation as along the tree they can be."""
        codes = sample(self.calibrated, rows, rng)
        return codes[:, : len(self.universe.shape)].astype(np.int64)
