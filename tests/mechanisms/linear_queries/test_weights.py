"""Distributions in proportion to exponentials, however far apart the exponents are."""

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.weights import tilted


def test_shares_are_in_proportion_to_exponentials() -> None:
    uniform, exponents = np.array([0.5, 0.25, 0.25]), np.array([0.0, 1.0, -2.0])
    expected = uniform * np.exp(exponents)
    np.testing.assert_allclose(tilted(uniform, exponents), expected / expected.sum())


@pytest.mark.parametrize("top", [2000.0, -2000.0])
def test_cells_without_a_share_neither_get_one_nor_drown_the_others(top: float) -> None:
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        shares = tilted(np.array([0.0, 0.5, 0.5]), np.array([top, 3.0, 3.0 + np.log(3)]))
    np.testing.assert_allclose(shares, [0, 0.25, 0.75])
