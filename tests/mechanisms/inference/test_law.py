"""Quantiles of weighted noise against closed forms and against the curator's own noise."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from hallmark.mechanisms.inference.law import half_width
from hallmark.mechanisms.privacy.noise import add_discrete_gaussian, add_discrete_laplace
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise

GAUSS, LAPLACE = GaussianNoise(Fraction(9)), LaplaceNoise(Fraction(20))
FALSE_POSITIVE_RATE = 1e-6


def test_gaussian_noise_has_its_closed_form():
    assert half_width([np.array([1.0, -2])], [GAUSS], 0.9) == pytest.approx(
        norm.ppf(0.95) * (9 * 5) ** 0.5, rel=1e-12
    )


def test_one_laplace_noise_has_its_closed_form():
    scale = (LAPLACE.variance / 2) ** 0.5
    for confidence in (0.5, 0.95, 0.999):
        expected = -3 * scale * log(1 - confidence)
        assert half_width([np.array([3.0])], [LAPLACE], confidence) == pytest.approx(
            expected, rel=1e-4
        )


def test_two_equal_laplace_noises_have_their_closed_form():
    # P(|X| > x) = (1 + x / 2b) exp(-x / b) for the sum of two.
    scale = (LAPLACE.variance / 2) ** 0.5
    h = half_width([np.array([1.0, 1.0])], [LAPLACE], 0.95) / scale
    assert (1 + h / 2) * exp(-h) == pytest.approx(0.05, rel=1e-6)


def test_many_laplace_noises_are_nearly_gaussian():
    h = half_width([np.ones(5000)], [LAPLACE], 0.95)
    assert h == pytest.approx(norm.ppf(0.975) * (5000 * LAPLACE.variance) ** 0.5, rel=1e-3)


def test_no_noise_has_no_width():
    assert half_width([np.zeros(3)], [LAPLACE], 0.95) == 0
    assert half_width([], [], 0.95) == 0


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_drawn_noise_falls_inside_as_often_as_stated(confidence):
    draws = 20_000
    weights = [np.array([1.0, -2.0]), np.array([3.0])]
    laplace = add_discrete_laplace(np.zeros((2, draws), dtype=np.int64), LAPLACE.scale)
    gauss = add_discrete_gaussian(np.zeros((1, draws), dtype=np.int64), GAUSS.sigma2)
    errors = weights[0] @ laplace + weights[1] @ gauss
    inside = int((np.abs(errors) <= half_width(weights, [LAPLACE, GAUSS], confidence)).sum())
    assert binomtest(inside, draws, confidence).pvalue > FALSE_POSITIVE_RATE
    narrower = int(
        (np.abs(errors) <= 0.9 * half_width(weights, [LAPLACE, GAUSS], confidence)).sum()
    )
    assert binomtest(narrower, draws, confidence).pvalue < FALSE_POSITIVE_RATE
