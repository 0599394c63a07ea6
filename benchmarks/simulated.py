"""Simulated releases, on which mechanisms are measured: of records that are public already.

Answers follow the law of the noise (`SimulatedCurator`) and protect nobody: never publish them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.contract import Measurements, Mechanism, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request

REPLACE_ONE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
DELTA = Fraction(1, 100_000)


def asked(
    domain: Domain,
    codes: AnyCodes,
    epsilon: Fraction | str | int,
    *,
    delta: Fraction = DELTA,
    adjacency: Adjacency = REPLACE_ONE,
    parameters: Mapping[str, Any] | None = None,
    public: AnyCodes | None = None,
) -> Request:
    """What a mechanism is asked for: as many records as there are, at this budget."""
    return Request(
        domain=domain,
        budget=Budget(epsilon=Fraction(epsilon), delta=delta),
        adjacency=adjacency,
        expected_records=len(codes),
        parameters=parameters or {},
        public=public,
    )


def released(
    mechanism: Mechanism, plan: Any, codes: AnyCodes, rng: np.random.Generator
) -> tuple[Measurements, SyntheticMeasure]:
    """Answers and records of one release.

    Raises:
        BudgetExceeded: the mechanism asked for more than its budget pays for.
    """
    curator: Any = SimulatedCurator(codes=codes, adjacency=plan.adjacency, rng=rng)
    measured = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    curator.check(plan.budget)
    return measured, mechanism.generate(plan, measured, rows=None, rng=rng)
