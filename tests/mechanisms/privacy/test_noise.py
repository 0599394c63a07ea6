"""Draws of the trusted core against the exact laws that their events state."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from hallmark.mechanisms.privacy import noise
from hallmark.mechanisms.privacy.noise import (
    add_discrete_gaussian,
    add_discrete_laplace,
    choose,
    happens,
)

FALSE_POSITIVE_RATE = 1e-6  # of each test; OpenDP's entropy cannot be seeded
DRAWS = 60_000


def goodness_of_fit(draws, log_weight):
    """p-value of Pearson's test of integer draws against weights proportional to exp(log_weight).

    Values with fewer than 20 expected draws are pooled towards the tails, so that the chi-square
    law is accurate far into its own tail.
    """
    support = np.arange(-3000, 3001)
    weights = np.exp(log_weight(support))
    expected = draws.size * weights / weights.sum()
    core = support[expected >= 20]
    edges = np.concatenate([[-np.inf], core[1:] - 0.5, [np.inf]])
    observed = np.histogram(draws, edges)[0]
    return chisquare(observed, np.histogram(support, edges, weights=expected)[0]).pvalue


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(40)])
def test_laplace_noise_has_its_law_and_not_one_that_is_ten_percent_off(scale):
    draws = add_discrete_laplace(np.zeros(DRAWS, dtype=np.int64), scale)
    assert goodness_of_fit(draws, lambda z: -np.abs(z) / float(scale)) > FALSE_POSITIVE_RATE
    for wrong in (0.9 * float(scale), 1.1 * float(scale)):
        assert goodness_of_fit(draws, lambda z, b=wrong: -np.abs(z) / b) < FALSE_POSITIVE_RATE


@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(9), Fraction(2001, 2)])
def test_gaussian_noise_has_its_law_and_not_one_that_is_ten_percent_off(sigma2):
    draws = add_discrete_gaussian(np.zeros(DRAWS, dtype=np.int64), sigma2)
    assert goodness_of_fit(draws, lambda z: -(z**2) / (2 * float(sigma2))) > FALSE_POSITIVE_RATE
    for wrong in (0.9 * float(sigma2), 1.1 * float(sigma2)):
        p_value = goodness_of_fit(draws, lambda z, s=wrong: -(z**2) / (2 * s))
        assert p_value < FALSE_POSITIVE_RATE


def test_rounded_continuous_noise_is_told_from_discrete_noise():
    rounded = np.rint(np.random.default_rng(1).laplace(scale=1.0, size=DRAWS)).astype(np.int64)
    assert goodness_of_fit(rounded, lambda z: -np.abs(z) / 1.0) < FALSE_POSITIVE_RATE


@pytest.mark.parametrize("add", [add_discrete_laplace, add_discrete_gaussian])
def test_noise_is_added_to_the_values_and_keeps_the_shape(add):
    exact = (np.arange(6, dtype=np.int64) * 10**12).reshape(2, 3)
    noisy = add(exact, Fraction(4))
    assert noisy.dtype == np.int64
    assert noisy.shape == exact.shape
    assert np.abs(noisy - exact).max() < 200  # exceeded with probability below exp(-45)


def test_values_beyond_32_bits_are_left_whole():
    exact = np.full(10, 2**40, dtype=np.int64)
    assert np.array_equal(add_discrete_laplace(exact, Fraction(1, 100)), exact)


def test_noise_on_nothing_is_nothing():
    assert add_discrete_laplace(np.zeros((0, 3), dtype=np.int64), Fraction(1)).shape == (0, 3)


def test_threads_draw_independently():
    half = DRAWS // 2
    draws = add_discrete_laplace(np.zeros(DRAWS, dtype=np.int64), Fraction(20))
    assert not np.array_equal(draws[:half], draws[half:])
    # The sum of the halves' products over its standard deviation is normal to good accuracy.
    z = (draws[:half] * draws[half:]).sum() / (np.sqrt(half) * draws.var())
    assert abs(z) < 5.5  # probability 4e-8, larger by non-normality; below 1e-6


def test_sums_beyond_int64_saturate():
    top = np.full(200, np.iinfo(np.int64).max, dtype=np.int64)
    noisy = add_discrete_gaussian(top, Fraction(100))
    assert (noisy > 0).all()
    assert (noisy == top).any()


@pytest.mark.parametrize("add", [add_discrete_laplace, add_discrete_gaussian])
@pytest.mark.parametrize("parameter", [Fraction(0), Fraction(-1), Fraction(2**112)])
def test_a_parameter_that_does_not_protect_is_refused_even_for_no_values(add, parameter):
    for exact in (np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.int64)):
        with pytest.raises(ValueError, match=r"must be positive|too large"):
            add(exact, parameter)


@pytest.mark.parametrize("add", [add_discrete_laplace, add_discrete_gaussian])
@pytest.mark.parametrize("parameter", [1.0, float("inf"), float("nan"), None, "1"])
def test_a_parameter_that_is_no_exact_rational_is_refused(add, parameter):
    with pytest.raises(TypeError, match="exact rational"):
        add(np.zeros(3, dtype=np.int64), parameter)


@pytest.mark.parametrize("exact", [np.zeros(3), np.zeros(3, dtype=np.int32), [1, 2]])
def test_anything_but_int64_is_refused(exact):
    with pytest.raises(TypeError, match="int64"):
        add_discrete_laplace(exact, Fraction(1))


def test_a_parameter_is_rounded_towards_more_noise():
    third, root = Fraction(1, 3), Fraction(2)
    assert noise.float_above(third) >= third
    assert Fraction(noise.sqrt_above(root)) ** 2 >= root
    assert noise.laplace_measurement(third).map(1) == pytest.approx(3)
    assert noise.gaussian_measurement(root).map(1.0) == pytest.approx(1 / 4)


def test_a_library_that_reads_the_parameter_otherwise_is_caught():
    measurement = noise.laplace_measurement(Fraction(10))
    with pytest.raises(RuntimeError, match="do not release"):
        noise._agreeing(measurement, 1, Fraction(1, 9))


SCORES = [0, 1, 3, -2]


def softmax(scores, factor):
    weights = np.exp(factor * np.array(scores, dtype=float))
    return weights / weights.sum()


@pytest.mark.parametrize("offset", [pytest.param(0, marks=pytest.mark.slow), -(2**63), 10**30])
def test_a_choice_follows_the_exponential_law_wherever_the_scores_lie(offset):
    draws = 2_500  # of which a test with this rate misses the laws below less often than 1e-9
    chosen = [
        choose([offset + s for s in SCORES], sensitivity=2, epsilon=Fraction(2))
        for _ in range(draws)
    ]
    observed = np.bincount(chosen, minlength=len(SCORES))
    assert chisquare(observed, draws * softmax(SCORES, 0.5)).pvalue > FALSE_POSITIVE_RATE
    # Forgetting the factor two, and permute-and-flip, are other laws.
    assert chisquare(observed, draws * softmax(SCORES, 1.0)).pvalue < FALSE_POSITIVE_RATE
    assert chisquare(observed, draws * permute_and_flip(SCORES, 0.5)).pvalue < FALSE_POSITIVE_RATE


def permute_and_flip(scores, factor):
    """Law of the maximum of scores with exponential noise, by quadrature."""
    grid = np.linspace(min(scores), max(scores) + 60, 400_001)
    step = grid[1] - grid[0]
    tails = [np.exp(-factor * np.clip(grid - s, 0, None)) for s in scores]
    densities = [np.where(grid >= s, factor * t, 0) for s, t in zip(scores, tails, strict=True)]
    below = [np.where(grid >= s, 1 - t, 0) for s, t in zip(scores, tails, strict=True)]
    law = [
        (densities[i] * np.prod([b for j, b in enumerate(below) if j != i], axis=0)).sum() * step
        for i in range(len(scores))
    ]
    return np.array(law) / sum(law)


def test_a_score_far_below_is_never_chosen_and_never_refused():
    chosen = {choose([0, -(10**40)], sensitivity=1, epsilon=Fraction(1)) for _ in range(50)}
    assert chosen == {0}  # else with probability exp(-2**61)


def test_one_candidate_is_chosen():
    assert choose([7], sensitivity=1, epsilon=Fraction(1)) == 0


def test_a_tiny_epsilon_chooses_almost_uniformly():
    chosen = [choose([0, 5], sensitivity=1, epsilon=Fraction(1, 10**6)) for _ in range(2000)]
    assert abs(np.mean(chosen) - 0.5) < 0.0567  # five standard deviations, probability 6e-7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": []}, "no candidate"),
        ({"sensitivity": 0}, "sensitivity of at least 1"),
        ({"epsilon": Fraction(0)}, "epsilon must be positive"),
        ({"epsilon": Fraction(-1)}, "epsilon must be positive"),
        ({"epsilon": Fraction(1, 2**60)}, "too large"),
    ],
)
def test_a_choice_that_nothing_bounds_is_refused(arguments, message):
    call = {"scores": [1, 2], "sensitivity": 1, "epsilon": Fraction(1)} | arguments
    with pytest.raises(ValueError, match=message):
        choose(call.pop("scores"), **call)


def test_scores_that_are_no_integers_are_refused():
    with pytest.raises(TypeError, match="integers"):
        choose([0.5, 1.0], sensitivity=1, epsilon=Fraction(1))


@pytest.mark.parametrize(
    "exponent", [Fraction(1, 50), Fraction(2, 3), Fraction(1), Fraction(7, 5), Fraction(3)]
)
def test_a_coin_has_its_law_and_not_one_of_odds_four_tenths_off(exponent):
    heads = sum(happens(exponent) for _ in range(DRAWS))
    odds = 1 / np.expm1(float(exponent))
    assert binomtest(heads, DRAWS, odds / (1 + odds)).pvalue > FALSE_POSITIVE_RATE
    for wrong in (odds / 1.4, odds * 1.4):  # eleven standard deviations away, or more
        assert binomtest(heads, DRAWS, wrong / (1 + wrong)).pvalue < FALSE_POSITIVE_RATE


def test_coins_of_extreme_exponents_are_certain_and_negative_ones_refused():
    assert happens(Fraction(0))
    assert not happens(Fraction(10**9))  # true with probability exp(-10^9)
    with pytest.raises(ValueError, match="no probability"):
        happens(Fraction(-1, 10**9))
