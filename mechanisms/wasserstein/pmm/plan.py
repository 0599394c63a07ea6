"""Plan PMM and PMM-H: how deep the partition goes, and how the budget is shared among its levels.

Claim.   The curator's answers to `PMMPlan.queries` are epsilon-differentially private under
         `PMMPlan.adjacency`, with epsilon exactly that of the budget.
Proof.   A unit changes the answer of one level, counts or differences, by at most c_j in L1 norm:
         `adjacency.l1`, or at the root `adjacency.records`, the most that a number of records
         changes by. A level with noise scale b costs c_j / b. The levels' costs
         are the parts of the budget, which sum to it as rationals. Under replace-one of single
         records the root is the same for all neighbours and is not measured.
Scales.  With weights a_j (1 for the root, `Design.flow` below), the expected error is at most
         (1/n) sum_j a_j b_j C_j + leaf diameter, where C_j sums, over the parents of level j, the
         cost of a move between their children; what rounding costs is on top. Minimised under
         sum_j c_j / b_j = epsilon by cost c_j / b_j proportional to sqrt(a_j c_j C_j).
Source.  He, Vershynin, Zhu (2023), arXiv:2302.05552, Theorems 9 to 11, whose privacy claim holds
         for adding and removing records only and whose constants are corrected in pmm.md.
Oracle.  tests/mechanisms/wasserstein/pmm/test_plan.py enumerates all neighbours of small tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.certificates.simultaneous import PILOT
from hallmark.mechanisms.certificates.single_columns import forecast_single_columns
from hallmark.mechanisms.contract import Forecast, NoiseLine
from hallmark.mechanisms.geometry.partition import Partition, split_order
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import Total
from hallmark.mechanisms.request import Request, Requested
from hallmark.mechanisms.wasserstein.pmm.design import Design
from hallmark.mechanisms.wasserstein.pmm.noise_model import SIMULATION_BYTES, NoiseModel

FORECAST_CONFIDENCE = 0.975  # of the columns: half of what a certificate at 0.95 leaves
LEVELS_CALL = "levels"  # of everything that is measured
MAX_DEPTH = 22  # four million leaves: one more level doubles gigabytes and minutes
PARTS = 10_000  # the budget is shared among levels in this many equal parts
ROOT = 1.0  # E |x| <= ROOT * scale
LEAF_BYTES = 16 * 8  # of counts, diameters, masks and weights of all levels
RECORD_BYTES, CODE_BYTES = 24, 4  # leaf, count and copy of a record; code of each of its columns


@dataclass(frozen=True, eq=False, kw_only=True)
class PMMPlan(Requested):
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        partition: the tree whose levels are counted.
        scales: noise scale of every measured level, records: levels 1 to depth where the number of
            records is public, else 0 to depth.
        design: what is measured of every level, and how it is put together.
    """

    partition: Partition
    scales: tuple[Fraction, ...]
    design: Design

    @property
    def mechanism(self) -> str:
        return self.design.mechanism

    @property
    def source(self) -> str:
        return self.design.source

    @property
    def levels(self) -> range:
        """Levels of the tree that are measured, the root first where it is."""
        return measured_levels(self.adjacency, self.partition.depth)

    @cached_property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """One query per measured level, in their order."""
        depth, cells = self.partition.depth, self.partition.leaf_map
        return tuple(
            HistogramQuery(
                cells,
                LaplaceNoise(scale),
                self.design.transform(depth - level) if level else Total(),
            )
            for level, scale in zip(self.levels, self.scales, strict=True)
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.queries)

    def noise_model(self) -> NoiseModel:
        """The law of the noise and of the estimates made from it."""
        return NoiseModel(self.design, self.partition, self.scales)

    @property
    def coarsening(self) -> tuple[float, ...]:
        """`Partition.coarsening` of every attribute."""
        return tuple(self.partition.coarsening(a) for a in range(len(self.domain)))

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        return tuple(
            NoiseLine.of(
                query,
                f"{self._words(level)}: {self._share(level, scale):.1%} of epsilon",
                self.design.entries(level),
                adjacency=self.adjacency,
            )
            for level, scale, query in zip(self.levels, self.scales, self.queries, strict=True)
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        names = [attribute.name for attribute in self.domain.attributes]
        return {
            "depth": self.partition.depth,
            **self.design.parameters,
            "splits": [names[split] for split in self.partition.splits],
            "scales": [str(scale) for scale in self.scales],
        }

    def forecast(self) -> Forecast:
        """Proven bound on the mean of the joint error, and the 1-way certificates to expect."""
        partition, records = self.partition, self.expected_records
        costs = [level_cost(partition, level) for level in self.levels]
        weights = level_weights(self.design, self.levels)
        noise = float(np.array([float(scale) for scale in self.scales]) @ (weights * costs))
        rounding = self.design.rounding * sum(
            cost for level, cost in zip(self.levels, costs, strict=True) if level
        )
        finest = float(partition.diameters(partition.depth).max())
        memory = partition.leaves * LEAF_BYTES + max(
            records * (RECORD_BYTES + CODE_BYTES * len(self.domain)), SIMULATION_BYTES
        )
        return Forecast(
            metric="1-Wasserstein distance of the joint distribution, columns in the largest-"
            "difference metric, as a share of the diameter",
            expected_error=min(1.0, (noise + rounding) / records + finest),
            statement="proven upper bound on the mean error; the error seen is usually well below",
            memory_bytes=memory,
            per_attribute=self._forecast_columns(),
        )

    def _forecast_columns(self) -> Mapping[str, float]:
        rng = np.random.default_rng(0)  # a forecast is the same each time it is asked for
        return forecast_single_columns(
            self.domain,
            self.noise_model().simulate_columns(PILOT + 99, rng),
            expected_records=self.expected_records,
            total_is_public=self.adjacency.total_is_public,
            confidence=FORECAST_CONFIDENCE,
            coarsening=self.coarsening,
        )

    def _words(self, level: int) -> str:
        return self.design.words(level) if level else "number of records"

    def _share(self, level: int, scale: Fraction) -> float:
        """Part of the budget that a level with this noise scale costs."""
        return float(level_sensitivity(self.adjacency, level) / scale / self.budget.epsilon)


def make_plan(design: Design, request: Request) -> PMMPlan:
    """Spend exactly `budget.epsilon`; a delta in the budget stays unused. Public.

    Raises:
        ValueError: `depth` is set, and neither "auto" nor a number of levels that the domain has.
    """
    domain, adjacency = request.domain, request.adjacency
    order = split_order(domain, MAX_DEPTH)
    depth = request.parameters.get("depth", "auto")
    if depth == "auto":
        depth = best_depth(design, Partition(domain, order), request)
    elif not isinstance(depth, int) or isinstance(depth, bool) or not 0 <= depth <= len(order):
        raise ValueError(
            f"mechanism.depth: {depth!r}; use 'auto' or a whole number from 0 to {len(order)}, "
            "where the boxes of this domain are single cells or four million"
        )
    partition = Partition(domain, order[:depth])
    levels = measured_levels(adjacency, depth)
    return PMMPlan(
        request=request,
        partition=partition,
        scales=optimal_scales(design, partition, levels, adjacency, request.budget),
        design=design,
    )


def measured_levels(adjacency: Adjacency, depth: int) -> range:
    """Levels that need measuring: the root only where the number of records is private."""
    return range(1 if adjacency.total_is_public else 0, depth + 1)


def level_cost(partition: Partition, level: int) -> float:
    """Cost C_j of noise at a level: sum of `flow_costs` over its parents; 1 for the root."""
    return float(partition.flow_costs(level - 1).sum()) if level else 1.0


def level_sensitivity(adjacency: Adjacency, level: int) -> int:
    """How much one unit changes a level's answer: L1 norm, in records."""
    return adjacency.l1 if level else Total().l1(adjacency)


def level_weights(design: Design, levels: range) -> Floats:
    """Records misplaced at most, on average, per unit of a level's noise scale and of its cost."""
    return np.array([design.flow if level else ROOT for level in levels])


def optimal_scales(
    design: Design, partition: Partition, levels: range, adjacency: Adjacency, budget: Budget
) -> tuple[Fraction, ...]:
    """Noise scales that cost exactly `budget.epsilon` and nearly minimise the error bound."""
    if not levels:
        return ()
    costs = [level_cost(partition, level) for level in levels]
    moved = [level_sensitivity(adjacency, level) for level in levels]
    weights = np.sqrt(level_weights(design, levels) * np.array(moved) * costs)
    parts = np.maximum(1, np.floor(PARTS * weights / weights.sum())).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    scales = tuple(
        change * PARTS / (int(part) * budget.epsilon)
        for change, part in zip(moved, parts, strict=True)
    )
    assert sum(c / scale for c, scale in zip(moved, scales, strict=True)) == budget.epsilon
    return scales


def best_depth(design: Design, finest: Partition, request: Request) -> int:
    """Depth with the least bound on the expected error; at least 1 where the domain allows it."""
    adjacency, expected_records = request.adjacency, request.expected_records
    signal = float(request.budget.epsilon) * expected_records / adjacency.l1
    root = 0.0
    if not adjacency.total_is_public:
        root = sqrt(ROOT * level_sensitivity(adjacency, 0) / adjacency.l1)
    rounding, best, least = 0.0, 0, np.inf
    for depth in range(1, finest.depth + 1):
        cost = level_cost(finest, depth)
        root += sqrt(design.flow * cost)
        rounding += design.rounding * cost / expected_records
        if root**2 / signal + rounding > least:
            break  # these alone are worse than the best so far, and they only grow
        bound = root**2 / signal + rounding + float(finest.diameters(depth).max())
        if bound < least:
            best, least = depth, bound
    return best
