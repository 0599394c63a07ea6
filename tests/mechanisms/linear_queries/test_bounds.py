"""Worked examples, and the exponents that the theorems state."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries import bounds

DELTA = Fraction(1, 10**5)


def test_worked_examples() -> None:
    rate = bounds.frank_wolfe_rate(10**4, 1, DELTA, 896, 8 * log(2))
    assert rate == pytest.approx(0.124, abs=5e-4)
    mirror = bounds.mirror_descent_rate(10**4, 1, DELTA, 36.1, 10 * log(2))
    assert mirror == pytest.approx(0.18, abs=5e-3)
    assert bounds.gap(0.1, 100, 0.001, 10) == pytest.approx(2 * 8**0.5 / 10**0.5 + 0.004 * log(20))
    assert bounds.primal(0.1, 0.5, log(8)) == pytest.approx(0.5 + 0.1 * log(8))


@pytest.mark.parametrize(
    ("bound", "exponent"),
    [
        (lambda n: bounds.frank_wolfe_rate(n, 1, DELTA, 896, 5.5), -2 / 5),
        (lambda n: bounds.frank_wolfe_rate(1000, n, DELTA, 896, 5.5), -2 / 5),
        (lambda n: bounds.frank_wolfe_rate(1000, 1, DELTA, 896, n), 1 / 5),
        (lambda n: bounds.mirror_descent_rate(n, 1, DELTA, 16.6, 5.5), -1 / 2),
        (lambda n: bounds.mirror_descent_rate(1000, 1, DELTA, n, 5.5), 1 / 2),
        (lambda n: bounds.gap(0.01, int(n), 0, 896), -1 / 2),
        (lambda n: bounds.gap(n, 100, 0, 896), -1 / 2),
    ],
)
def test_exponents(bound, exponent) -> None:
    sizes = np.array([1e3, 1e4, 1e5])
    slope = np.polyfit(np.log(sizes), np.log([bound(n) for n in sizes]), 1)[0]
    assert slope == pytest.approx(exponent, abs=1e-9)


def test_peers_bounds_fall_with_more_records_and_rise_with_more_queries() -> None:
    for noise in (0.1, 0.01):
        assert bounds.mwem(10, noise, 0.01, 100, 5) < bounds.mwem(10, 2 * noise, 0.01, 100, 5)
        few, many = (bounds.perturbed_leader(10, 5, noise, 8, q) for q in (10, 1000))
        assert few < many
    assert bounds.dual_query(50, 20, 0.5, 100, 5) < bounds.dual_query(50, 20, 0.5, 10**4, 5)
