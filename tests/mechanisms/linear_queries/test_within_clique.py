"""Cliques of a workload, their universes, and questions about them against selected columns."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linear_queries.questions import FixedQuestion
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.within_clique import (
    cliques_of,
    curator_within,
    table_of,
    within,
)
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes, marginal
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell, LinearQueries
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from tests.mechanisms.linear_queries.adaptive_runs import ADD, PERSONS, REPLACE
from tests.mechanisms.marginals.selection.runs import curator_of

SHAPE = (2, 3, 2, 4)
PRECISE = LaplaceNoise(Fraction(1, 1000))  # noise is 0 but for a chance below e^-1000
CODES = np.random.default_rng(0).integers(0, SHAPE, (300, 4))


def over(*cliques: Clique, shape: Sequence[int] = SHAPE, rules: Rules | None = None) -> Universe:
    blocks = (Block(marginal(c, shape), EachCell(marginal(c, shape).size)) for c in cliques)
    levels = tuple(np.arange(k) for k in shape)
    names = tuple("abcdefgh"[: len(shape)])
    return Universe(tuple(shape), LinearQueries(tuple(blocks)), levels, rules or Rules(()), names)


WHOLE = over((1,), (0, 2), (1, 3), (0,), (1, 2), (3,))


def test_cliques_are_maximal_and_own_the_queries_that_see_no_other_column() -> None:
    assert cliques_of(WHOLE) == ((0, 2), (1, 3), (1, 2))
    own = within(WHOLE, (1, 3))
    assert own.shape == (3, 4)
    assert own.names == ("b", "d")
    assert own.cliques == ((0,), (0, 1), (1,))
    codes = CODES[:, [1, 3]]
    exact = own.queries.answers(count_codes(codes, own.queries.maps))
    on_all = WHOLE.queries.answers(count_codes(CODES, WHOLE.queries.maps))
    starts = WHOLE.queries.starts
    expected = [on_all[starts[block] : starts[block + 1]] for block in (0, 2, 5)]
    np.testing.assert_array_equal(exact, np.concatenate(expected))


def test_the_distribution_is_among_the_answers_in_any_unit() -> None:
    own = within(WHOLE, (1, 3))
    shares = np.random.default_rng(1).dirichlet(np.ones(own.size))
    np.testing.assert_allclose(table_of(own, own.answers(shares)), shares, rtol=1e-14)
    blocks = tuple(Block(b.cells, EachCell(b.cells.size, 3)) for b in own.queries.blocks)
    thirds = Universe(own.shape, LinearQueries(blocks, 6), own.levels)
    np.testing.assert_allclose(table_of(thirds, thirds.answers(shares)), shares, rtol=1e-14)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS], ids=str)
def test_questions_are_those_about_the_columns_of_the_clique(
    tmp_path, adjacency: Adjacency
) -> None:
    budget = Budget(epsilon=Fraction(1_000_000))
    curator = curator_of(f"sqlite:///{tmp_path / 'l.db'}", CODES, adjacency, budget)
    for clique in cliques_of(WHOLE):
        own, selected = within(WHOLE, clique), CODES[:, list(clique)]
        asked = curator_within(curator, own, clique, 300)
        assert asked.total() == 300
        queries = [HistogramQuery(cells, PRECISE) for cells in own.queries.maps]
        answers = asked.histograms("tables", queries)
        for found, exact in zip(answers, count_codes(selected, own.queries.maps), strict=True):
            np.testing.assert_array_equal(found, exact)
        # Only the last query's answer is off: another is chosen with a chance below e^-1000.
        truth = own.queries.answers(count_codes(selected, own.queries.maps))
        off = truth - 250 * (np.arange(own.queries.size) == own.queries.size - 1)
        events = [ExponentialMechanism(epsilon=Fraction(1000))]
        chosen = asked.choices("choices", own.queries, FixedQuestion(1024 * off), events)
        assert chosen == [own.queries.size - 1]
    names = [call.call for call in curator.ledger.calls("r")]
    assert len(set(names)) == len(names) == 6
    assert names[:2] == ["tables in clique 0 2", "choices in clique 0 2"]


def test_rules_are_projected_exactly() -> None:
    rng = np.random.default_rng(4)
    tables = tuple(
        RuleTable(f"rule {pair}", pair, rng.random([SHAPE[c] for c in pair]) < 0.6)
        for pair in ((0, 1), (1, 3), (2, 3))
    )
    rules = Rules(SHAPE, tables)
    valid = np.array([r for r in product(*map(range, SHAPE)) if rules.valid(np.array([r])).all()])
    assert 0 < len(valid) < 48
    found = []
    for clique in cliques_of(ruled := over((0, 2), (1, 3), rules=rules)):
        own = within(ruled, clique)
        expected = np.zeros(own.shape, dtype=np.bool_)
        expected[tuple(valid[:, list(clique)].T)] = True
        np.testing.assert_array_equal(own.possible, expected.ravel())
        assert bool(own.rules) is not expected.all()
        found.append(expected.all())
    assert not all(found)


def test_what_is_no_marginal_or_has_one_cell_is_refused() -> None:
    boxes = Block(marginal((0, 1), SHAPE), Boxes((2, 3), np.array([[0, 0]]), np.array([[1, 2]])))
    sums = Block(marginal((2,), SHAPE), EachCell(2))
    coarse = Block(type(sums.cells)((3,), (np.array([0, 0, 1, 1]),), 2), EachCell(2))
    for block, named in ((boxes, "a x b"), (coarse, "d")):
        queries = LinearQueries((*WHOLE.queries.blocks, block))
        other = Universe(SHAPE, queries, WHOLE.levels, names=WHOLE.names)
        words = f"mechanism.cliquewise: true takes marginals alone, .* over {named}; leave that out"
        with pytest.raises(ValueError, match=words):
            cliques_of(other)
    words = "mechanism.queries: the marginal over b has a single cell"
    with pytest.raises(ValueError, match=re.escape(words)):
        cliques_of(over((0,), (1,), shape=(2, 1)))
    assert cliques_of(over((0,), (0, 1), shape=(2, 1))) == ((0, 1),)
