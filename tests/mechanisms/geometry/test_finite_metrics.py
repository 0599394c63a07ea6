"""Spaces of finite metrics against the matrices that they were made of."""

import numpy as np
import pytest
from scipy.sparse.csgraph import floyd_warshall

from hallmark.mechanisms.domain.domain import Attribute, Kind
from hallmark.mechanisms.geometry import finite_metrics as metrics
from hallmark.mechanisms.geometry.finite_metrics import (
    UNIT,
    cell_distances,
    check_metric,
    finite_space,
    pairwise,
)
from tests.mechanisms.geometry.small_spaces import distances


def random_metrics() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    line = pairwise(rng.random((12, 1)))
    plane = pairwise(rng.random((30, 2)), "l2")
    lattice = pairwise(np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=-1) / 1.0)
    weights = rng.random((15, 15))
    graph = floyd_warshall(weights + weights.T)
    return [m / m.max() for m in (line, plane, lattice, graph)] + [np.zeros((1, 1))]


def test_shortest_paths_are_the_distances_rounded_up_by_less_than_a_unit() -> None:
    for given in random_metrics():
        excess = distances(finite_space(given)) - given
        assert (excess > -1e-15).all()
        assert (excess < UNIT).all()


def test_the_path_and_the_tree_of_a_space_have_its_own_distances() -> None:
    for given in random_metrics():
        space = finite_space(given)
        own = distances(space)
        assert sorted(space.order) == list(range(space.size))
        assert space.gaps == pytest.approx(own[space.order[:-1], space.order[1:]], abs=1e-12)
        for level, diameters in zip(space.tree.levels, space.tree.diameters, strict=True):
            for (start, _, stop), diameter in zip(level, diameters, strict=True):
                points = space.tree.order[start:stop]
                assert diameter == pytest.approx(own[np.ix_(points, points)].max(), abs=1e-12)


def test_edges_that_a_detour_makes_redundant_are_left_out() -> None:
    positions = np.arange(9)[:, None] / 8
    space = finite_space(pairwise(positions))
    assert len(space.tails) == 8
    assert (np.abs(space.tails - space.heads) == 1).all()
    triangle = finite_space(1.0 - np.eye(3))
    assert len(triangle.tails) == 3


def test_every_edge_is_needed() -> None:
    for given in random_metrics()[:4]:
        space = finite_space(given)
        whole = distances(space)
        for edge in range(0, len(space.tails), 17):
            others = np.arange(len(space.tails)) != edge
            matrix = np.full(given.shape, np.inf)
            matrix[space.tails[others], space.heads[others]] = space.lengths[others] * UNIT
            matrix = floyd_warshall(np.minimum(matrix, matrix.T))
            i, j = space.tails[edge], space.heads[edge]
            assert matrix[i, j] > whole[i, j]


def test_a_space_may_be_one_point() -> None:
    space = finite_space(np.zeros((1, 1)))
    assert (space.size, space.nodes, len(space.tails), len(space.gaps)) == (1, 1, 0, 0)
    assert space.tree.depth == 0


def spoilt(*entries: tuple[int, int, float]) -> np.ndarray:
    """Four points at distance 0.5 of each other, but for some entries."""
    matrix = 0.5 * (1.0 - np.eye(4))
    for i, j, value in entries:
        matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), r"square matrix, not one of shape \(2, 3\)"),
        (np.zeros(3), r"square matrix, not one of shape \(3,\)"),
        (np.zeros((0, 0)), "one point at least"),
        (spoilt((1, 2, np.nan)), r"\(1, 2\) is nan, which is not a number \(1 such entries\)"),
        (spoilt((0, 3, np.inf), (3, 0, np.inf)), r"\(0, 3\) is inf.*not connected"),
        (spoilt((0, 2, -0.1)), r"\(0, 2\) is -0.1, which is negative"),
        (spoilt((2, 2, 0.1)), r"\(2, 2\) is 0.1, which is not 0"),
        (spoilt((1, 3, 0.4)), r"\(1, 3\) is 0.4, which differs from that of the way back"),
        (spoilt((1, 3, 0.0), (3, 1, 0.0)), r"\(1, 3\) is 0, .*between two points: merge"),
        (
            spoilt((0, 1, 0.9), (1, 0, 0.9), (0, 2, 0.2), (2, 0, 0.2)),
            r"from 0 to 1 is 0.9, but by 2 it is 0.2 \+ 0.5; use shortest paths",
        ),
        (2.0 * spoilt() + 0.1 * (1 - np.eye(4)), r"distance \(0, 1\) is 1.1; divide"),
    ],
)
def test_what_is_no_metric_of_diameter_1_is_refused_with_the_points_named(
    matrix: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        finite_space(matrix)


def test_too_many_points_are_refused_by_number() -> None:
    with pytest.raises(ValueError, match=r"1,501 points, but at most 1,500"):
        check_metric(1.0 - np.eye(1501))


def test_rounding_of_the_given_distances_is_no_violation() -> None:
    line = pairwise(np.linspace(0, 1, 20)[:, None])
    check_metric(line.round(12))
    with pytest.raises(ValueError, match="use shortest paths"):
        check_metric(line.round(2))


def test_detours_are_the_least_over_all_third_points() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.random((9, 9))
    matrix = matrix + matrix.T
    np.fill_diagonal(matrix, 0.0)
    detours = metrics._shortest_detours(matrix)
    for i in range(9):
        for j in set(range(9)) - {i}:
            by = [matrix[i, k] + matrix[k, j] for k in range(9) if k not in (i, j)]
            assert detours[i, j] == pytest.approx(min(by))


def test_pairwise_distances_are_those_of_the_norms() -> None:
    points = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert [pairwise(points, m)[0, 1] for m in ("linf", "l1", "l2")] == [4.0, 7.0, 5.0]
    with pytest.raises(ValueError, match="'l3' is none of"):
        pairwise(points, "l3")  # type: ignore[arg-type]


def test_great_circles_have_the_length_of_arcs() -> None:
    poles_and_equator = np.array(
        [[90.0, 0.0], [-90.0, 77.0], [0.0, 0.0], [0.0, 90.0], [0.0, 180.0]]
    )
    quarter = np.pi / 2 * metrics.EARTH_RADIUS
    expected = [
        [0, 2, 1, 1, 1],
        [2, 0, 1, 1, 1],
        [1, 1, 0, 1, 2],
        [1, 1, 1, 0, 1],
        [1, 1, 2, 1, 0],
    ]
    assert np.allclose(pairwise(poles_and_equator, "haversine"), quarter * np.array(expected))


def test_great_circles_agree_with_the_angle_between_vectors_and_form_a_metric() -> None:
    rng = np.random.default_rng(3)
    points = np.stack([rng.uniform(-90, 90, 50), rng.uniform(-180, 180, 50)], axis=-1)
    latitude, longitude = np.radians(points).T
    vectors = np.stack(
        [
            np.cos(latitude) * np.cos(longitude),
            np.cos(latitude) * np.sin(longitude),
            np.sin(latitude),
        ]
    )
    expected = metrics.EARTH_RADIUS * np.arccos(np.clip(vectors.T @ vectors, -1, 1))
    found = pairwise(points, "haversine")
    assert np.allclose(found, expected, atol=1e-3)
    check_metric(found)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.array([[100.0, 0.0]]), r"latitudes lie in \[-90, 90\]"),
        (np.array([[0.0, 0.0, 0.0]]), r"haversine takes \(latitude, longitude\)"),
    ],
)
def test_points_off_the_globe_are_refused(points: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pairwise(points, "haversine")


def test_the_null_cell_lies_at_1_from_all_places() -> None:
    places = pairwise(np.array([0.0, 0.4, 1.0])[:, None])
    for has_null in (False, True):
        attribute = Attribute(
            name="place",
            kind=Kind.METRIC,
            positions=np.linspace(0, 1, 3),
            widths=np.zeros(3),
            has_null=has_null,
            distances=places,
        )
        cells = cell_distances(attribute)
        assert np.array_equal(cells[:3, :3], places)
        assert cells.shape == (attribute.cells, attribute.cells)
        if has_null:
            assert cells[3].tolist() == cells[:, 3].tolist() == [1.0, 1.0, 1.0, 0.0]
