"""Linear queries against their matrices written out, and against all neighbours of tiny tables."""

import pickle
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import sparse

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell, LinearQueries, Matrix
from hallmark.mechanisms.privacy.queries import SCORE_STEPS, signed_misfits
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

ADJACENCIES = [
    *(Adjacency(neighbours=relation, records=m) for relation in Neighbours for m in (1, 2)),
    Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3),
    Adjacency(neighbours=Neighbours.REPLACE_ONE, person="household"),
]


def boxes(shape, *corners, value=1):
    lower, upper = np.array(corners).reshape(-1, 2, len(shape)).transpose(1, 0, 2)
    return Boxes(shape, lower, upper, value)


def matrix(*rows):
    return Matrix(sparse.csr_array(np.array(rows, dtype=np.int64)))


def with_duplicates():
    """A matrix that stores two entries of one cell, and a zero: [[3, 0, -1]]."""
    parts = np.array([1, 2, 0, -1]), np.array([0, 0, 1, 2]), np.array([0, 4])
    return Matrix(sparse.csr_array(parts, shape=(1, 3)))


# Rows with the matrix that they stand for.
ROWS = {
    "each cell": (EachCell(3), np.eye(3)),
    "weighted cells": (EachCell(3, value=-7), -7 * np.eye(3)),
    "the only cell": (EachCell(1, value=2), [[2]]),
    "the only cell, taken away": (EachCell(1, value=-2), [[-2]]),
    "ranges": (
        boxes((4,), [[0], [1]], [[1], [4]], [[2], [2]], [[0], [4]], value=3),
        [[3, 0, 0, 0], [0, 3, 3, 3], [0, 0, 0, 0], [3, 3, 3, 3]],
    ),
    "negative ranges": (boxes((3,), [[0], [2]], [[0], [3]], value=-2), [[-2, -2, 0], [-2, -2, -2]]),
    "boxes": (
        boxes((2, 3), [[0, 1], [2, 3]], [[1, 0], [2, 2]], [[0, 1], [0, 3]], [[0, 0], [2, 3]]),
        [[0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 0], [0] * 6, [1] * 6],
    ),
    "boxes on three axes": (
        boxes((2, 2, 2), [[0, 1, 0], [2, 2, 1]]),
        [[0, 0, 1, 0, 0, 0, 1, 0]],
    ),
    "matrix": (matrix([1, 0, -4], [0, 0, 0], [5, 2, 3], [-1, -1, -2]), None),
    "matrix with duplicates": (with_duplicates(), [[3, 0, -1]]),
}


def written(name):
    rows, values = ROWS[name]
    return np.array(rows.values.toarray() if values is None else values, dtype=np.int64)


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_of_the_matrix(name):
    rows, expected = ROWS[name][0], written(name)
    assert (rows.size, rows.cells) == expected.shape
    for query, values in enumerate(expected):
        assert rows.row(query).tolist() == values.tolist()
        assert rows.row(query).dtype == np.int64


@pytest.mark.parametrize("name", ROWS)
def test_answers_to_counts_are_exact_integers_and_to_shares_floats(name):
    rows, expected = ROWS[name][0], written(name)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 2**52, rows.cells)
    answers = rows.answers(counts)
    assert answers.dtype == np.int64
    assert answers.tolist() == [sum(int(v) * int(c) for v, c in zip(row, counts, strict=True))
                                for row in expected]  # fmt: skip
    shares = rng.random(rows.cells)
    assert rows.answers(shares).dtype == np.float64
    np.testing.assert_allclose(rows.answers(shares), expected @ shares, atol=1e-13)


@pytest.mark.parametrize("name", ROWS)
def test_the_adjoint_is_the_transposed_matrix(name):
    rows, expected = ROWS[name][0], written(name)
    weights = np.random.default_rng(1).normal(size=rows.size)
    found = rows.adjoint(weights)
    assert found.shape == (rows.cells,)
    np.testing.assert_allclose(found, expected.T @ weights, atol=1e-13)


@pytest.mark.parametrize("name", ROWS)
def test_least_and_greatest_values_are_those_of_the_matrix(name):
    rows, expected = ROWS[name][0], written(name)
    assert rows.least.tolist() == expected.min(axis=1).tolist()
    assert rows.greatest.tolist() == expected.max(axis=1).tolist()
    assert rows.least.dtype == rows.greatest.dtype == np.int64


def test_digests_tell_all_rows_apart_and_survive_pickling():
    others = [
        EachCell(4),
        EachCell(3, value=7),
        boxes((4,), [[0], [1]], [[1], [4]], [[2], [2]], [[0], [4]], value=4),
        boxes((4,), [[0], [1]], [[1], [4]], [[3], [3]], [[0], [4]], value=3),
        boxes((3, 2), [[0, 1], [3, 2]]),
        boxes((2, 3), [[0, 1], [2, 3]]),
        matrix([1, 0, -4], [0, 0, 0], [5, 2, 3], [-1, -1, -3]),
        matrix([1, 0, -4], [0, 0, 0], [5, 2, 3]),
        matrix([1, 0, -4, 0], [0, 0, 0, 0], [5, 2, 3, 0], [-1, -1, -2, 0]),
        matrix([1, 0, 0, -4], [0, 0, 0, 0], [5, 2, 0, 3], [-1, -1, 0, -2]),
    ]
    rows = [*(one for one, _ in ROWS.values()), *others]
    digests = [one.digest for one in rows]
    assert len(set(digests)) == len(rows)
    assert [one.digest for one in pickle.loads(pickle.dumps(rows))] == digests


SHAPE = (3, 2)
FIRST = Block(marginal((0,), SHAPE), matrix([2, -1, 0], [1, 2, 3]))
BOTH = Block(marginal((0, 1), SHAPE), boxes(SHAPE, [[0, 0], [2, 1]], value=4))
SUMS = Block(CellMap((0, 1), (np.array([0, 1, 2]), np.array([0, 1])), 4), EachCell(4, value=-3))
POSITIVE = Block(marginal((0,), SHAPE), matrix([5, 6, 7]))
CLASSES = {
    "a matrix": (FIRST,),
    "boxes": (BOTH,),
    "cells of a sum": (SUMS,),
    "positive values": (POSITIVE,),
    "negative values": (Block(marginal((1,), SHAPE), matrix([-4, -2])),),
    "a constant": (Block(marginal((1,), SHAPE), matrix([3, 3])),),
    "several blocks": (FIRST, BOTH, SUMS, POSITIVE),
}


def largest_change(queries, adjacency):
    """Of any answer, between all neighbours with up to one record of another unit."""
    largest = 0
    records = [list(codes) for codes in np.ndindex(*SHAPE)]
    for rest in [[], *([record] for record in records[:2])]:
        for pair in neighbours(SHAPE, adjacency, rest):
            before, after = (queries.answers(count_codes(t, queries.maps)) for t in pair)
            largest = max(largest, int(np.abs(after - before).max()))
    return largest


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_the_sensitivity_is_the_largest_change_between_neighbours(name, adjacency):
    queries = LinearQueries(CLASSES[name], unit=7)
    assert largest_change(queries, adjacency) == queries.sensitivity(adjacency)


def test_the_sensitivity_of_random_queries_is_attained():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = Matrix(sparse.csr_array(rng.integers(-9, 10, (2, 6))))
        queries = LinearQueries((Block(marginal((0, 1), SHAPE), rows),))
        for adjacency in ADJACENCIES[:1] + ADJACENCIES[2:3]:
            assert largest_change(queries, adjacency) == queries.sensitivity(adjacency)


def test_where_the_number_of_records_is_public_a_constant_costs_nothing():
    queries = LinearQueries(CLASSES["a constant"])
    replace, add = (Adjacency(neighbours=relation) for relation in Neighbours)
    assert (queries.sensitivity(replace), queries.sensitivity(add)) == (0, 3)


def test_queries_are_numbered_through_the_blocks():
    queries = LinearQueries(CLASSES["several blocks"], unit=2)
    assert queries.size == 2 + 1 + 4 + 1
    assert [queries.located(q) for q in range(8)] == [
        (0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0)
    ]  # fmt: skip
    assert queries.least.tolist() == [-1, 1, 0, -3, -3, -3, -3, 5]
    assert queries.greatest.tolist() == [2, 3, 4, 0, 0, 0, 0, 7]
    codes = np.array([[0, 0], [2, 1], [2, 1]])
    assert queries.answers(count_codes(codes, queries.maps)).tolist() == [2, 7, 4, -3, 0, 0, -6, 19]


def test_digests_of_classes_tell_blocks_order_and_unit_apart():
    other = Block(marginal((1, 0), SHAPE), boxes((2, 3), [[0, 0], [1, 2]], value=4))
    classes = [
        *(LinearQueries(blocks) for blocks in CLASSES.values()),
        LinearQueries((FIRST,), unit=2),
        LinearQueries((FIRST, BOTH)),
        LinearQueries((BOTH, FIRST)),
        LinearQueries((FIRST, FIRST)),
        LinearQueries((Block(marginal((0,), (3, 9)), FIRST.rows), other)),
    ]
    digests = [queries.digest for queries in classes]
    assert len(set(digests)) == len(classes)
    assert [queries.digest for queries in pickle.loads(pickle.dumps(classes))] == digests


NONE = Matrix(sparse.csr_array((0, 2), dtype=np.int64))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: LinearQueries(()), ValueError, "at least one block"),
        (lambda: LinearQueries((Block(marginal((1,), SHAPE), NONE),)), ValueError, "one query"),
        (lambda: Block(marginal((0,), SHAPE), EachCell(2)), ValueError, "2 cells, but 3 cells"),
        (lambda: boxes((3,), [[0], [4]]), ValueError, "beyond the grid"),
        (lambda: boxes((3,), [[-1], [2]]), ValueError, "beyond the grid"),
        (lambda: boxes((3,), [[2], [1]]), ValueError, "ends early"),
        (lambda: Boxes((3, 2), np.array([[0]]), np.array([[1]])), ValueError, "that many numbers"),
        (lambda: Matrix(sparse.csr_array(np.array([[0.5]]))), TypeError, "int64, not float64"),
    ],
)  # fmt: skip
def test_what_is_no_class_of_queries_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_scores_of_queries_and_negations_move_by_no_more_than_the_answers(adjacency):
    queries = LinearQueries(CLASSES["several blocks"])
    reference = np.random.default_rng(0).integers(-5000, 5000, queries.size)
    furthest = 0
    for pair in neighbours(SHAPE, adjacency):
        scores = [
            signed_misfits(queries.answers(count_codes(t, queries.maps)), reference) for t in pair
        ]
        furthest = max(furthest, int(np.abs(scores[1] - scores[0]).max()))
    assert furthest == SCORE_STEPS * queries.sensitivity(adjacency)


def test_misfits_are_signed_and_answers_beyond_fifty_bits_are_cut():
    found = signed_misfits(np.array([3, -2]), np.array([1024, 0]))
    assert found.tolist() == [2048, -2048, -2048, 2048]
    cut = signed_misfits(np.array([2**60, -(2**63)]), np.array([0, 2**61 - 1]))
    assert cut.tolist()[:2] == [2**60, -(2**60) - 2**61 + 1]
    with pytest.raises(OverflowError, match="61 bits"):
        signed_misfits(np.array([0]), np.array([2**61]))
    # As clipping is monotone with slope at most one, no two answers are moved apart.
    values = [-(2**55), -(2**50) - 1, -(2**50), -1, 0, 7, 2**50, 2**50 + 1, 2**55]
    scores = {v: int(signed_misfits(np.array([v]), np.array([0]))[0]) for v in values}
    for one, other in combinations_with_replacement(values, 2):
        assert abs(scores[one] - scores[other]) <= SCORE_STEPS * abs(one - other)
