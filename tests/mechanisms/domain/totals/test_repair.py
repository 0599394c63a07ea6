"""Records with all totals, as few as possible of them moved, and none that breaks a rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.domain.totals import PublicTotals, hold
from hallmark.mechanisms.domain.totals import repair as repairs
from tests.mechanisms.domain.totals.small_totals import (
    holding_tables,
    on_columns,
    random_rules,
    random_totals,
    total,
    valid_cells,
)


def moved_in(columns, before, after):
    return int((before[:, columns] != after[:, columns]).any(axis=1).sum())


@pytest.mark.parametrize("seed", range(30))
def test_no_fewer_records_could_move(seed):
    """Where all totals are in one block; elsewhere blocks are repaired one by one."""
    rng = np.random.default_rng(seed)
    shape = (2, 2, 2)
    columns = (0, 1)
    rules = random_rules(shape, rng)
    cells = valid_cells(rules)
    groups = np.arange(4).reshape(2, 2) if seed % 2 else rng.integers(0, 2, (2, 2))
    goal = rng.choice(cells, 4)
    counts = np.bincount(groups[goal[:, 0], goal[:, 1]], minlength=groups.max() + 1)
    totals = PublicTotals(shape, (total("t", columns, groups, counts.tolist()),))
    codes = rng.choice(cells, 4)
    after = hold(totals, rules, codes, rng)
    assert totals.held(after)
    assert rules.valid(after).all()
    start = on_columns(codes, np.ones(4), totals)
    best = min(
        np.abs(on_columns(cells, table, totals) - start).sum() // 2
        for table in holding_tables(totals, rules)
    )
    assert moved_in(columns, codes, after) == best
    still = (codes[:, columns] == after[:, columns]).all(axis=1)
    assert np.array_equal(codes[still], after[still])


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), many=st.integers(1, 4), pairs=st.sampled_from([0, 2**17]))
def test_records_hold_totals_and_obey_rules_whatever_these_are(seed, many, pairs):
    rng = np.random.default_rng(seed)
    shape = (3, 4, 2, 5)
    rules = random_rules(shape, rng, tables=3)
    cells = valid_cells(rules)
    totals = random_totals(shape, rng.choice(cells, 60), rng, many=many)
    codes = rng.choice(cells, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repairs, "MOST_PAIRS", pairs)  # 0: no matching by distance
        after = hold(totals, rules, codes, np.random.default_rng(1))
        again = hold(totals, rules, codes, np.random.default_rng(1))
    assert totals.held(after)
    assert rules.valid(after).all()
    assert np.array_equal(after, again)
    assert np.array_equal(hold(totals, rules, after, rng), after)


def test_records_go_to_near_cells():
    shape = (10, 2)
    rules = Rules(shape, ordered=(0,))
    codes = np.column_stack([np.repeat(np.arange(10), 10), np.zeros(100)]).astype(np.int32)
    counts = np.full(10, 10)
    counts[[3, 9]] += [2, 2]
    counts[[2, 8]] -= [2, 2]
    totals = PublicTotals(shape, (total("t", (0,), np.arange(10), counts.tolist()),))
    after = hold(totals, rules, codes, np.random.default_rng(0))
    assert np.abs(after[:, 0] - codes[:, 0]).sum() == 4


def test_distances_tell_which_records_of_a_group_move():
    """Of those under 5, the ones next to it go to 5, the nearest cell of the others."""
    shape = (10,)
    codes = np.repeat(np.arange(10), 10).astype(np.int32)[:, None]
    totals = PublicTotals(shape, (total("t", (0,), np.arange(10) // 5, [44, 56]),))
    after = hold(totals, Rules(shape, ordered=(0,)), codes, np.random.default_rng(0))
    changed = after != codes
    assert set(codes[changed]) == {4}
    assert set(after[changed]) == {5}


def test_records_that_stay_valid_go_first_and_others_follow_in_other_columns():
    shape = (2, 4)
    # Cell 1 goes with even values of the other column only.
    allowed = np.array([[True] * 4, [True, False, True, False]])
    rules = Rules(shape, (RuleTable("r", (0, 1), allowed),), ordered=(1,))
    codes = np.array([[0, 1]] * 30 + [[0, 2]] * 10 + [[1, 0]] * 10, dtype=np.int32)
    few = PublicTotals(shape, (total("t", (0,), np.arange(2), [37, 13]),))
    after = hold(few, rules, codes, np.random.default_rng(0))
    assert rules.valid(after).all()
    many = PublicTotals(shape, (total("t", (0,), np.arange(2), [5, 45]),))
    after = hold(many, rules, codes, np.random.default_rng(0))
    assert many.held(after)
    assert rules.valid(after).all()
    assert moved_in((0,), codes, after) == 35
    # Those that had to follow went from 1 to a neighbour.
    assert set(after[(codes[:, 1] == 1) & (after[:, 0] == 1)][:, 1]) <= {0, 2}


def test_another_number_of_records_than_the_totals_count_is_refused():
    totals = PublicTotals((2,), (total("t", (0,), np.arange(2), [1, 3]),))
    with pytest.raises(ValueError, match="the totals count 4 records, but there are 3"):
        hold(totals, Rules((2,)), np.zeros((3, 1), dtype=np.int32), np.random.default_rng(0))


def test_totals_that_no_table_has_are_refused():
    both = tuple(total(f"t{i}", (0,), np.arange(2), [i, 4 - i]) for i in (1, 2))
    with pytest.raises(ValueError, match="no table of records has all totals"):
        hold(
            PublicTotals((2,), both),
            Rules((2,)),
            np.zeros((4, 1), dtype=np.int32),
            np.random.default_rng(0),
        )


@pytest.mark.slow
def test_a_large_table_is_repaired_in_seconds():
    rng = np.random.default_rng(3)
    shape = (2, 60, 100, 7)
    rules = Rules(shape, ordered=(2,))
    goal = np.column_stack([rng.integers(0, size, 200_000) for size in shape]).astype(np.int32)
    codes = np.column_stack([rng.integers(0, size, 200_000) for size in shape]).astype(np.int32)
    cells = np.arange(2 * 60 * 100).reshape(2, 60, 100)
    found = np.bincount(cells[goal[:, 0], goal[:, 1], goal[:, 2]], minlength=cells.size)
    totals = PublicTotals(shape, (total("t", (0, 1, 2), cells, found.tolist()),))
    assert totals.held(hold(totals, rules, codes, rng))
