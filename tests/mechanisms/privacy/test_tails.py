"""Reaches of noise against sums of its laws."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from hallmark.mechanisms.privacy.tails import reach

Z = np.arange(-4000, 4001)


def law(noise):
    match noise:
        case LaplaceNoise(scale):
            weights = np.exp(-np.abs(Z) / float(scale))
        case GaussianNoise(sigma2):
            weights = np.exp(-(Z**2) / (2 * float(sigma2)))
    return weights / weights.sum()


@pytest.mark.parametrize("failure", [0.7, 0.4, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(37, 3)])
@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise])
def test_noise_exceeds_its_reach_no_more_often_than_stated_and_nearly_that_often(
    kind, scale, failure
):
    noise = kind(scale if kind is LaplaceNoise else scale**2)
    t = reach(noise, failure)
    assert law(noise)[t < Z].sum() <= failure * (1 + 1e-12)
    if t > 1:  # below sigma 1 the Gaussian bound is one step wider than it need be
        assert law(noise)[t - 2 < Z].sum() > failure


def test_large_scales_and_wrong_probabilities():
    sigma = 10**9
    assert reach(GaussianNoise(Fraction(sigma**2)), 0.025) / sigma == pytest.approx(1.95996, 1e-5)
    for failure in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="strictly between"):
            reach(LaplaceNoise(Fraction(1)), failure)
