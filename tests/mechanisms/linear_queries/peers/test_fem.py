"""FEM and sepFEM: leaders by definition. The rest: test_adaptive_methods.py."""

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.peers.fem import LeaderPath, plan_fem, plan_sep_fem
from hallmark.mechanisms.linear_queries.peers.perturbation import ByCoordinate, separator
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell
from tests.mechanisms.linear_queries.adaptive_runs import (
    PURE,
    of,
    planned,
    ways,
)

SMALL = ways((2, 2, 2), 2)


class Fixed(ByCoordinate):
    """The same payoffs every time."""

    def draw(self, draws: int, scale: float, rng: np.random.Generator) -> np.ndarray:
        return np.tile(scale * np.array([0.0, 0.9, 0, 0, 0, 0, 0, 0.5]), (draws, 1))


def test_leaders_are_best_for_the_queries_chosen_and_the_perturbation() -> None:
    path = LeaderPath(SMALL, Fixed(SMALL), 5, 1.0)
    np.testing.assert_allclose(path.answers(), SMALL.answers(np.eye(8)[1]))
    path.move(3, 1)  # cell 11 of the first two columns: records 6 and 7
    np.testing.assert_allclose(path.answers(), SMALL.answers(np.eye(8)[7]))
    path.move(3, -1)
    np.testing.assert_allclose(path.answers(), SMALL.answers(np.eye(8)[1]))
    np.testing.assert_allclose(path.shares(), (np.eye(8)[1] + np.eye(8)[7]) / 2)


@pytest.mark.parametrize("law", [ByCoordinate, separator])
def test_records_are_the_same_however_many_are_drawn_at_once(monkeypatch, law) -> None:
    def drawn() -> np.ndarray:
        path = LeaderPath(SMALL, law(SMALL), 5, 1.0)
        path.move(3, 1)
        path.move(5, -1)
        return path.shares()

    together = drawn()
    monkeypatch.setattr("hallmark.mechanisms.linear_queries.peers.fem._AT_ONCE", 2 * SMALL.size)
    np.testing.assert_array_equal(drawn(), together)
    assert np.count_nonzero(together) > 1


def test_names_and_rounds_where_epsilons_add_up() -> None:
    assert planned(plan_sep_fem, SMALL).name == "sep-fem"
    assert planned(plan_fem, SMALL).name == "fem"
    assert planned(plan_fem, SMALL, budget=PURE).rounds == 32
    blind = of((2, 2), Block(marginal((0,), (2, 2)), EachCell(2)))
    assert planned(plan_fem, blind).name == "fem"  # which needs no queries that tell cells apart
