"""How fast largest errors fall with the number of records, on one table that is repeated.

Claim.   Of E(largest error) ~ n^-s, s is at least that of Theorem 3 of Micali, Lezane, Betken
         (2025), 2/5, for `dpfw`; 1/3 for `dpam`, whose Theorem 5 bounds it by n^-1/2; and 7/10 for
         `linear-queries`, whose noise is of order 1/n, but is cut by what a distribution can be
         where there are few records.

Repeating a table leaves the exact answers as they are, so that nothing but the noise changes. A
slope is fitted to logarithms; with normal residuals its upper limit (Student's t) is passed with
probability `FALSE_POSITIVE_RATE`. Noise is simulated from fixed seeds, so a run's outcome is too.
docs/linear-queries/README.md has exponents of n, epsilon and queries on census records.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries.kinds import marginal_cells
from hallmark.mechanisms.linear_queries.mechanism import answers_of
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.mechanisms.linear_queries.adaptive_runs import BUDGET, REPLACE, bits
from tests.mechanisms.linear_queries.releases import plan_of

FALSE_POSITIVE_RATE = 1e-6
COLUMNS = 6
ROWS = 500  # of the table
COPIES = (1, 6, 36)
FEWER = (1, 4, 16)  # where rounds are many
SEEDS = range(5)
DOMAIN = Domain.coded({f"bit-{i}": 2 for i in range(COLUMNS)})
CELLS = Workload.of(DOMAIN, marginal_cells(DOMAIN, list(combinations(range(COLUMNS), 3))))


def errors(
    name: str, sizes: tuple[int, ...] = COPIES, **given: Any
) -> tuple[tuple[float, float], ...]:
    """Logarithms of records and of the largest error of the released answers, a pair a release."""
    found = []
    for copies in sizes:
        codes = np.tile(bits(ROWS, COLUMNS), (copies, 1))
        plan = plan_of(name, DOMAIN, CELLS, rows=len(codes), **given)
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            curator: Any = SimulatedCurator(codes=codes, adjacency=REPLACE, rng=rng)
            told = plan.method.ask(curator)
            curator.check(BUDGET)
            made = plan.method.distribution(told, len(codes), progress=lambda share, what: None)
            error = np.abs(made.answers() - answers_of(CELLS, codes)).max()
            found.append((np.log(len(codes)), np.log(error)))
    return tuple(found)


def limits(points: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Between which the slope is, each with the false positive rate."""
    fit = stats.linregress(*np.transpose(points))
    reach = stats.t.isf(FALSE_POSITIVE_RATE, len(points) - 2) * fit.stderr
    return fit.slope - reach, fit.slope + reach


@pytest.mark.parametrize(
    ("name", "exponent"),
    [
        pytest.param("dpfw", 2 / 5, marks=pytest.mark.slow),
        pytest.param("dpam", 1 / 3, marks=pytest.mark.slow),
        ("linear-queries", 7 / 10),
    ],
)
def test_the_largest_error_falls_with_records(name: str, exponent: float) -> None:
    least, greatest = limits(errors(name))
    assert greatest < -exponent
    assert least > -1.3  # noise is of order 1/n: faster means that something else was measured


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("dpam", {"variant": "printed"}),
        ("dpfw", {"constants": "paper", "noise": "paper", "iterate": "uniform"}),
    ],
)
def test_as_printed_neither_falls_as_its_theorem_says(name: str, given: dict[str, str]) -> None:
    least, _ = limits(errors(name, FEWER, **given))
    assert least > -2 / 5
