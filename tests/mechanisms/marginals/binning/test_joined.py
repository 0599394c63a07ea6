"""Estimates on own cells: unbiased, of the right total, and nearer than a histogram alone."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.binning.joined import bin_variance, on_cells
from hallmark.mechanisms.marginals.selection.design import Asked

BINS = Bins(0, (0, 0, 1, 1, 1, 2), True)  # and the null cell
OWN, TOLD = 4.0, 9.0


def joined(on_bins: np.ndarray, own: np.ndarray, total: np.ndarray, public: bool) -> np.ndarray:
    (found,) = on_cells(
        [on_bins],
        {0: own},
        total,
        public={0: BINS} if public else {},
        own_variance=OWN,
        bin_variances={0: TOLD},
    )
    return found


@pytest.mark.parametrize("public", [False, True])
def test_what_is_without_noise_stays_as_it_is(public: bool) -> None:
    own = np.array([5.0, 1, 7, 0, 2, 9, 3])
    found = joined(BINS.merged(own, -1), own, own.sum(), public)
    np.testing.assert_allclose(found, own)


@pytest.mark.parametrize("public", [False, True])
def test_it_is_linear_and_has_the_total(public: bool) -> None:
    rng = np.random.default_rng(0)
    bins, own = rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 7))
    total = bins.sum(axis=-1)
    one, other, both = (
        joined(b, o, t, public)
        for b, o, t in (
            (bins[0], own[0], total[0]),
            (bins[1], own[1], total[1]),
            (bins[0] + 2 * bins[1], own[0] + 2 * own[1], total[0] + 2 * total[1]),
        )
    )
    np.testing.assert_allclose(both, one + 2 * other)
    np.testing.assert_allclose(both.sum(axis=-1), total[0] + 2 * total[1])


def test_it_is_least_squares_of_both_given_the_total() -> None:
    """Against the normal equations, with the total as a constraint."""
    rng = np.random.default_rng(1)
    own, told = rng.normal(size=7), rng.normal(size=4)
    total = 3.0
    merge = np.zeros((4, 7))
    merge[BINS.table, np.arange(7)] = 1
    precision = np.eye(7) / OWN + merge.T @ merge / TOLD
    right = own / OWN + merge.T @ told / TOLD
    ones = np.ones((7, 1))
    system = np.block([[precision, ones], [ones.T, np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(right, total))[:7]
    np.testing.assert_allclose(joined(told, own, np.array(total), True), expected)


def test_the_variance_of_a_bin_adds_up_over_tables() -> None:
    asked = [
        Asked((0, 1), Fraction(100)),
        Asked((0, 2), Fraction(50)),
        Asked((1, 2), Fraction(1)),
        Asked((0, 1), Fraction(10), groups=2),
    ]
    # A table with k cells of the other column has a margin of k times the variance.
    assert bin_variance(asked, (4, 5, 3), 0) == pytest.approx(1 / (1 / 500 + 1 / 150))
