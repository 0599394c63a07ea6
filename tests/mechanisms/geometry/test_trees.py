"""Trees against slow recursions, their diameters against all pairs of points."""

import itertools
import math

import numpy as np
import pytest

from hallmark.mechanisms.geometry.finite_metrics import pairwise
from hallmark.mechanisms.geometry.trees import (
    BinaryTree,
    kd_tree,
    midpoint_tree,
    padded_tree,
    pole_tree,
)


def nodes_of(tree: BinaryTree) -> list[list[tuple[int, int, int]]]:
    return [[tuple(int(x) for x in node) for node in level] for level in tree.levels]


def largest_distances(tree: BinaryTree, distances: np.ndarray) -> list[np.ndarray]:
    """Brute force over the points of every node."""
    return [
        np.array([distances[np.ix_(points, points)].max() for points in parts])
        for parts in ([tree.order[start:stop] for start, _, stop in level] for level in tree.levels)
    ]


def assert_every_node_has_two_children_down_to_single_points(tree: BinaryTree) -> None:
    expected = [(0, tree.size)]
    for level in nodes_of(tree):
        inner = [(start, stop) for start, stop in expected if stop - start > 1]
        assert [(start, stop) for start, _, stop in level] == inner
        assert all(start < middle < stop for start, middle, stop in level)
        expected = [
            part for start, middle, stop in level for part in ((start, middle), (middle, stop))
        ]
    assert all(stop - start == 1 for start, stop in expected)
    assert sorted(tree.order) == list(range(tree.size))


def lattice(shape: tuple[int, ...], k: int) -> np.ndarray:
    """l_inf distances between the points of a box of a k-grid, in C order."""
    points = np.array(list(itertools.product(*map(range, shape))))
    return pairwise(points / k)


def box_tree(shape: tuple[int, ...], k: int) -> BinaryTree:
    return kd_tree(shape, lambda axis, low, high: (high - low) / k)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 31, 100])
def test_midpoint_trees_cut_every_interval_in_the_middle_and_are_as_shallow_as_can_be(
    size: int,
) -> None:
    rng = np.random.default_rng(size)
    tree = midpoint_tree(rng.permutation(size), rng.random(size - 1))
    assert_every_node_has_two_children_down_to_single_points(tree)
    assert tree.depth == math.ceil(math.log2(size))
    for level in nodes_of(tree):
        assert all((middle - start) - (stop - middle) in (0, 1) for start, middle, stop in level)


def test_diameters_of_a_path_are_the_lengths_inside_the_nodes_and_at_most_1() -> None:
    gaps = np.array([0.1, 0.5, 0.2, 0.7])
    for tree in (midpoint_tree(np.arange(5), gaps), padded_tree(np.arange(5), gaps)):
        for level, diameters in zip(nodes_of(tree), tree.diameters, strict=True):
            inside = [min(1.0, gaps[start : stop - 1].sum()) for start, _, stop in level]
            assert diameters == pytest.approx(inside)
    assert midpoint_tree(np.arange(5), gaps).diameters[0] == [1.0]


def test_a_padded_tree_is_the_complete_tree_with_the_padding_cut_off() -> None:
    for size in range(1, 18):
        depth = math.ceil(math.log2(size))
        expected = []
        for level in range(depth):
            width = 2 ** (depth - level)
            clipped = [
                (min(start, size), min(start + width // 2, size), min(start + width, size))
                for start in range(0, 2**depth, width)
            ]
            expected.append([node for node in clipped if node[0] < node[2]])
        tree = padded_tree(np.arange(size), np.ones(size - 1) / size)
        assert nodes_of(tree) == expected


def test_padding_matters_only_where_the_size_is_no_power_of_two() -> None:
    gaps = np.ones(7) / 8
    padded, plain = padded_tree(np.arange(8), gaps), midpoint_tree(np.arange(8), gaps)
    assert padded.digest == plain.digest
    assert (
        padded_tree(np.arange(7), gaps[1:]).digest != midpoint_tree(np.arange(7), gaps[1:]).digest
    )


@pytest.mark.parametrize("shape", [(1,), (5, 5), (4, 4), (7, 1), (3, 3, 3), (2, 9), (6, 4, 1)])
def test_kd_trees_cut_the_longest_side_lowest_axis_first(shape: tuple[int, ...]) -> None:
    def cut(boxes: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
        parts = []
        for box in boxes:
            side = max(range(len(box)), key=lambda axis: box[axis][1] - box[axis][0])
            low, high = box[side]
            middle = low + math.ceil((high - low) / 2)
            for part in ((low, middle), (middle, high)):
                parts.append([*box[:side], part, *box[side + 1 :]])
        return [box for box in parts if math.prod(high - low for low, high in box) > 1]

    tree = box_tree(shape, 10)
    assert_every_node_has_two_children_down_to_single_points(tree)
    boxes = [[(0, side) for side in shape]] if math.prod(shape) > 1 else []
    numbers = np.arange(math.prod(shape)).reshape(shape)
    for level in nodes_of(tree):
        expected = [set(numbers[tuple(slice(*side) for side in box)].ravel()) for box in boxes]
        assert [set(tree.order[start:stop]) for start, _, stop in level] == expected
        boxes = cut(boxes)
    assert not boxes


def test_kd_trees_are_as_deep_as_their_sides_together() -> None:
    assert box_tree((25, 25), 25).depth == 10
    assert box_tree((16, 16, 16), 16).depth == 12


@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 2), (8, 3)])
def test_diameters_of_kd_trees_are_the_largest_distances_of_their_points(
    shape: tuple[int, ...],
) -> None:
    tree = box_tree(shape, 9)
    expected = largest_distances(tree, lattice(shape, 9))
    for diameters, brute in zip(tree.diameters, expected, strict=True):
        assert diameters == pytest.approx(brute)


def test_the_side_that_is_widest_is_cut_though_another_has_more_points() -> None:
    widths = (1.0, 0.1)  # two categories, and five values close together
    tree = kd_tree((2, 5), lambda axis, low, high: widths[axis] * (high > low))
    assert set(tree.order[:5]) == set(range(5))
    assert tree.diameters[0] == [1.0]
    assert tree.diameters[1] == pytest.approx([0.1, 0.1])


def metrics_to_cut() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    clusters = np.concatenate([center + 0.01 * rng.random((9, 2)) for center in rng.random((5, 2))])
    return {
        "one point": np.zeros((1, 1)),
        "uniform": pairwise(rng.random((40, 3)), "l2"),
        "clusters": pairwise(clusters),
        "equal": 1.0 - np.eye(7),
        "exponential": pairwise(2.0 ** -np.arange(9)[:, None]),
    }


@pytest.mark.parametrize("name", metrics_to_cut())
def test_pole_trees_cut_any_metric_down_to_its_points_with_their_diameters(name: str) -> None:
    distances = metrics_to_cut()[name]
    tree = pole_tree(distances)
    assert_every_node_has_two_children_down_to_single_points(tree)
    for diameters, brute in zip(tree.diameters, largest_distances(tree, distances), strict=True):
        assert np.array_equal(diameters, brute)


def test_pole_trees_follow_clusters_and_are_shallow_where_there_are_none() -> None:
    one_far_away = pairwise(np.append(np.linspace(0, 0.01, 8), 1.0)[:, None])
    assert nodes_of(pole_tree(one_far_away))[0][0] in {(0, 1, 9), (0, 8, 9)}
    equal = 1.0 - np.eye(9)
    assert pole_tree(equal).depth == 4


def test_trees_with_other_orders_or_nodes_have_other_digests() -> None:
    gaps = np.ones(4) / 5
    trees = [
        midpoint_tree(np.arange(5), gaps),
        midpoint_tree(np.arange(5)[::-1], gaps),
        padded_tree(np.arange(5), gaps),
    ]
    assert len({tree.digest for tree in trees}) == 3
    assert trees[0].digest == midpoint_tree(np.arange(5), gaps).digest
