"""Paths against all paths through few points, and curves step by step."""

import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from hallmark.mechanisms.geometry.finite_metrics import pairwise
from hallmark.mechanisms.geometry.paths import hilbert, path_length, short_path, snake


def tree_length(distances: np.ndarray) -> float:
    return float(minimum_spanning_tree(distances).sum())


def test_the_length_of_a_path_is_the_sum_of_its_steps() -> None:
    distances = pairwise(np.array([0.0, 0.5, 0.6])[:, None])
    assert path_length(distances, np.array([1, 0, 2])) == pytest.approx(0.5 + 0.6)
    assert path_length(distances, np.array([1])) == 0.0


def test_a_short_path_visits_every_point_once() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 4, 50):
        order = short_path(pairwise(rng.random((size, 2))))
        assert sorted(order) == list(range(size))


def test_a_short_path_is_at_most_twice_a_minimum_spanning_tree() -> None:
    rng = np.random.default_rng(2)
    for size, dimension in itertools.product((3, 10, 60, 150), (1, 2, 5)):
        distances = pairwise(rng.random((size, dimension)), "l2")
        length = path_length(distances, short_path(distances))
        assert tree_length(distances) - 1e-9 <= length <= 2 * tree_length(distances) + 1e-9


def test_a_short_path_is_nearly_the_shortest_of_all_through_few_points() -> None:
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(20):
        distances = pairwise(rng.random((7, 2)))
        paths = (np.array(order) for order in itertools.permutations(range(7)))
        shortest = min(path_length(distances, order) for order in paths)
        ratios.append(path_length(distances, short_path(distances)) / shortest)
    assert min(ratios) > 1 - 1e-12
    assert max(ratios) < 2
    assert np.mean(ratios) < 1.15


def test_points_on_a_line_are_visited_in_their_order() -> None:
    positions = np.random.default_rng(4).permutation(40) / 40
    order = short_path(pairwise(positions[:, None]))
    assert set(np.abs(np.diff(positions[order])).round(9)) == {1 / 40}


def test_a_thousand_points_in_the_square_take_a_path_of_about_22() -> None:
    distances = pairwise(np.random.default_rng(0).random((1000, 2)))
    assert 18 < path_length(distances, short_path(distances)) < 23


def test_points_at_the_same_place_do_no_harm() -> None:
    distances = pairwise(np.repeat([0.0, 0.3, 1.0], 3)[:, None])
    order = short_path(distances)
    assert sorted(order) == list(range(9))
    assert path_length(distances, order) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(1,), (6,), (3, 4), (5, 1, 2), (2, 3, 4), (3, 3, 3)])
def test_a_snake_goes_from_neighbour_to_neighbour(shape: tuple[int, ...]) -> None:
    steps = np.stack(np.unravel_index(snake(shape), shape))
    assert (np.abs(np.diff(steps, axis=1)).sum(axis=0) == 1).all()
    assert sorted(snake(shape)) == list(range(int(np.prod(shape))))


def test_a_snake_turns_at_the_end_of_every_row() -> None:
    assert snake((2, 3)).tolist() == [0, 1, 2, 5, 4, 3]


@pytest.mark.parametrize(("k", "d"), [(1, 2), (8, 1), (2, 2), (8, 2), (32, 2), (8, 3), (4, 4)])
def test_hilberts_curve_goes_from_neighbour_to_neighbour(k: int, d: int) -> None:
    order = hilbert(k, d)
    steps = np.stack(np.unravel_index(order, (k,) * d))
    assert (np.abs(np.diff(steps, axis=1)).sum(axis=0) == 1).all()
    assert sorted(order) == list(range(k**d))


@pytest.mark.parametrize(("k", "d"), [(16, 2), (8, 3)])
def test_hilberts_curve_fills_every_dyadic_cube_before_it_leaves(k: int, d: int) -> None:
    steps = np.stack(np.unravel_index(hilbert(k, d), (k,) * d))
    for side in (2, 4):
        cubes = np.ravel_multi_index(tuple(steps // side), (k // side,) * d)
        assert (np.diff(cubes) != 0).sum() == (k // side) ** d - 1


@pytest.mark.parametrize("k", [0, 3, 12])
def test_hilberts_curve_needs_a_power_of_two(k: int) -> None:
    with pytest.raises(ValueError, match=f"power of two of cells a side, not k = {k}"):
        hilbert(k, 2)
