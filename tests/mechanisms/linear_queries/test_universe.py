"""Answers and adjoint against the matrix of queries by cells, written out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell, LinearQueries, Matrix
from tests.mechanisms.linear_queries.written import written_out

SHAPE = (2, 3, 4)
WEIGHTED = CellMap((2, 0), (np.array([0, 2, 1, 3]), np.array([0, 2])), 6)
QUERIES = LinearQueries(
    (
        Block(marginal((0, 2), SHAPE), EachCell(8, value=4)),
        Block(
            marginal((1, 2), SHAPE),
            Boxes((3, 4), np.array([[0, 0], [1, 2]]), np.array([[3, 2], [3, 3]]), value=-4),
        ),
        Block(marginal((1,), SHAPE), Matrix(sparse.csr_array(np.array([[1, -4, 0]])))),
        Block(WEIGHTED, EachCell(6)),
    ),
    unit=4,
)
UNIVERSE = Universe(SHAPE, QUERIES, (np.arange(2), np.array([0, 0, 1, 2]), np.arange(4)))
MATRIX = written_out(QUERIES, SHAPE)


def test_answers_and_adjoint_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    matrix = MATRIX
    weights, dual = rng.random(UNIVERSE.size), rng.normal(size=QUERIES.size)
    np.testing.assert_allclose(UNIVERSE.answers(weights), matrix @ weights, rtol=1e-12)
    np.testing.assert_allclose(UNIVERSE.adjoint(dual), matrix.T @ dual, atol=1e-12)


@pytest.mark.parametrize("query", range(QUERIES.size))
def test_values_of_one_query_are_a_row(query):
    np.testing.assert_allclose(UNIVERSE.values(query), MATRIX[query], atol=1e-15)
    total = np.ones(UNIVERSE.size)
    UNIVERSE.add(total, query, -2.0)
    np.testing.assert_allclose(total, 1 - 2 * MATRIX[query], atol=1e-15)


def test_the_uniform_distribution_counts_levels_rather_than_cells():
    share = UNIVERSE.uniform.reshape(SHAPE)
    np.testing.assert_allclose(share.sum(axis=(0, 2)), [1 / 2, 1 / 4, 1 / 4])
    np.testing.assert_allclose(share.sum(axis=(1, 2)), 1 / 2)


def test_cells_that_rules_forbid_have_nothing_and_the_others_keep_their_ratios():
    allowed = np.random.default_rng(3).random((2, 3)) < 0.5
    allowed[0] = [True, False, True]
    ruled = replace(UNIVERSE, rules=Rules(SHAPE, (RuleTable("rule", (0, 1), allowed),)))
    possible = np.broadcast_to(allowed[:, :, None], SHAPE).ravel()
    assert np.array_equal(ruled.possible, possible)
    assert UNIVERSE.possible.all()
    expected = np.where(possible, UNIVERSE.uniform, 0)
    np.testing.assert_allclose(ruled.uniform, expected / expected.sum(), atol=1e-15)
    assert ruled.as_domain.rules is ruled.rules
    assert not UNIVERSE.as_domain.rules
    assert UNIVERSE.as_domain.shape == SHAPE


def test_columns_are_called_by_their_names_where_there_are_some():
    assert [UNIVERSE.name(c) for c in range(2)] == ["column 1", "column 2"]
    assert replace(UNIVERSE, names=("a", "b", "c")).name(1) == "b"
