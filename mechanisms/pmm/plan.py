"""Plan PMM: how deep the partition goes and how the budget is shared among its levels.

Claim.   The curator's answers to `PMMPlan.queries` are epsilon-differentially private under
         `PMMPlan.adjacency`, with epsilon exactly that of the budget.
Proof.   A unit changes one level's counts by at most c = `adjacency.l1` in L1 norm, and a level
         with noise scale b costs c / b. The levels' costs are the parts of the budget, which sum to
         it as rationals. Under replace-one of single records the root is the same for all
         neighbours and is not measured.
Scales.  With weights a_j (1 for the root, 3/2 below), PMM's expected error is at most
         (1/n) sum_j a_j b_j C_j + leaf diameter, where C_j sums, over the parents of level j, the
         cost of a move between their children. Minimised under sum_j c / b_j = epsilon by
         cost c / b_j proportional to sqrt(a_j C_j).
Source.  He, Vershynin, Zhu (2023), arXiv:2302.05552, Theorems 9 to 11, whose privacy claim holds
         for adding and removing records only and whose constants are corrected in pmm.md.
Oracle.  tests/mechanisms/pmm/test_plan.py enumerates all neighbours of small tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, get_args

import numpy as np

from mechanisms.certificates.one_way import forecast_one_way
from mechanisms.certificates.simultaneous import PILOT
from mechanisms.contract import Forecast, NoiseLine
from mechanisms.geometry.domain import Domain
from mechanisms.geometry.partition import Partition, split_order
from mechanisms.pmm.noise import SIMULATION_BYTES, NoiseModel, variance
from mechanisms.pmm.tree import Consistency
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.events import Event, merged
from mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from mechanisms.privacy.transforms import LevelSums

FORECAST_CONFIDENCE = 0.975  # of the columns: half of what a certificate at 0.95 leaves
MAX_DEPTH = 20  # a million leaves
PARTS = 10_000  # the budget is shared among levels in this many equal parts
PAIR = 1.5  # E max(|x|, |y|) <= PAIR * scale for two discrete Laplace variables
ROOT = 1.0  # E |x| <= ROOT * scale


@dataclass(frozen=True, eq=False, kw_only=True)
class PMMPlan:
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        partition: the tree whose levels are counted.
        scales: noise scale of every measured level, records: levels 1 to depth where the number of
            records is public, else 0 to depth.
        consistency: how noisy counts are made to add up; affects quality, not privacy.
    """

    domain: Domain
    adjacency: Adjacency
    budget: Budget
    expected_records: int
    partition: Partition
    scales: tuple[Fraction, ...]
    consistency: Consistency

    @property
    def mechanism(self) -> str:
        return "pmm"

    @property
    def source(self) -> str:
        return (
            "He, Vershynin, Zhu (2023), Algorithmically effective differentially private synthetic "
            "data, COLT, Algorithms 3 and 4, with the accounting corrected for the neighbouring "
            "relation"
        )

    @property
    def levels(self) -> range:
        """Levels of the tree that are measured, the root first where it is."""
        return measured_levels(self.adjacency, self.partition.depth)

    @cached_property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """One query per measured level, in their order."""
        depth, cells = self.partition.depth, self.partition.leaf_map
        return tuple(
            HistogramQuery(cells, LaplaceNoise(scale), LevelSums(depth - level))
            for level, scale in zip(self.levels, self.scales, strict=True)
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.queries)

    def noise_model(self) -> NoiseModel:
        """The law of the noise and of the estimates made from it."""
        return NoiseModel(self.partition, self.scales)

    @property
    def coarsening(self) -> tuple[float, ...]:
        """`Partition.coarsening` of every attribute."""
        return tuple(self.partition.coarsening(a) for a in range(len(self.domain)))

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        epsilon = self.budget.epsilon
        return tuple(
            NoiseLine(
                query=f"level {level} of the partition: {_share(self, scale, epsilon)} of epsilon",
                cells=1 << level,
                family="discrete Laplace",
                parameter=f"scale = {scale} records",
                standard_deviation=sqrt(variance(scale)),
                sensitivity=f"L1 = {query.transform.l1(self.adjacency)} records",
                source="mechanisms/privacy/transforms.py, LevelSums; a level is a histogram",
            )
            for level, scale, query in zip(self.levels, self.scales, self.queries, strict=True)
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        names = [attribute.name for attribute in self.domain.attributes]
        return {
            "depth": self.partition.depth,
            "consistency": self.consistency,
            "splits": [names[split] for split in self.partition.splits],
            "scales": [str(scale) for scale in self.scales],
        }

    def forecast(self) -> Forecast:
        """Proven bound on the mean of the joint error, and the 1-way certificates to expect."""
        partition = self.partition
        costs = level_costs(self.domain, partition.splits, self.levels)
        weights = [PAIR if level else ROOT for level in self.levels]
        spent = sum(
            weight * float(scale) * cost
            for weight, scale, cost in zip(weights, self.scales, costs, strict=True)
        )
        finest = float(partition.diameters(partition.depth).max())
        error = spent / max(self.expected_records, 1) + finest
        tree = 16 * partition.leaves * 8  # counts, diameters, masks, weights of all levels
        records = self.expected_records * (4 * len(self.domain) + 24)
        return Forecast(
            metric="1-Wasserstein distance of the joint distribution, columns in the largest-"
            "difference metric, as a share of the diameter",
            expected_error=min(1.0, error),
            statement="proven upper bound on the mean error; the error seen is usually well below",
            memory_bytes=tree + max(records, SIMULATION_BYTES),
            per_attribute=self._forecast_columns(),
        )

    def _forecast_columns(self) -> Mapping[str, float]:
        rng = np.random.default_rng(0)  # a forecast is the same each time it is asked for
        batches = self.noise_model().simulate(PILOT + 99, rng)
        return forecast_one_way(
            self.domain,
            (one_way for one_way, _ in batches),
            expected_records=self.expected_records,
            total_is_public=self.adjacency.total_is_public,
            confidence=FORECAST_CONFIDENCE,
            coarsening=self.coarsening,
        )


def make_plan(
    domain: Domain,
    *,
    budget: Budget,
    adjacency: Adjacency,
    expected_records: int,
    parameters: Mapping[str, Any],
) -> PMMPlan:
    """Spend exactly `budget.epsilon`; a delta in the budget stays unused. Public.

    Raises:
        ValueError: an unknown parameter, a depth the domain does not have, a consistency rule that
            does not exist, or an expected number of records below 1.
    """
    unknown = sorted(set(parameters) - {"depth", "consistency"})
    if unknown:
        raise ValueError(
            f"mechanism.{unknown[0]}: PMM has no such parameter; it knows depth and consistency"
        )
    if expected_records < 1:
        raise ValueError(f"expected number of records: {expected_records}; give at least 1")
    consistency = parameters.get("consistency", "uniform")
    if consistency not in get_args(Consistency):
        raise ValueError(f"mechanism.consistency: {consistency!r}; use 'uniform' or 'proportional'")
    order = split_order(domain, MAX_DEPTH)
    depth = parameters.get("depth", "auto")
    if depth == "auto":
        depth = best_depth(domain, order, budget, adjacency, expected_records)
    elif not isinstance(depth, int) or isinstance(depth, bool) or not 0 <= depth <= len(order):
        raise ValueError(
            f"mechanism.depth: {depth!r}; use 'auto' or a whole number from 0 to {len(order)}, "
            "where the boxes of this domain are single cells or a million"
        )
    levels = measured_levels(adjacency, depth)
    costs = level_costs(domain, order[:depth], levels)
    return PMMPlan(
        domain=domain,
        adjacency=adjacency,
        budget=budget,
        expected_records=expected_records,
        partition=Partition(domain, order[:depth]),
        scales=optimal_scales(levels, costs, adjacency, budget),
        consistency=consistency,
    )


def measured_levels(adjacency: Adjacency, depth: int) -> range:
    """Levels that need measuring: the root only where the number of records is private."""
    return range(1 if adjacency.total_is_public else 0, depth + 1)


def level_costs(domain: Domain, splits: tuple[int, ...], levels: range) -> list[float]:
    """Cost C_j of noise at each level: sum of `flow_costs` over its parents; 1 for the root."""
    partition = Partition(domain, splits)
    return [float(partition.flow_costs(level - 1).sum()) if level else 1.0 for level in levels]


def optimal_scales(
    levels: range, costs: list[float], adjacency: Adjacency, budget: Budget
) -> tuple[Fraction, ...]:
    """Noise scales that cost exactly `budget.epsilon` and nearly minimise the error bound."""
    if not levels:
        return ()
    weights = np.sqrt(
        [(PAIR if level else ROOT) * cost for level, cost in zip(levels, costs, strict=True)]
    )
    parts = np.maximum(1, np.floor(PARTS * weights / weights.sum())).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    scales = tuple(adjacency.l1 * PARTS / (int(part) * budget.epsilon) for part in parts)
    assert sum(adjacency.l1 / scale for scale in scales) == budget.epsilon
    return scales


def best_depth(
    domain: Domain,
    order: tuple[int, ...],
    budget: Budget,
    adjacency: Adjacency,
    expected_records: int,
) -> int:
    """Depth with the least bound on the expected error; at least 1 where the domain allows it."""
    partition = Partition(domain, order)
    signal = float(budget.epsilon) * expected_records / adjacency.l1
    root = 0.0 if adjacency.total_is_public else sqrt(ROOT)
    best, least = 0, np.inf
    for depth in range(1, len(order) + 1):
        root += sqrt(PAIR * float(partition.flow_costs(depth - 1).sum()))
        if root**2 / signal > least:
            break  # the noise alone is worse than the best so far, and it only grows
        bound = root**2 / signal + float(partition.diameters(depth).max())
        if bound < least:
            best, least = depth, bound
    return best


def _share(plan: PMMPlan, scale: Fraction, epsilon: Fraction) -> str:
    return f"{float(plan.adjacency.l1 / scale / epsilon):.1%}"
