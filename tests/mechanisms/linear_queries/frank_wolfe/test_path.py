"""Sums of chosen queries are the points of the recursion."""

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.frank_wolfe.path import CellPath, coefficients, combination
from hallmark.mechanisms.linear_queries.questions import signed
from hallmark.mechanisms.linear_queries.weights import tilted
from tests.mechanisms.linear_queries.adaptive_runs import ways

UNIVERSE = ways((2, 3, 2), 1, 2)
SIZE = UNIVERSE.queries.size
CHOSEN = [3, SIZE + 3, 0, 7, SIZE + 1, 3, 9]


def recursion(step: float) -> list[np.ndarray]:
    states, dual = [], np.zeros(UNIVERSE.size)
    for position in CHOSEN:
        query, sign = signed(position, SIZE)
        dual = (1 - step) * dual + step * sign * UNIVERSE.values(query)
        states.append(dual)
    return states


@pytest.mark.parametrize("step", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("states", [range(7, 8), range(4, 8), range(1, 2), range(1, 8)])
def test_a_mean_of_the_path_is_a_sum_of_the_queries_chosen(step: float, states: range) -> None:
    weights = combination(CHOSEN, coefficients(7, step, states), SIZE)
    expected = np.mean([recursion(step)[t - 1] for t in states], axis=0)
    np.testing.assert_allclose(UNIVERSE.adjoint(weights), expected, atol=1e-14)


def test_the_path_follows_the_recursion() -> None:
    path = CellPath(UNIVERSE, 0.05, 0.3)
    for position, dual in zip(CHOSEN, recursion(0.3), strict=True):
        path.move(*signed(position, SIZE))
        shares = tilted(UNIVERSE.uniform, dual / 0.05)
        np.testing.assert_allclose(path.shares(), shares, rtol=1e-12)
        np.testing.assert_allclose(path.answers(), UNIVERSE.answers(shares), atol=1e-14)


def test_a_small_smoothing_overflows_nowhere() -> None:
    path = CellPath(UNIVERSE, 1e-5, 1.0)
    path.move(0, 1)
    assert path.shares().sum() == pytest.approx(1)
