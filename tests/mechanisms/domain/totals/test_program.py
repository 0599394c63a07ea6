"""Blocks and their programs, against all tables of small domains."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.domain.totals import PublicTotals, TotalsTooWide
from hallmark.mechanisms.domain.totals.blocks import MOST_CELLS, blocks
from hallmark.mechanisms.domain.totals.program import Undecided, feasible, least_change
from tests.mechanisms.domain.totals.small_totals import (
    holding_tables,
    on_columns,
    random_rules,
    random_totals,
    total,
    valid_cells,
)

SHAPE = (2, 2, 2)


@pytest.mark.parametrize("seed", range(30))
def test_totals_are_feasible_exactly_where_some_table_of_valid_records_has_them(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(SHAPE, rng)
    anything = rng.integers(0, 2, (4, 3)).astype(np.int32)  # some of it breaks the rules
    totals = random_totals(SHAPE, anything, rng)
    told = all(feasible(block) is not None for block in blocks(totals, rules))
    assert told == bool(holding_tables(totals, rules))


def test_both_answers_occur_among_those_cases():
    answers = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rules = random_rules(SHAPE, rng)
        totals = random_totals(SHAPE, rng.integers(0, 2, (4, 3)).astype(np.int32), rng)
        answers.add(bool(holding_tables(totals, rules)))
    assert answers == {True, False}


@pytest.mark.parametrize("seed", range(30))
def test_the_least_change_is_that_of_the_nearest_of_all_tables(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(SHAPE, rng)
    cells = valid_cells(rules)
    totals = random_totals(SHAPE, rng.choice(cells, 4), rng)
    codes = rng.choice(cells, 4)
    for block in blocks(totals, rules):
        counts = np.bincount(block.kinds[block.joint(codes)], minlength=block.matrix.shape[1])
        after = least_change(block, counts)
        assert np.array_equal(block.matrix @ after, block.counts)
        assert (after >= 0).all()
        own = totals.only([t.name for t in block.totals])
        start = on_columns(codes, np.ones(4), own)
        best = min(
            np.abs(_kinds(block, on_columns(cells, table, own) - start)).sum()
            for table in holding_tables(own, rules)
        )
        assert np.abs(after - counts).sum() == best


def _kinds(block, change):
    """A change of joint cells as one of kinds; impossible cells never change."""
    inside = block.kinds >= 0
    return np.bincount(block.kinds[inside], change[inside], minlength=block.matrix.shape[1])


def test_columns_that_neither_totals_nor_rules_connect_are_apart():
    one = total("one", (0,), np.array([0, 1]), [1, 3])
    other = total("other", (2,), np.array([0, 1]), [2, 2])
    totals = PublicTotals(SHAPE, (one, other))
    assert [block.columns for block in blocks(totals, Rules(SHAPE))] == [(0,), (2,)]
    # A rule connects them through a column that no total is about.
    rules = Rules(
        SHAPE,
        (
            RuleTable("a", (0, 1), np.eye(2, dtype=bool)),
            RuleTable("b", (1, 2), np.eye(2, dtype=bool)),
        ),
    )
    (block,) = blocks(totals, rules)
    assert block.columns == (0, 2)
    assert block.allowed.tolist() == np.eye(2, dtype=bool).tolist()
    assert feasible(block) is None


def test_integers_are_asked_for_where_fractions_would_do():
    """Three two-way tables of 1/2 a cell each: a table of halves has them, no table of records."""
    odd = np.arange(4).reshape(2, 2)
    pairs = [((0, 1), [1, 0, 0, 1]), ((1, 2), [1, 0, 0, 1]), ((0, 2), [0, 1, 1, 0])]
    made = tuple(total(f"t{i}", columns, odd, counts) for i, (columns, counts) in enumerate(pairs))
    totals = PublicTotals(SHAPE, made)
    (block,) = blocks(totals, Rules(SHAPE))
    assert feasible(block) is None
    assert holding_tables(totals, Rules(SHAPE)) == []


def test_totals_over_too_many_joint_cells_are_refused_with_the_size():
    shape = (1000, 1000)
    pairs = [
        total("ages", (0,), np.zeros(1000), [5]),
        total("wages", (1,), np.zeros(1000), [5]),
    ]
    totals = PublicTotals(shape, tuple(pairs))
    assert len(blocks(totals, Rules(shape))) == 2
    rule = RuleTable("rule", (0, 1), ~np.eye(1000, dtype=bool))
    message = rf"1,000 \(age\) x 1,000 \(wage\) joint cells, but at most {MOST_CELLS:,}"
    with pytest.raises(TotalsTooWide, match=message) as refused:
        blocks(totals, Rules(shape, (rule,)), ("age", "wage"))
    assert refused.value.totals == ("ages", "wages")


def test_a_search_that_ends_without_an_answer_says_so(monkeypatch):
    class Nothing:
        status, x = 1, None

    totals = PublicTotals(SHAPE, (total("one", (0,), np.array([0, 1]), [1, 3]),))
    (block,) = blocks(totals, Rules(SHAPE))
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: Nothing())
    with pytest.raises(Undecided):
        feasible(block)
