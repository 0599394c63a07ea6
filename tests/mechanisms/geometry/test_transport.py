"""Flows on graphs against couplings, potentials and a second solver."""

from dataclasses import replace

import numpy as np
import ot
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.geometry.transport import (
    FlowSolver,
    Network,
    hub_transport,
    network,
    network_with_hub,
    transport,
    whole_masses,
)
from tests.mechanisms.geometry.small_spaces import (
    SPACES,
    balanced,
    best_potential,
    cheapest_coupling,
    distances,
    grid,
    places,
    triangle,
)


@pytest.mark.parametrize("name", SPACES)
def test_transport_is_the_cheapest_coupling(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(1)
    between = distances(space)
    for _ in range(5):
        difference = balanced(space.size, rng)
        expected = cheapest_coupling(between, difference)
        assert transport(space, difference) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("k", "dimension"), [(20, 2), (7, 3)])
def test_transport_agrees_with_another_solver(k: int, dimension: int) -> None:
    space, rng = grid(k, dimension), np.random.default_rng(2)
    difference = balanced(space.size, rng)
    expected = ot.emd2(
        np.maximum(difference, 0), np.maximum(-difference, 0), distances(space), numItermax=10**7
    )
    assert transport(space, difference) == pytest.approx(expected, rel=1e-9)


def test_transport_between_places_agrees_with_another_solver() -> None:
    space, rng = places(60), np.random.default_rng(3)
    difference = balanced(space.size, rng)
    expected = ot.emd2(np.maximum(difference, 0), np.maximum(-difference, 0), distances(space))
    assert transport(space, difference) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("radius", [0.5, 0.75, 1.0])
def test_hub_transport_is_the_best_bounded_potential(name: str, radius: float) -> None:
    space, rng = SPACES[name], np.random.default_rng(4)
    half = space.unit / 2
    bound = np.ceil(radius / half - 1e-9) * half  # more than the radius in `triangle` alone
    assert bound == pytest.approx(radius) or name == "triangle"
    for _ in range(5):
        difference = rng.normal(size=space.size) + rng.normal()
        expected = best_potential(distances(space), difference, bound)
        computed = hub_transport(space, difference, radius=radius)
        assert computed == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_the_hub_changes_nothing_where_the_mass_is_zero(name: str) -> None:
    space = SPACES[name]
    difference = balanced(space.size, np.random.default_rng(5))
    assert hub_transport(space, difference) == pytest.approx(transport(space, difference), rel=1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_a_probability_vector_is_half_a_diameter_from_nothing(name: str) -> None:
    space = SPACES[name]
    masses = np.random.default_rng(6).dirichlet(np.ones(space.size))
    if name != "triangle":  # whose hub is a little farther away
        assert hub_transport(space, masses) == pytest.approx(0.5)


def test_points_are_at_their_distance() -> None:
    for space in SPACES.values():
        between = distances(space)
        pairs = np.eye(space.size)[:, None, :] - np.eye(space.size)[None, :, :]
        assert np.allclose(transport(space, pairs), between, atol=1e-12)


def test_whole_numbers_of_records_are_not_rounded() -> None:
    # The optimum is a whole number of steps of 1/k; fractions would show in the last places.
    rng = np.random.default_rng(7)
    for k, dimension in ((8, 2), (5, 3)):
        space = grid(k, dimension)
        counts = rng.integers(0, 10**9, size=(3, space.size))
        counts[:, 0] += counts.sum(axis=1).max() - counts.sum(axis=1)
        steps = transport(space, counts[0] - counts[1]) * k
        assert steps == pytest.approx(round(steps), abs=1e-4)
        assert transport(space, (counts[0] - counts[1]) / 2.0**20) * 2.0**20 * k == steps


def test_transport_is_a_metric_that_does_not_see_what_both_measures_share() -> None:
    rng = np.random.default_rng(8)
    for space in SPACES.values():
        a, b, c = rng.dirichlet(np.ones(space.size), size=3)
        shared = rng.normal(size=space.size)
        assert transport(space, a - b) == pytest.approx(transport(space, b - a), rel=1e-9)
        assert transport(space, a - c) <= transport(space, a - b) + transport(space, b - c) + 1e-9
        moved = transport(space, (a + shared) - (b + shared))
        assert moved == pytest.approx(transport(space, a - b), rel=1e-9, abs=1e-12)


def test_a_fine_line_needs_no_flow() -> None:
    space, rng = grid(100_000, 1), np.random.default_rng(9)
    a, b = rng.dirichlet(np.ones(space.size), size=2)
    positions = (np.arange(space.size) + 0.5) / space.size
    expected = wasserstein_distance(positions, positions, a, b)
    assert transport(space, a - b) == pytest.approx(expected, rel=1e-9)  # a flow takes hours


def test_a_batch_is_the_rows_one_by_one() -> None:
    rng = np.random.default_rng(10)
    for space in SPACES.values():
        rows = [[balanced(space.size, rng) for _ in range(3)] for _ in range(2)]
        batch = np.array(rows)
        expected = [[transport(space, row) for row in block] for block in rows]
        assert np.array_equal(transport(space, batch), expected)
        expected = [[hub_transport(space, row) for row in block] for block in rows]
        assert np.array_equal(hub_transport(space, batch), expected)
        assert transport(space, batch[:0]).shape == (0, 3)


def test_rounding_stays_within_its_bound() -> None:
    # Thirds are no binary fractions; the same problem times 3 is one of whole numbers.
    space = grid(9, 2)
    most = FlowSolver(network(space)).most_mass
    rng = np.random.default_rng(11)
    for _ in range(5):
        whole = np.rint(rng.normal(size=space.size) * 100)
        whole[0] -= whole.sum()
        error = abs(transport(space, whole / 3) - transport(space, whole) / 3)
        assert error <= space.size / most * np.abs(whole / 3).sum() + 1e-12


def test_whole_masses_are_exact_for_dyadic_numbers_and_near_for_others() -> None:
    for most in (2**20, 2**50):
        dyadic = np.array([3.0, -5.0, 0.0, 0.25])
        whole, unit = whole_masses(dyadic, most)
        assert np.array_equal(whole * unit, dyadic)
        assert most / 2 <= np.abs(whole).sum() < most
        thirds = dyadic / 3
        whole, unit = whole_masses(thirds, most)
        assert np.abs(whole * unit - thirds).max() <= unit / 2
    whole, _ = whole_masses(np.zeros(3), 2**20)
    assert not whole.any()


@pytest.mark.parametrize("scale", [1e-12, 1e-300, 1e12, 1e300])
def test_masses_of_any_size_are_transported(scale: float) -> None:
    space = grid(3, 2)
    difference = balanced(space.size, np.random.default_rng(12))
    expected = hub_transport(space, difference) * scale
    assert hub_transport(space, difference * scale) == pytest.approx(expected, rel=1e-9)


def test_differences_that_all_but_vanish_are_no_surplus() -> None:
    space = grid(3, 2)
    a = np.random.default_rng(13).dirichlet(np.ones(space.size))
    assert transport(space, a - a * (1 + 1e-15)) < 1e-14
    assert transport(space, a - a) == 0.0


def test_a_surplus_is_refused() -> None:
    space = grid(3, 2)
    with pytest.raises(ValueError, match=r"mass 0\.001, not 0"):
        transport(space, np.eye(9)[0] - 0.999 * np.eye(9)[5])


@pytest.mark.parametrize(
    ("masses", "message"),
    [
        (np.zeros(8), "shape .8,., but there are 9 points"),
        (np.zeros((9, 2)), "shape .9, 2., but there are 9 points"),
        (np.zeros(()), "shape .., but there are 9 points"),
        (np.full(9, np.nan), "9 masses are not finite"),
        (np.full(9, np.inf), "9 masses are not finite"),
    ],
)
def test_what_is_no_difference_is_refused(masses: np.ndarray, message: str) -> None:
    for distance in (transport, hub_transport):
        with pytest.raises(ValueError, match=message):
            distance(grid(3, 2), masses)


def test_a_space_without_points_is_refused() -> None:
    empty = replace(grid(3, 1), places=np.zeros(0, dtype=np.int64))
    for distance in (transport, hub_transport):
        with pytest.raises(ValueError, match="the space has no points"):
            distance(empty, np.zeros(0))


@pytest.mark.parametrize("radius", [0.49, -1.0, float("nan")])
def test_a_hub_too_near_is_refused(radius: float) -> None:
    with pytest.raises(ValueError, match="a hub nearer than 1/2 would shorten distances"):
        hub_transport(grid(3, 2), np.zeros(9), radius=radius)


def test_a_nearer_hub_would_shorten_distances() -> None:
    space = triangle()
    edges, hub = np.full(3, 2), np.full(3, 3, dtype=np.int32)  # 2 units of 0.15: radius 0.3
    points = space.places.astype(np.int32)
    broken = network(space).with_node(
        np.concatenate([points, hub]), np.concatenate([hub, points]), np.append(edges, edges)
    )
    flow = FlowSolver(broken).solve(np.array([1, 0, -1, 0]))
    assert flow.cost == pytest.approx(0.6)
    assert transport(space, np.array([1, 0, -1])) == pytest.approx(0.75)


def test_a_failure_of_the_solver_is_told() -> None:
    apart = Network(
        nodes=3,
        tails=np.array([0], dtype=np.int32),
        heads=np.array([1], dtype=np.int32),
        costs=np.array([1]),
        unit=1.0,
        reach=1.0,
    )
    with pytest.raises(RuntimeError, match="over 3 nodes: status INFEASIBLE"):
        FlowSolver(apart).solve(np.array([1, 0, -1]))
    with pytest.raises(RuntimeError, match="status UNBALANCED"):
        FlowSolver(apart).solve(np.array([1, 0, 0]))


def test_one_solver_serves_several_supplies() -> None:
    problem = network_with_hub(grid(3, 2), 0.5)
    shared, rng = FlowSolver(problem), np.random.default_rng(15)
    for _ in range(4):
        supplies = rng.integers(-100, 100, size=problem.nodes)
        supplies[-1] -= supplies.sum()
        assert shared.solve(supplies).cost == FlowSolver(problem).solve(supplies).cost
    assert shared.solve(np.zeros(problem.nodes, dtype=np.int64)).cost == 0.0


def test_no_amount_of_mass_overflows() -> None:
    # The heaviest difference that is taken, from corner to corner, on the widest graphs.
    for space in (grid(20, 2), places(100)):
        solver = FlowSolver(network_with_hub(space, 1.0))
        half = solver.most_mass // 2
        supplies = np.zeros(space.nodes + 1, dtype=np.int64)
        supplies[space.places[0]], supplies[space.places[-1]] = half, -half
        distance = transport(space, np.eye(space.size)[0] - np.eye(space.size)[-1])
        assert solver.solve(supplies).cost == pytest.approx(distance * half, rel=1e-9)
