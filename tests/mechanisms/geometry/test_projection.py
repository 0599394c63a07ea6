"""Projections onto probability measures against linear programs."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hallmark.mechanisms.geometry.projection import CREATION_COST, project, project_on_path
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import hub_transport, transport
from tests.mechanisms.geometry.small_spaces import SPACES, distances, grid, places

EXACT = [name for name in SPACES if name != "triangle"]  # whose unit does not divide 1


def least_distance(between: np.ndarray, masses: np.ndarray) -> float:
    """Bounded-Lipschitz distance to the nearest probability measure, by a dense program.

    Variables: how much goes from i to j, is destroyed at i, is created at j, and the result at j.
    """
    size = len(masses)
    one, wide = np.eye(size), np.ones((1, size))
    leaves, arrives = np.kron(one, wide), np.kron(wide, one)
    nothing = np.zeros((1, size * size + 2 * size))
    solved = linprog(
        np.concatenate([between.ravel(), np.ones(2 * size), np.zeros(size)]),
        A_eq=np.vstack(
            [
                np.hstack([arrives - leaves, -one, one, -one]),
                np.hstack([nothing, wide]),
            ]
        ),
        b_eq=np.append(-masses, 1.0),
        method="highs",
    )
    assert solved.success
    return float(solved.fun)


def bounded_lipschitz(space: FiniteSpace, difference: np.ndarray) -> float:
    """The largest integral over |f| <= 1 that differ by at most the distances."""
    return float(hub_transport(space, difference, radius=CREATION_COST))


def least_path_cost(gaps: np.ndarray, masses: np.ndarray) -> float:
    """Least transport along the path to a probability measure, by a program over its sums."""
    inner = np.cumsum(masses)[:-1]
    size = len(inner)
    if size == 0:
        return 0.0
    one = np.eye(size)
    rising = one[:-1] - one[1:]
    solved = linprog(
        np.concatenate([np.zeros(size), gaps, gaps]),
        A_eq=np.hstack([one, one, -one]),
        b_eq=inner,
        A_ub=np.hstack([rising, np.zeros((size - 1, 2 * size))]) if size > 1 else None,
        b_ub=np.zeros(size - 1) if size > 1 else None,
        bounds=[(0, 1)] * size + [(0, None)] * (2 * size),
        method="highs",
    )
    assert solved.success
    return float(solved.fun)


def path_cost(gaps: np.ndarray, difference: np.ndarray) -> float:
    return float(np.abs(np.cumsum(difference)[:-1]) @ gaps)


def signed(size: int, rng: np.random.Generator, noise: float, mass: float = 1.0) -> np.ndarray:
    masses = rng.dirichlet(np.ones(size)) + noise * rng.normal(size=size) / size
    return masses + (mass - masses.sum()) / size


def assert_is_probability(masses: np.ndarray) -> None:
    assert masses.min() >= 0.0
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("noise", [0.5, 3.0, 30.0])
def test_of_mass_one_the_projection_is_nearest_in_w1(name: str, noise: float) -> None:
    space, rng = SPACES[name], np.random.default_rng(1)
    for _ in range(3):
        masses = signed(space.size, rng, noise)
        nearest = project(space, masses)
        assert_is_probability(nearest.masses)
        # With mass one no unit is both created and destroyed in the program.
        least = least_distance(distances(space), masses)
        assert nearest.distance == pytest.approx(least, rel=1e-9, abs=1e-9)
        reached = transport(space, masses - nearest.masses)
        assert reached == pytest.approx(least, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("mass", [0.0, 0.05, 0.9, 3.0, -1.0])
def test_of_another_mass_the_projection_is_nearest_in_the_bounded_lipschitz_distance(
    name: str, mass: float
) -> None:
    space, rng = SPACES[name], np.random.default_rng(2)
    for _ in range(3):
        masses = signed(space.size, rng, 3.0, mass)
        nearest = project(space, masses)
        assert_is_probability(nearest.masses)
        least = least_distance(distances(space), masses)
        assert nearest.distance == pytest.approx(least, rel=1e-9, abs=1e-9)
        reached = bounded_lipschitz(space, masses - nearest.masses)
        assert reached == pytest.approx(least, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_a_probability_measure_is_its_own_projection(name: str) -> None:
    space = SPACES[name]
    masses = np.random.default_rng(3).dirichlet(np.ones(space.size))
    nearest = project(space, masses)
    assert np.allclose(nearest.masses, masses, atol=1e-9)
    assert nearest.distance == pytest.approx(0.0, abs=1e-9)


def test_a_negative_cell_is_filled_from_its_neighbours() -> None:
    space = grid(3, 2)
    masses = np.zeros(9)
    masses[[0, 4, 8]] = 0.75, -0.25, 0.5
    nearest = project(space, masses)
    # Both ends are one king move from the middle.
    assert nearest.distance == pytest.approx(0.25 / 3)
    assert nearest.masses[4] == 0.0
    assert_is_probability(nearest.masses)


def test_a_program_without_what_arrives_is_not_the_projection() -> None:
    # As in the paper's Algorithm 2: what is taken from or put to a point appears at no other.
    space, rng = grid(3, 2), np.random.default_rng(4)
    size, between = space.size, distances(space)
    others = np.where(np.eye(size) == 1, np.inf, between).min(axis=1)
    one, wide = np.eye(size), np.ones((1, size))
    differs = 0
    for _ in range(10):
        masses = signed(size, rng, 10.0, 1.2)
        solved = linprog(
            np.concatenate([others, others, np.zeros(size)]),
            A_eq=np.vstack(
                [np.hstack([one, -one, one]), np.hstack([np.zeros((1, 2 * size)), wide])]
            ),
            b_eq=np.append(masses, 1.0),
            method="highs",
        )
        assert solved.success
        reached = bounded_lipschitz(space, masses - solved.x[-size:])
        differs += reached > project(space, masses).distance + 1e-6
    assert differs >= 5


def gaps_and_masses() -> st.SearchStrategy[tuple[list[float], list[float]]]:
    """With ties, gaps of length zero and sums outside of [0, 1]."""
    gap = st.sampled_from([0.0, 0.25, 0.25, 1.0]) | st.floats(0.01, 1.0)
    mass = st.sampled_from([-0.5, 0.0, 0.25, 0.5]) | st.floats(-1.0, 1.0)
    return st.lists(st.tuples(gap, mass), max_size=12).map(
        lambda pairs: ([gap for gap, _ in pairs], [mass for _, mass in pairs])
    )


@settings(max_examples=200, derandomize=True)
@given(gaps_and_masses())
def test_on_a_path_the_projection_costs_least(drawn: tuple[list[float], list[float]]) -> None:
    gaps, inner = np.array(drawn[0]), np.array(drawn[1])
    masses = np.append(inner, 1.0 - inner.sum())
    nearest = project_on_path(gaps, masses)
    assert_is_probability(nearest)
    least = least_path_cost(gaps, masses)
    assert path_cost(gaps, masses - nearest) == pytest.approx(least, abs=1e-7)


def test_the_path_projection_costs_least_on_long_noisy_paths() -> None:
    rng = np.random.default_rng(5)
    for noise in (1.0, 10.0, 100.0):
        gaps, masses = rng.random(199), signed(200, rng, noise)
        nearest = project_on_path(gaps, masses)
        least = least_path_cost(gaps, masses)
        assert path_cost(gaps, masses - nearest) == pytest.approx(least, abs=1e-7)


def test_the_mean_in_the_place_of_the_median_costs_more() -> None:
    # Pool adjacent violators as for squares: a twin that the program above must refuse.
    gaps, masses = np.ones(4), np.array([0.9, -0.8, 0.0, 0.0, 0.9])
    nearest = project_on_path(gaps, masses)
    assert np.allclose(np.cumsum(nearest)[:-1], 0.1)
    assert path_cost(gaps, masses - nearest) == pytest.approx(least_path_cost(gaps, masses))
    means = np.diff([0.3, 0.3, 0.3, 0.3, 1.0], prepend=0.0)
    assert path_cost(gaps, masses - means) > path_cost(gaps, masses - nearest) + 0.1


def test_the_weights_of_the_median_are_the_gaps() -> None:
    # The sums fall from 0.9 to 0.1; the longer stretch decides.
    masses = np.array([0.9, -0.8, 0.9])
    assert np.allclose(project_on_path(np.array([3.0, 1.0]), masses), [0.9, 0.0, 0.1])
    assert np.allclose(project_on_path(np.array([1.0, 3.0]), masses), [0.1, 0.0, 0.9])


def test_a_million_points_are_projected_along_their_path() -> None:
    rng = np.random.default_rng(6)
    masses = signed(1_000_000, rng, 1000.0)
    nearest = project_on_path(np.full(999_999, 1e-6), masses)
    assert_is_probability(nearest)
    again = project_on_path(np.full(999_999, 1e-6), nearest)
    assert np.allclose(again, nearest, rtol=0.0, atol=1e-12)


def test_on_a_line_both_projections_agree() -> None:
    rng = np.random.default_rng(7)
    space = grid(300, 1)
    masses = signed(300, rng, 50.0)
    nearest = project(space, masses)
    assert np.array_equal(nearest.masses, project_on_path(space.gaps, masses))
    # A hair of surplus takes the way over the flow.
    by_flow = project(space, masses + 1e-6 / 300)
    assert by_flow.distance == pytest.approx(nearest.distance, abs=1e-5)


@pytest.mark.parametrize("make", [partial(grid, 25, 2), partial(places, 80)])
def test_the_projection_is_within_twice_the_noise_of_the_truth(
    make: Callable[[], FiniteSpace],
) -> None:
    space, rng = make(), np.random.default_rng(8)
    truth = rng.dirichlet(np.ones(space.size) / 10)
    noise = rng.normal(size=space.size) / space.size
    noise -= noise.mean()
    nearest = project(space, truth + noise)
    assert transport(space, truth - nearest.masses) <= 2 * transport(space, noise)
    assert nearest.distance <= transport(space, noise)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "dimension"), [(100, 2), (21, 3)])
def test_ten_thousand_noisy_counts_are_projected(k: int, dimension: int) -> None:
    space, rng = grid(k, dimension), np.random.default_rng(9)
    truth = rng.dirichlet(np.ones(space.size) / 10)
    noise = rng.laplace(size=space.size, scale=50) / 27_000
    noise -= noise.mean()
    nearest = project(space, truth + noise)
    assert_is_probability(nearest.masses)
    reached = transport(space, truth + noise - nearest.masses)
    assert reached == pytest.approx(nearest.distance, rel=1e-6)
    assert nearest.distance <= transport(space, noise)


def test_what_cannot_be_projected_is_refused() -> None:
    space = grid(3, 2)
    with pytest.raises(ValueError, match="1 masses are not finite"):
        project(space, np.append(np.zeros(8), np.nan))
    with pytest.raises(ValueError, match="but there are 9 points"):
        project(space, np.zeros(8))
    with pytest.raises(ValueError, match="project takes one measure"):
        project(space, np.zeros((2, 9)))
    with pytest.raises(ValueError, match="divide counts by the number of records"):
        project(space, np.full(9, 1e12))


@pytest.mark.parametrize(
    ("gaps", "masses", "message"),
    [
        (np.ones(2), np.ones(2) / 2, "gaps for masses of shape"),
        (np.ones(1), np.ones(2), "masses sum to 2, not 1"),
        (-np.ones(1), np.ones(2) / 2, "gaps: 1 are negative"),
        (np.ones(1), np.array([np.nan, 1.0]), "a number is not finite"),
        (np.full(1, np.inf), np.ones(2) / 2, "a number is not finite"),
        (np.ones(0), np.ones(0), "gaps for masses of shape"),
    ],
)
def test_what_is_no_path_is_refused(gaps: np.ndarray, masses: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        project_on_path(gaps, masses)
