"""The worst query's bound where it is tight: it holds as often as stated, and needs every term."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.linear_queries.spending import Amount
from hallmark.mechanisms.linear_queries.worst_query import WorstQuery
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.queries import LaplaceNoise
from hallmark.mechanisms.privacy.simulation import simulate_discrete_laplace
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.mechanisms.linear_queries.adaptive_runs import ADD, REPLACE, bits, ways

FALSE_POSITIVE_RATE = 1e-6
RUNS, CONFIDENCE, ROWS = 100, 0.8, 1000
UNIVERSE, CODES = ways((2,) * 8, 3), bits(ROWS, 8)
TRUTH = UNIVERSE.queries.answers(count_codes(CODES, UNIVERSE.queries.maps)) / ROWS


@pytest.mark.parametrize("adjacency", [REPLACE, ADD], ids=str)
@pytest.mark.parametrize(
    ("records_off", "needed"), [(18, "choice among queries"), (80, "error of the worst query")]
)
def test_bounds_miss_no_more_often_than_stated_and_without_a_term_they_do(
    records_off: int, needed: str, adjacency: Adjacency
) -> None:
    """One of 448 queries is off: by so few records that another is chosen half of the time, or by
    more than noise and choice together."""
    noise = None if adjacency.total_is_public else LaplaceNoise(Fraction(1))
    worst = WorstQuery(UNIVERSE, adjacency, Amount(Fraction(1), pure=True), noise)
    made = TRUTH + records_off / ROWS * (np.arange(len(TRUTH)) == 100)
    misses = broken = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        records = ROWS + int(simulate_discrete_laplace(rng, noise.scale, 1)[0] if noise else 0)
        asked: Any = SimulatedCurator(codes=CODES, adjacency=adjacency, rng=rng)
        told = worst.ask(asked, made, records)
        terms = worst.bound(told, made, records, confidence=CONFIDENCE)
        error = np.abs(made - TRUTH).max()
        misses += bool(error > sum(terms.values()))
        broken += bool(error > sum(terms.values()) - terms[needed])
    assert binom.sf(misses - 1, RUNS, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE
    assert binom.sf(broken - 1, RUNS, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE
