"""Change between two tables: closed forms, and how often intervals hold under simulated noise."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from hallmark.mechanisms.inference.blue import Weights
from hallmark.mechanisms.inference.change import (
    Statistic,
    difference,
    in_cells,
    quotient,
    squared_and_added,
    stacked,
)
from hallmark.mechanisms.inference.estimates import UNKNOWN, Estimates, Interval
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import HISTOGRAM

Z = norm.ppf(0.975)


def counted(answers, sigma2=Fraction(100), noise=None) -> Estimates:
    """The counts of two cells, each its own estimate."""
    table = MeasuredTable(
        cells=marginal((0,), (len(answers),)),
        sums=HISTOGRAM.sums(len(answers)),
        noise=noise or GaussianNoise(sigma2),
        answers=np.asarray(answers, dtype=np.int64),
    )
    size = len(answers)
    return Estimates(Weights((table,), (np.eye(size),), np.zeros(size)), 0)


UNITS = np.eye(4)
CELLS = (Statistic(UNITS[0]), Statistic(UNITS[2]))
SHARES = (Statistic(UNITS[0], UNITS[1]), Statistic(UNITS[2], UNITS[3]))


def test_stacked_estimates_keep_both_releases_with_independent_errors():
    both = stacked(counted([5, 7]), counted([11, 13], Fraction(9)))
    assert both.values.tolist() == [5, 7, 11, 13]
    assert both.covariance.tolist() == np.diag([100, 100, 9, 9]).tolist()
    public = Estimates(Weights((), (), np.array([1.0, 0.5])), 40)
    assert stacked(public, counted([1])).values.tolist() == [40, 20, 1]
    assert stacked(public, counted([1])).covariance[0].tolist() == [0, 0, 0]


def test_a_change_of_counts_has_the_sum_of_both_variances():
    both = stacked(counted([500, 1000]), counted([560, 1000], Fraction(44)))
    found = difference(both, *CELLS, 0.95)
    assert found.estimate == 60
    assert found.deviation == pytest.approx(12)
    assert (found.low, found.high) == pytest.approx((60 - 12 * Z, 60 + 12 * Z))


def test_laplace_noise_of_two_releases_has_its_own_law():
    noise = LaplaceNoise(Fraction(10))
    both = stacked(counted([500, 0], noise=noise), counted([560, 0], noise=noise))
    found = difference(both, *CELLS, 0.999)
    rng = np.random.default_rng(5)
    drawn = np.abs(np.diff(rng.laplace(scale=10, size=(400_000, 2)))).ravel()
    assert found.high - found.estimate == pytest.approx(np.quantile(drawn, 0.999), rel=0.03)
    assert found.high - found.estimate > 1.1 * norm.ppf(0.9995) * found.deviation


def test_a_relative_change_of_counts_is_that_of_fieller():
    both = stacked(counted([500, 1000]), counted([560, 1000]))
    found = quotient(both, *CELLS, 0.95)
    for end in (found.low, found.high):
        rest = abs(560 - end * 500) / (10 * np.hypot(1, end))
        assert rest == pytest.approx(Z)
    assert quotient(stacked(counted([9, 1]), counted([60, 1])), *CELLS, 0.95) is UNKNOWN


def test_squaring_and_adding_takes_each_end_from_the_ends_that_lead_there():
    found = squared_and_added(Interval(1.0, 0.7, 1.4, 0.2), Interval(3.0, 2.7, 4.2, 0.3))
    assert found.low == pytest.approx(2 - np.hypot(0.3, 0.4))
    assert found.high == pytest.approx(2 + np.hypot(1.2, 0.3))
    assert found.deviation == pytest.approx(np.hypot(0.2, 0.3))
    alike = Interval(1.0, 0.5, 1.5, 0.25)
    assert squared_and_added(alike, alike, correlation=1.0).low == 0
    assert squared_and_added(Interval(1.0, -np.inf, 2.0, 1.0), alike).high == np.inf


def test_a_change_within_cells_adds_their_widths_and_squares_the_noise():
    one = (10.0, 20.0, Interval(14.0, 10.0, 20.0, None))
    assert in_cells(one, one).low == -10
    assert in_cells(one, one).high == 10
    wide = (10.0, 20.0, Interval(14.0, 0.0, 50.0, None))
    found = in_cells(wide, (30.0, 40.0, Interval(31.0, 20.0, 80.0, None)))
    assert found.estimate == 17
    assert found.low == pytest.approx(30 - 20 - np.hypot(10, 30))
    assert found.high == pytest.approx(40 - 10 + np.hypot(40, 10))


@pytest.mark.parametrize(
    ("before", "after"), [((300, 600), (200, 700)), ((60, 90), (15, 110)), ((500, 500), (480, 500))]
)
def test_changes_of_ratios_hold_about_as_often_as_is_said(before, after):
    rng, held, relative = np.random.default_rng(11), [], []
    truth = after[0] / after[1] - before[0] / before[1]
    times = (after[0] / after[1]) / (before[0] / before[1])
    for drawn in rng.normal(scale=10, size=(600, 4)):
        answers = np.rint(np.array([*before, *after]) + drawn)
        both = stacked(counted(answers[:2]), counted(answers[2:]))
        found = difference(both, *SHARES, 0.95)
        held.append(found.low <= truth <= found.high)
        found = quotient(both, *SHARES, 0.95)
        relative.append(found is UNKNOWN or found.low <= times <= found.high)
    assert 0.93 <= np.mean(held) <= 0.97
    assert 0.93 <= np.mean(relative) <= 0.97


def correlated(answers: np.ndarray) -> Estimates:
    """Two periods' counts whose errors share most of their noise, as smoothing makes them."""
    table = MeasuredTable(
        cells=marginal((0,), (6,)),
        sums=HISTOGRAM.sums(6),
        noise=GaussianNoise(Fraction(1)),
        answers=answers,
    )
    own, shared = 6 * np.eye(4), 16 * np.kron(np.ones((1, 2)), np.eye(2))
    weights = np.vstack([own, shared])
    return Estimates(Weights((table,), (weights,), np.array([300.0, 600, 330, 640])), 1)


def test_correlated_estimates_come_through_the_same_door():
    rng, held, blind = np.random.default_rng(3), [], []
    truth = 330 / 640 - 300 / 600
    for _ in range(400):
        both = correlated(np.rint(rng.normal(size=6) * 1).astype(np.int64))
        found = difference(both, *SHARES, 0.95)
        held.append(found.low <= truth <= found.high)
        ends = [one.interval(both, 0.95) for one in SHARES]
        ignored = squared_and_added(*ends)
        blind.append(ignored.low <= truth <= ignored.high)
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(blind) > 0.99  # far too wide: what the correlation is needed for
