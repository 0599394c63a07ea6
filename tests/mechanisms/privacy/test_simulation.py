"""Simulated noise has the law of the drawn one, and the rank rules cover as they say."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from hallmark.mechanisms.privacy.simulation import (
    conformal_rank,
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)

FALSE_POSITIVE_RATE = 1e-6  # of each test; seeds are fixed
DRAWS = 1_000_000


def p_value(draws, log_weight):
    """Pearson's test against weights exp(log_weight), values with few expected draws pooled."""
    support = np.arange(-6000, 6001)
    weights = np.exp(log_weight(support))
    expected = draws.size * weights / weights.sum()
    core = support[expected >= 20]
    edges = np.concatenate([[-np.inf], core[1:] - 0.5, [np.inf]])
    observed = np.histogram(draws, edges)[0]
    return chisquare(observed, np.histogram(support, edges, weights=expected)[0]).pvalue


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(150)])
def test_simulated_laplace_noise_has_its_law(scale):
    draws = simulate_discrete_laplace(np.random.default_rng(1), scale, DRAWS)
    assert p_value(draws, lambda z: -np.abs(z) / float(scale)) > FALSE_POSITIVE_RATE
    for wrong in (0.97 * float(scale), 1.03 * float(scale)):
        assert p_value(draws, lambda z, b=wrong: -np.abs(z) / b) < FALSE_POSITIVE_RATE


@pytest.mark.parametrize("sigma2", [Fraction(1, 5), Fraction(30), Fraction(7682), Fraction(90000)])
def test_simulated_gaussian_noise_has_its_law(sigma2):
    draws = simulate_discrete_gaussian(np.random.default_rng(2), sigma2, DRAWS)
    assert p_value(draws, lambda z: -(z**2) / (2 * float(sigma2))) > FALSE_POSITIVE_RATE
    for wrong in (0.97 * float(sigma2), 1.03 * float(sigma2)):
        assert p_value(draws, lambda z, s=wrong: -(z**2) / (2 * s)) < FALSE_POSITIVE_RATE


def test_wide_gaussian_noise_keeps_its_variance():
    draws = simulate_discrete_gaussian(np.random.default_rng(3), Fraction(10**12), 10**5)
    assert abs(draws.var() / 1e12 - 1) < 5 * np.sqrt(2 / 1e5)  # probability 6e-7


@pytest.mark.parametrize("simulate", [simulate_discrete_laplace, simulate_discrete_gaussian])
def test_draws_have_the_shape_asked_for_and_follow_the_generator(simulate):
    one = simulate(np.random.default_rng(4), Fraction(9), (3, 5))
    two = simulate(np.random.default_rng(4), Fraction(9), (3, 5))
    assert one.shape == (3, 5)
    assert one.dtype == np.int64
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("draws", "confidence", "rank"),
    [(200, 0.9, 181), (200, 0.95, 191), (1000, 0.9, 901), (1000, 0.95, 951), (19, 0.55, 11)],
)
def test_conformal_ranks_are_those_of_the_rule(draws, confidence, rank):
    assert conformal_rank(draws, confidence) == rank


def test_the_conformal_rank_covers_and_the_empirical_quantile_does_not():
    draws, confidence, trials = 19, 0.9, 200_000
    values = np.random.default_rng(5).random((trials, draws + 1))
    bounds = np.sort(values[:, 1:], axis=1)[:, conformal_rank(draws, confidence) - 1]
    slack = 5 * np.sqrt(confidence * (1 - confidence) / trials)  # one-sided probability 3e-7
    assert (values[:, 0] <= bounds).mean() >= confidence - slack
    empirical = np.quantile(values[:, 1:], confidence, axis=1)
    assert (values[:, 0] <= empirical).mean() < confidence - slack


def test_too_few_draws_are_refused_with_the_number_needed():
    with pytest.raises(ValueError, match="needs at least 99 draws, not 98"):
        conformal_rank(98, 0.99)
    assert conformal_rank(99, 0.99) == 99


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.1, 1.5])
def test_a_confidence_that_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        conformal_rank(100, wrong)
