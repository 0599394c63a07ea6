"""Runs of mechanisms over one histogram, with noise that a seed fixes."""

from pathlib import Path
from typing import Any

import numpy as np

from hallmark.mechanisms.compute import Serial
from hallmark.mechanisms.contract import Measurements, Mechanism, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.wasserstein.single_histogram.mechanism import HistogramMechanism
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan
from tests.builders.columns import nominal
from tests.builders.releases import request, simulated


def make(
    mechanism: HistogramMechanism, domain: Domain, adjacency: Adjacency, **asked: Any
) -> HistogramPlan:
    return mechanism.plan(request(domain, adjacency, **asked))


def measured(
    plan: HistogramPlan, codes: np.ndarray, rng: np.random.Generator
) -> tuple[Measurements, list[np.ndarray]]:
    """Noisy answers as the curator gives them, and the noise in them."""
    measurements = simulated(MECHANISMS[plan.mechanism], plan, codes, rng)
    (answers,) = measurements.tables.values()
    noises = [
        answer - query.transform(count_codes(codes, [query.cells])[0])
        for query, answer in zip(plan.queries, answers, strict=True)
    ]
    return measurements, noises


def error_of(plan: HistogramPlan, noises: list[np.ndarray]) -> np.ndarray:
    """Error of the estimate that this noise makes."""
    return plan.design.strategy.estimate(noises, 0 if plan.adjacency.total_is_public else None)


def shares(plan: HistogramPlan, codes: np.ndarray) -> np.ndarray:
    """Distribution of records over the points."""
    grid = plan.design.grid
    return np.bincount(grid.cells(codes), minlength=grid.size) / len(codes)


def generated(
    mechanism: Mechanism, plan: Any, measurements: Measurements, rows: int | None = None
) -> SyntheticMeasure:
    return mechanism.generate(plan, measurements, rows=rows, rng=np.random.default_rng(0))


def misses(
    mechanism: HistogramMechanism,
    adjacency: Adjacency,
    folder: Path,
    *,
    releases: int,
    understated: int = 1,
    **parameters: object,
) -> int:
    """Releases of a flag whose worst synthetic table exceeds some bound of confidence 0.8.

    All synthetic records lie in the cell that the noise makes look fuller than it is, so that only
    the quantile of the noise stands between the distance and the bound.
    """
    domain, rng = Domain((nominal("flag", 2),)), np.random.default_rng(7)
    plan, certifier = (
        make(mechanism, domain, adjacency, records=400, epsilon=times, **parameters)
        for times in (1, understated)
    )
    codes = np.repeat([[0], [1]], [150, 250], axis=0)
    missed = 0
    for _ in range(releases):
        measurements, noises = measured(plan, codes, rng)
        error = error_of(plan, noises)
        end = int(error[1] > error[0])
        certificate = mechanism.certify(
            certifier,
            measurements,
            SyntheticMeasure(codes=np.full((1, 1), end, dtype=np.int32)),
            confidence=0.8,
            rng=rng,
            execution=Execution(compute=Serial(folder)),
        )
        distance = (codes[:, 0] != end).mean()
        missed += any(distance > bound.value + 1e-12 for bound in certificate.bounds)
    return missed
