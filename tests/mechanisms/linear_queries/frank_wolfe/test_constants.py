"""The paper's constants, corrected: minima of the bounds that they are said to minimise."""

from fractions import Fraction
from math import log, sqrt

import pytest
from scipy.optimize import minimize_scalar

from hallmark.mechanisms.linear_queries.frank_wolfe import constants
from hallmark.mechanisms.privacy.budget import Budget

DELTA = Fraction(1, 10**5)


def test_rounds_minimise_the_bound_with_the_noise_that_the_paper_prints() -> None:
    def bound(rounds: float) -> float:
        noise = 4 * sqrt(2 * rounds * log(1 / DELTA)) / 1e4
        return 2 * 2**1.5 / sqrt(0.05 * rounds) + 2 * noise * log(2 * 896)

    best = minimize_scalar(bound, bounds=(1, 1e5), method="bounded", options={"xatol": 1e-3}).x
    found = constants.paper_rounds(1e4, DELTA, 896, 0.05)
    assert found == pytest.approx(best, rel=1e-3)
    assert found == pytest.approx(879.7, abs=0.05)


def test_the_printed_constants_of_an_example() -> None:
    smoothing = constants.paper_smoothing(1e4, DELTA, 896, 8 * log(2))
    assert smoothing == pytest.approx(0.0224, abs=1e-4)
    rounds = constants.clipped_rounds(constants.paper_rounds(1e4, DELTA, 896, smoothing))
    assert rounds == pytest.approx(1314, abs=2)


def test_rounds_and_steps_that_make_no_sense_are_clipped() -> None:
    assert constants.clipped_rounds(0.01) == 1
    assert constants.clipped_rounds(1e9) == 4000
    assert constants.step(10.0, 1) == 1
    assert constants.step(0.01, 1000) == pytest.approx(2 * sqrt(0.01 / 2000))


@pytest.mark.parametrize(
    ("scale", "smoothing", "rounds", "pure"),
    [(200, 0.02, 100, 14), (1e3, 0.02, 100, 32), (1e4, 0.01, 1000, 100), (1e6, 0.01, 1500, 400)],
)
def test_defaults(scale: float, smoothing: float, rounds: int, pure: int) -> None:
    assert constants.default_smoothing(scale) == smoothing
    assert constants.default_rounds(scale, pure=False) == rounds
    assert constants.default_rounds(scale, pure=True) == pure


def test_the_papers_noise_grows_with_the_number_of_cells_in_a_query() -> None:
    budget = Budget(epsilon=Fraction(1), delta=DELTA)
    few, many = (
        constants.paper_epsilon(budget, 50, Fraction(1), Fraction(cells)) for cells in (1, 32)
    )
    assert float(few) == pytest.approx(0.007368, abs=1e-6)
    assert float(few / many) == pytest.approx(32, rel=1e-9)
    assert constants.paper_epsilon(budget, 50, Fraction(1), Fraction(10**30)) == 0
