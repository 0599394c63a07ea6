"""Whole releases of linear queries on small domains, with real curators or with simulated noise."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hallmark.mechanisms.contract import Certificate, Measurements
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries.kinds import Part
from hallmark.mechanisms.linear_queries.plan import LinearQueryPlan
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from tests.mechanisms.linear_queries.adaptive_runs import BUDGET, REPLACE


def plan_of(
    name: str,
    domain: Domain,
    queries: Iterable[Part] | Workload | None,
    *,
    budget: Budget = BUDGET,
    adjacency: Adjacency = REPLACE,
    rows: int = 400,
    **given: Any,
) -> LinearQueryPlan:
    """The plan of a release that answers the queries."""
    if queries is not None and not isinstance(queries, Workload):
        queries = Workload.of(domain, queries)
    plan = MECHANISMS[name].plan(
        Request(
            domain=domain,
            budget=budget,
            adjacency=adjacency,
            expected_records=rows,
            parameters={"queries": queries, **given},
        )
    )
    assert isinstance(plan, LinearQueryPlan)
    return plan


def simulated(plan: LinearQueryPlan, codes: np.ndarray, seed: int) -> SimulatedCurator:
    """Draws noise of the same law, and many times as fast: for statistics of many releases."""
    rng = np.random.default_rng([7, seed])
    return SimulatedCurator(codes=codes, adjacency=plan.adjacency, rng=rng)


def released(
    plan: LinearQueryPlan, curator: Any, seed: int = 0, confidence: float = 0.9
) -> tuple[Measurements, np.ndarray, Certificate]:
    """What was measured, the records made of it, and their certificate."""
    mechanism, rng = MECHANISMS[plan.mechanism], np.random.default_rng(seed)
    measured = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    made = mechanism.generate(plan, measured, rows=None, rng=rng)
    certificate = mechanism.certify(plan, measured, made, confidence=confidence, rng=rng)
    return measured, made.codes, certificate
