"""How often noise alone is taken for change, and that change is not taken for noise."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from hallmark.mechanisms.inference.chi_square import DRAWS, chi_square, holm
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from tests.mechanisms.inference.test_change import counted

SUMS = np.array([[1.0, -1, 0, 0], [0, 1, -1, 0], [1, 0, -1, 0]])  # the last follows from the others


def test_gaussian_noise_gives_the_law_of_chi_square_on_what_is_independent():
    found = chi_square(counted([5, 30, 10, 99]), SUMS, np.random.default_rng(1))
    differences = np.array([5.0, 30, 10]) - 15
    assert found.statistic == pytest.approx(differences @ differences / 100)
    assert found.freedom == 2
    assert found.probability == pytest.approx(chi2.sf(found.statistic, 2))
    known = chi_square(counted([5, 30, 10, 99], Fraction(1)), np.zeros((1, 4)), None)
    assert (known.freedom, known.probability) == (0, 1.0)


def test_laplace_noise_alone_is_taken_for_change_as_often_as_is_said():
    rng, times = np.random.default_rng(2), 300
    noise = LaplaceNoise(Fraction(10))
    found = [
        chi_square(counted(np.rint(rng.laplace(scale=10, size=4)), noise=noise), SUMS, rng)
        for _ in range(times)
    ]
    wrong = sum(one.probability <= 0.05 for one in found)
    assert binom.cdf(1, times, 0.05) < 1e-4 < binom.sf(wrong - 1, times, 0.05)
    assert wrong > 2
    as_if_gaussian = sum(chi2.sf(one.statistic, 2) <= 0.001 for one in found)
    by_its_law = sum(one.probability <= 0.001 for one in found)
    assert by_its_law <= as_if_gaussian


def test_a_change_many_deviations_wide_is_found_under_either_noise():
    for noise in (GaussianNoise(Fraction(100)), LaplaceNoise(Fraction(7))):
        found = chi_square(counted([0, 0, 300, 0], noise=noise), SUMS, np.random.default_rng(4))
        assert found.probability <= 1 / (DRAWS + 1)


def test_holm_rejects_step_by_step():
    assert holm([0.01, 0.04, 0.03, 0.005], 0.05).tolist() == [True, False, False, True]
    assert holm([0.04, 0.02], 0.05).tolist() == [True, True]
    assert holm([0.03, 0.04], 0.05).tolist() == [False, False]
    assert holm([], 0.05).tolist() == []
