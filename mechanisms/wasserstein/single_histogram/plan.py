"""A plan that measures one histogram over all columns, and what such plans have in common.

Claim.   The curator's answers to `HistogramPlan.queries` are epsilon-differentially private under
         `HistogramPlan.adjacency`, with epsilon that of the budget.
Proof.   The strategy states every query with its noise; their costs sum to epsilon as rationals
         (`mechanisms/blocks/strategies`).
Oracle.  tests/mechanisms/wasserstein/psmm/test_plan.py and
         tests/mechanisms/wasserstein/superregular/test_plan.py enumerate all neighbours of small
         tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from hallmark.mechanisms.blocks.estimate import FamilyEstimator
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.certificates.joint import JOINT
from hallmark.mechanisms.contract import Forecast, NoiseLine
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import (
    BlockSums,
    LevelSums,
    Total,
    Transform,
    TreeDifferences,
)
from hallmark.mechanisms.request import Requested
from hallmark.mechanisms.wasserstein.single_histogram.design import Design

_MEASURED: Mapping[type[Transform], str] = {
    BlockSums: "counts of stretches of the path",
    LevelSums: "histogram of the grid",
    TreeDifferences: "differences between the halves of stretches of the path",
    Total: "number of records",
}
Projection = Literal["path", "transport"]
_BYTES_PER_POINT = 2000  # graph, tree, flow, and a hundred simulations at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramPlan(Requested):
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        mechanism: its name.
        source: paper and statement that it implements.
        design: the grid, and the noise on its histogram.
        projection: in which distance the nearest distribution is taken: along the path through the
            points, or of the points themselves.
        settings: the constants that shaped the design.
    """

    mechanism: str
    source: str
    design: Design
    projection: Projection
    settings: Mapping[str, Any]

    @property
    def family(self) -> Family:
        """The grid, as a family of one block."""
        return self.design.family

    @cached_property
    def estimator(self) -> FamilyEstimator:
        """Makes the estimate of the histogram, and simulates its error."""
        return FamilyEstimator(self.family, (self.design.strategy,), self.adjacency)

    @property
    def queries(self) -> tuple[HistogramQuery, ...]:
        return self.estimator.queries

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        parts = zip(self.queries, self.design.strategy.noise, strict=True)
        return tuple(
            NoiseLine.of(query, _MEASURED[type(query.transform)], entries, adjacency=self.adjacency)
            for query, (_, entries) in parts
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "cells": self.design.grid.k,
            "points": list(self.design.grid.shape),
            "noise": self.design.strategy.name,
            "scales": [
                str(query.noise.scale)
                for query in self.queries
                if isinstance(query.noise, LaplaceNoise)
            ],
            **self.settings,
        }

    def forecast(self) -> Forecast:
        """The bound on the mean error that the grid was chosen by."""
        return Forecast(
            metric=f"{JOINT}, as a share of the diameter",
            expected_error=min(1.0, self.design.expected_error(self.expected_records)),
            statement=(
                "bound on the mean error, with the cost of the noise simulated; the error seen is "
                "usually well below"
            ),
            memory_bytes=_BYTES_PER_POINT * self.design.grid.size
            + self.expected_records * (4 * len(self.domain) + 24),
        )
