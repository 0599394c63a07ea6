"""Equal noise on all cells: its scale, its centring, and its cost on a line in closed form."""

from fractions import Fraction
from math import pi, sqrt

import numpy as np
import pytest

from hallmark.mechanisms.blocks.strategies.identity import Identity, identity
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from tests.mechanisms.blocks.strategies.measured import (
    RELATIONS,
    REMOVE,
    REPLACE,
    cells,
    covariance,
    variance,
)
from tests.mechanisms.geometry.small_spaces import grid


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
def test_the_scale_is_the_sensitivity_of_a_histogram_over_epsilon(adjacency) -> None:
    strategy = identity(9, epsilon=Fraction(2, 3), adjacency=adjacency)
    assert strategy.cell_noise == LaplaceNoise(Fraction(3, 2) * adjacency.l1)


def test_centring_takes_the_mean_error_off_every_cell() -> None:
    strategy = identity(4, epsilon=Fraction(1), adjacency=REPLACE)
    noisy = np.array([7, -1, 0, 4])
    assert strategy.estimate([noisy], 6).tolist() == [6, -2, -1, 3]
    assert strategy.estimate([noisy], None).tolist() == [7, -1, 0, 4]


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
def test_the_error_has_the_covariance_of_centred_or_independent_noise(adjacency) -> None:
    strategy, public = identity(5, epsilon=Fraction(1), adjacency=adjacency), adjacency is REPLACE
    each = variance(strategy.cell_noise)
    expected = each * (np.eye(5) - (1 / 5 if public else 0))
    assert covariance(strategy, total_is_public=public) == pytest.approx(expected)


def test_gaussian_noise_is_charged_as_a_histogram() -> None:
    strategy = Identity(size=4, cell_noise=GaussianNoise(Fraction(9)))
    (query,) = strategy.queries(cells(4))
    expected = DiscreteGaussian(l2_squared=2, sigma2=Fraction(9), unit_moves=2)
    assert query.event(REPLACE) == expected


def test_on_a_line_it_costs_as_much_as_brownian_bridges_say() -> None:
    """Partial sums make a bridge of variance 2 b^2 m, whose mean modulus is sqrt(pi / 32)."""
    size, draws = 4096, 800
    strategy = identity(size, epsilon=Fraction(1), adjacency=REPLACE)
    errors = strategy.simulate(draws, np.random.default_rng(0), total_is_public=True)
    costs = path_loss(grid(size, 1), errors)
    expected = 2 * sqrt(2 * size) * sqrt(pi / 32)
    assert expected == pytest.approx(0.886 * sqrt(size), rel=1e-3)
    # 5 standard errors (6e-7), and a percent for what is not yet the limit.
    assert abs(costs.mean() - expected) < 5 * costs.std() / sqrt(draws) + 0.01 * expected
