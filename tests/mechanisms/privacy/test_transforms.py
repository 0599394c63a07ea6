"""What transforms compute, and their sensitivities against all neighbours of tiny tables."""

import pickle
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import (
    BlockSums,
    LevelDifferences,
    LevelSums,
    Occupied,
    Total,
    TreeDifferences,
    WeightedSum,
)
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

CELLS = 4
ADJACENCIES = [
    *(Adjacency(neighbours=relation, records=m) for relation in Neighbours for m in (1, 2, 3)),
    Adjacency(neighbours=Neighbours.REPLACE_ONE, person="household"),
]
ORDER = np.array([2, 0, 3, 1])
TRANSFORMS = {
    "histogram": LevelSums(0),
    "sums": LevelSums(1),
    "blocks": BlockSums(np.array([1, 0, 1, 2]), 3),
    "total": Total(),
    "one block": BlockSums(np.zeros(4, dtype=np.int64), 1),
    "level": LevelDifferences(0),
    "upper level": LevelDifferences(1),
    "root": TreeDifferences(ORDER, np.array([[0, 1, 4]])),
    "pairs": TreeDifferences(ORDER, np.array([[0, 1, 2], [2, 3, 4]])),
    "some": TreeDifferences(ORDER, np.array([[1, 2, 4]])),
    "padded": TreeDifferences(ORDER, np.array([[0, 2, 3], [3, 4, 4]])),
    "weights": WeightedSum(np.array([3, 0, 7, 2])),
    "heavy weights": WeightedSum(np.array([7, 5, 7, 6])),
    "signed weights": WeightedSum(np.array([-3, 0, 7, 2])),
    "negative weights": WeightedSum(np.array([-3, -1, -7, -2])),
    "wide span": WeightedSum(np.array([-3, 0, 7, 2]), span=(-5, 9)),
    "occupied": Occupied(),
}
OF_ALL_RECORDS = ("total", "one block")  # which a record that is replaced leaves as they are
# Where the worst neighbours lie inside the bound, and why.
INSIDE = {
    "wide span": "no record has its ends",
    "occupied": "a record that is replaced empties one cell and fills another",
}


@cache
def histograms(adjacency):
    """All pairs of histograms of neighbours with up to two records of other units."""
    rests = [
        [[cell] for cell in rest]
        for others in range(3)
        for rest in combinations_with_replacement(range(CELLS), others)
    ]
    pairs = [
        tuple(tuple(np.bincount(table[:, 0], minlength=CELLS).tolist()) for table in pair)
        for rest in rests
        for pair in neighbours((CELLS,), adjacency, rest)
    ]
    return sorted(set(pairs))


def changes(transform, adjacency):
    """Of the answers, between all neighbours."""
    answers = {
        table: transform(np.array(table)) for pair in histograms(adjacency) for table in pair
    }
    return np.array([answers[after] - answers[before] for before, after in histograms(adjacency)])


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_no_neighbours_differ_by_more_than_the_stated_sensitivities(name, adjacency):
    transform = TRANSFORMS[name]
    found = changes(transform, adjacency)
    l1, l2_squared = np.abs(found).sum(axis=1).max(), (found**2).sum(axis=1).max()
    assert l1 <= transform.l1(adjacency)
    assert l2_squared <= transform.l2_squared(adjacency)
    if adjacency.total_is_public and name in OF_ALL_RECORDS:
        assert (l1, l2_squared) == (0, 0)
    elif name not in INSIDE:
        assert (l1, l2_squared) == (transform.l1(adjacency), transform.l2_squared(adjacency))


def test_occupied_cells_reach_their_bound_where_a_unit_may_come_and_go():
    for adjacency in ADJACENCIES:
        if adjacency.neighbours is Neighbours.ADD_REMOVE:
            reached = np.abs(changes(Occupied(), adjacency)).max()
            assert reached == Occupied().l1(adjacency)


@pytest.mark.parametrize("records", [1, 2, 3])
def test_a_number_of_records_changes_by_half_of_what_a_histogram_does_where_persons_are_replaced(
    records,
):
    person = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=records, person="household")
    for one in (Total(), BlockSums(np.zeros(4, dtype=np.int64), 1)):
        assert 2 * one.l1(person) == LevelSums(0).l1(person) == 2 * records
        assert 2 * one.l2_squared(person) == LevelSums(0).l2_squared(person)
    # One sum of a level is the same number, stated for more cells; mechanisms ask for `Total`.
    top = np.abs(changes(LevelSums(2), person)).max()
    assert top == records < LevelSums(2).l1(person)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_unit_moves_are_stated_only_where_every_change_is_made_of_steps_by_one(name, adjacency):
    moves = TRANSFORMS[name].unit_moves(adjacency)
    if moves is not None:
        found = changes(TRANSFORMS[name], adjacency)
        assert np.abs(found).max() <= 1
        assert np.count_nonzero(found, axis=1).max() <= moves


def test_a_difference_may_change_by_two_so_that_its_l2_norm_is_not_that_of_a_histogram():
    replace = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    found = changes(TRANSFORMS["root"], replace)
    assert (found**2).sum(axis=1).max() == 4 > replace.l2_squared


def test_level_sums_add_neighbouring_cells():
    assert LevelSums(1)(np.array([1, 2, 3, 4])).tolist() == [3, 7]
    assert LevelSums(2)(np.array([1, 2, 3, 4])).tolist() == [10]


def test_level_differences_are_those_of_a_complete_tree():
    counts = np.random.default_rng(0).integers(0, 9, 8)
    for height in range(3):
        width = 2**height
        start = np.arange(0, 8, 2 * width)
        nodes = np.stack([start, start + width, start + 2 * width], axis=1)
        expected = TreeDifferences(np.arange(8), nodes)(counts)
        assert LevelDifferences(height)(counts).tolist() == expected.tolist()


def test_tree_differences_compare_the_children_of_every_node():
    counts = np.array([5, 1, 0, 2, 9])
    order = np.array([4, 0, 3, 1, 2])  # counts 9, 5, 2, 1, 0 along the leaves
    nodes = np.array([[0, 1, 2], [2, 4, 5]])
    assert TreeDifferences(order, nodes)(counts).tolist() == [9 - 5, 2 + 1 - 0]


def test_block_sums_add_the_cells_of_every_block():
    sums = BlockSums(np.array([2, 0, 2, 0, 3]), 4)(np.array([1, 2, 3, 4, 5]))
    assert sums.tolist() == [6, 0, 4, 5]


def test_single_numbers_are_the_records_their_weights_and_the_cells_with_a_record():
    counts = np.array([5, 0, 2, 1])
    assert Total()(counts).tolist() == [8]
    assert WeightedSum(np.array([10, 7, 1, 0]))(counts).tolist() == [52]
    assert Occupied()(counts).tolist() == [3]


@pytest.mark.parametrize(
    ("order", "nodes", "message"),
    [
        ([0, 1, 1], [[0, 1, 3]], "every cell once"),
        ([0, 1, 3], [[0, 1, 3]], "every cell once"),
        ([0, 1, 2], [[0, 1, 3], [0, 2, 3]], "disjoint"),
        ([0, 1, 2], [[0, 2, 1]], "ascend"),
        ([0, 1, 2], [[-1, 1, 2]], "ascend"),
        ([0, 1, 2], [[0, 2, 4]], "end with the order"),
    ],
)
def test_a_tree_that_would_count_a_cell_twice_is_refused(order, nodes, message):
    with pytest.raises(ValueError, match=message):
        TreeDifferences(np.array(order), np.array(nodes))


def test_sums_without_weights_or_with_weights_outside_their_span_are_refused():
    with pytest.raises(ValueError, match="needs weights"):
        WeightedSum(np.array([], dtype=np.int64))
    for span in [(0, 7), (-3, 6)]:
        with pytest.raises(ValueError, match=r"\(-3, 7\) lie outside the span"):
            WeightedSum(np.array([-3, 0, 7]), span=span)


def test_digests_of_queries_tell_all_transforms_apart_and_survive_pickling():
    others = {
        "other blocks": BlockSums(np.array([1, 0, 1, 1]), 3),
        "one block more": BlockSums(np.array([1, 0, 1, 2]), 4),
        "other order": TreeDifferences(ORDER[::-1].copy(), np.array([[0, 1, 4]])),
        "other weights": WeightedSum(np.array([3, 0, 7, 1])),
        "other span": WeightedSum(np.array([3, 0, 7, 1]), span=(0, 8)),
    }
    queries = [
        HistogramQuery(marginal((0,), (CELLS,)), LaplaceNoise(Fraction(5)), transform)
        for transform in (TRANSFORMS | others).values()
    ]
    digests = [query.digest for query in queries]
    assert len(set(digests)) == len(queries)
    assert [query.digest for query in pickle.loads(pickle.dumps(queries))] == digests


@pytest.mark.parametrize("name", TRANSFORMS)
def test_sums_written_out_are_the_transform(name):
    transform = TRANSFORMS[name]
    sums = transform.sums(CELLS)
    if name == "occupied":
        assert sums is None
        return
    counts = np.array([5, 11, 2, 30])
    written = np.zeros(sums.entries, dtype=np.int64)
    for entry, weight, count in zip(sums.entry, sums.weight, counts, strict=True):
        if entry >= 0:
            written[entry] += weight * count
    assert np.array_equal(written, transform(counts))
