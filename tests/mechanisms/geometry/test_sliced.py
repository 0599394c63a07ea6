"""Sliced W1 against closed forms and against POT."""

from math import pi

import numpy as np
import ot
import pytest
from scipy.stats import norm, wasserstein_distance

from hallmark.mechanisms.geometry.sliced import SlicedEstimate, sliced_w1

FALSE_POSITIVE_RATE = 1e-6
THRESHOLD = norm.isf(FALSE_POSITIVE_RATE / 2)
ONE = np.ones(1)


def between_two_points(dimension: int, *, directions: int, seed: int) -> SlicedEstimate:
    """Of points at distance 1, each of mass 1."""
    ends = np.zeros((1, dimension)), np.eye(dimension)[:1]
    rng = np.random.default_rng(seed)
    return sliced_w1(ends[0], ONE, ends[1], ONE, directions=directions, rng=rng)


@pytest.mark.parametrize(("dimension", "mean"), [(2, 2 / pi), (3, 1 / 2)])
def test_two_points_are_seen_at_their_mean_projected_distance(dimension: int, mean: float) -> None:
    estimate = between_two_points(dimension, directions=4000, seed=1)
    assert abs(estimate.value - mean) < THRESHOLD * estimate.standard_error
    for wrong in (0.9 * mean, 1.1 * mean):  # power: 10% off is caught
        assert abs(estimate.value - wrong) > THRESHOLD * estimate.standard_error


def test_the_standard_error_is_that_of_the_mean() -> None:
    # Both estimates of the variance of the mean are told to some 2%.
    estimates = [between_two_points(2, directions=3, seed=seed) for seed in range(4000)]
    exact = (0.5 - 4 / pi**2) / 3  # from the variance of |cos| over the plane's directions
    claimed = np.mean([estimate.standard_error**2 for estimate in estimates])
    assert claimed == pytest.approx(exact, rel=0.125)
    values = [estimate.value for estimate in estimates]
    assert np.var(values, ddof=1) == pytest.approx(exact, rel=0.125)


def test_it_agrees_with_another_implementation() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(30, 4)), rng.normal(size=(20, 4)) + 0.5
    p, q = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(20))
    estimate = sliced_w1(a, p, b, q, directions=1000, rng=rng)
    other = ot.sliced_wasserstein_distance(a, b, p, q, n_projections=1000, p=1, seed=4)
    # Both are means over as many directions: the difference has twice the variance.
    assert abs(estimate.value - other) < THRESHOLD * np.sqrt(2) * estimate.standard_error
    assert abs(estimate.value - 1.2 * other) > THRESHOLD * np.sqrt(2) * estimate.standard_error


def test_in_one_dimension_it_is_w1() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(6, 1)), rng.normal(size=(9, 1))
    p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(9))
    estimate = sliced_w1(a, p, b, q, directions=2, rng=rng)
    assert estimate.value == pytest.approx(wasserstein_distance(a[:, 0], b[:, 0], p, q))
    assert estimate.standard_error == 0.0


def test_it_is_below_w1() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(25, 3)), rng.normal(size=(25, 3)) + 1
    p = np.full(25, 1 / 25)
    exact = ot.emd2(p, p, ot.dist(a, b, metric="euclidean"))
    assert sliced_w1(a, p, b, p, directions=50, rng=rng).value < exact


def test_what_has_no_sliced_distance_is_refused() -> None:
    rng = np.random.default_rng(7)
    points = np.zeros((1, 2))
    with pytest.raises(ValueError, match="has mass 1, not 0"):
        sliced_w1(points, ONE, points, 2 * ONE, directions=5, rng=rng)
    with pytest.raises(ValueError, match="points have shapes"):
        sliced_w1(points, ONE, np.zeros((1, 3)), ONE, directions=5, rng=rng)
    with pytest.raises(ValueError, match="points have shapes"):
        sliced_w1(np.zeros((1, 0)), ONE, np.zeros((1, 0)), ONE, directions=5, rng=rng)
    with pytest.raises(ValueError, match="directions: 1 give no standard error"):
        sliced_w1(points, ONE, points, ONE, directions=1, rng=rng)
    with pytest.raises(ValueError, match="measure a: a position or a weight is not a finite"):
        sliced_w1(points + np.nan, ONE, points, ONE, directions=5, rng=rng)
