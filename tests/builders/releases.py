"""What mechanisms are asked for, and answers of the law that a curator draws from."""

from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.contract import Measurements, Mechanism
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request

RELATIONS = [Adjacency(neighbours=neighbours) for neighbours in Neighbours]
"""The number of records is public under the first, and private under the second."""
REPLACE, ADD = RELATIONS
PERSONS = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=2, person="name")
WITH_PERSONS = [*RELATIONS, PERSONS]
UP_TO_TWO_RECORDS = [
    Adjacency(neighbours=neighbours, records=records)
    for neighbours in Neighbours
    for records in (1, 2)
]


def request(
    domain: Domain,
    adjacency: Adjacency = REPLACE,
    *,
    epsilon: Fraction | int = 1,
    delta: Fraction | int = 0,
    records: int = 100,
    public: AnyCodes | None = None,
    **parameters: object,
) -> Request:
    """A request with these parameters of the mechanism."""
    return Request(
        domain=domain,
        budget=Budget(epsilon=Fraction(epsilon), delta=Fraction(delta)),
        adjacency=adjacency,
        expected_records=records,
        parameters=parameters,
        public=public,
    )


def simulated(
    mechanism: Mechanism, plan: Any, codes: AnyCodes, rng: np.random.Generator
) -> Measurements:
    """Answers with the noise that is charged, which a seed fixes: for statistics of many runs."""
    curator = SimulatedCurator(codes=codes, adjacency=plan.adjacency, rng=rng)
    return mechanism.measure(curator, plan, mechanism.select(curator, plan))
