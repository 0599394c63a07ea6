"""Runs of mechanisms over one histogram, with noise that a seed fixes."""

from fractions import Fraction

import numpy as np

from hallmark.mechanisms.contract import Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter, count_codes
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.simulation import simulate_discrete_laplace
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.single_histogram.mechanism import HistogramMechanism
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan


def make(
    mechanism: HistogramMechanism,
    domain: Domain,
    adjacency: Adjacency,
    *,
    records: int = 100,
    epsilon: Fraction = Fraction(1),
    **parameters: object,
) -> HistogramPlan:
    return mechanism.plan(
        Request(
            domain=domain,
            budget=Budget(epsilon=epsilon),
            adjacency=adjacency,
            expected_records=records,
            parameters=parameters,
        )
    )


def measured(
    plan: HistogramPlan, codes: np.ndarray, rng: np.random.Generator, call: str = "histogram"
) -> tuple[Measurements, list[np.ndarray]]:
    """Noisy answers as the curator gives them, and the noise in them."""
    tables, noises = [], []
    for query in plan.queries:
        exact = query.transform(count_codes(codes, [query.cells])[0])
        noises.append(simulate_discrete_laplace(rng, query.noise.scale, len(exact)))
        tables.append(exact + noises[-1])
    total = len(codes) if plan.adjacency.total_is_public else None
    return Measurements(tables={call: tuple(tables)}, total=total), noises


def error_of(plan: HistogramPlan, noises: list[np.ndarray]) -> np.ndarray:
    """Error of the estimate that this noise makes."""
    return plan.design.strategy.estimate(noises, 0 if plan.adjacency.total_is_public else None)


def shares(plan: HistogramPlan, codes: np.ndarray) -> np.ndarray:
    """Distribution of records over the points."""
    grid = plan.design.grid
    return np.bincount(grid.cells(codes), minlength=grid.size) / len(codes)


def generated(
    mechanism: HistogramMechanism,
    plan: HistogramPlan,
    measurements: Measurements,
    rows: int | None = None,
) -> SyntheticMeasure:
    return mechanism.generate(
        plan,
        measurements,
        rows=rows,
        rng=np.random.default_rng(0),
    )


def curator_of(plan: HistogramPlan, codes: np.ndarray, folder: object) -> Curator:
    """A curator with a fresh ledger in the folder, on which the plan's budget is reserved."""
    ledger = Ledger(f"sqlite:///{folder}/ledger.sqlite")
    ledger.open_account(
        "people", cap=plan.budget, adjacency=plan.adjacency, by="steward", reason="a test"
    )
    ledger.reserve("people", "r1", plan.budget, adjacency=plan.adjacency, binding="plan")
    return Curator(
        counter=ArrayCounter(codes),
        ledger=ledger,
        release="r1",
        adjacency=plan.adjacency,
        budget=plan.budget,
    )
