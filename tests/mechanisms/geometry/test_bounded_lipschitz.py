"""The bounded-Lipschitz distance against its definition."""

import numpy as np
import pytest

from hallmark.mechanisms.geometry.bounded_lipschitz import bounded_lipschitz
from hallmark.mechanisms.geometry.finite_metrics import distances
from hallmark.mechanisms.geometry.transport import hub_transport, transport
from tests.mechanisms.geometry.small_spaces import SPACES, balanced, best_potential, grid

EXACT = [name for name in SPACES if name != "triangle"]  # whose unit does not divide 1


@pytest.mark.parametrize("name", EXACT)
def test_it_is_the_best_potential_bounded_by_one(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(1)
    for _ in range(5):
        difference = rng.normal(size=space.size) + rng.normal()
        expected = best_potential(distances(space), difference, 1.0)
        computed = bounded_lipschitz(space, difference)
        assert computed == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_between_measures_of_equal_mass_it_is_w1(name: str) -> None:
    space = SPACES[name]
    difference = balanced(space.size, np.random.default_rng(2))
    assert bounded_lipschitz(space, difference) == pytest.approx(transport(space, difference))


@pytest.mark.parametrize("name", EXACT)
def test_from_nothing_it_is_the_mass(name: str) -> None:
    space = SPACES[name]
    masses = np.random.default_rng(3).random(space.size)
    assert bounded_lipschitz(space, masses) == pytest.approx(masses.sum())


def test_it_is_transport_of_what_matches_and_the_surplus() -> None:
    space = grid(4, 1)
    # A unit moves two cells of 1/4, and a unit is created where it is needed.
    assert bounded_lipschitz(space, np.array([1, 0, -1, -1])) == pytest.approx(0.5 + 1.0)


def test_it_exceeds_the_seminorm_with_the_nearer_hub_by_half_the_surplus() -> None:
    rng = np.random.default_rng(4)
    for name in EXACT:
        difference = rng.normal(size=SPACES[name].size)
        near = hub_transport(SPACES[name], difference)
        far = bounded_lipschitz(SPACES[name], difference)
        assert near - 1e-9 <= far <= near + 0.5 * np.abs(difference).sum() + 1e-9


def test_a_batch_keeps_its_shape() -> None:
    batch = np.random.default_rng(5).normal(size=(2, 3, 9))
    rows = [[bounded_lipschitz(grid(3, 2), row) for row in block] for block in batch]
    assert np.array_equal(bounded_lipschitz(grid(3, 2), batch), rows)


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="1 masses are not finite"):
        bounded_lipschitz(grid(2, 1), np.array([np.inf, 0.0]))
