"""Counting against plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.cells import ArrayCounter, CellMap, count_codes, marginal

SHAPE = (3, 2, 4)


def records(seed, rows=50):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, k, rows) for k in SHAPE], axis=1)


@pytest.mark.parametrize("columns", [(1,), (0, 2), (2, 0), (0, 1, 2)])
def test_a_marginal_is_the_contingency_table(columns):
    codes = records(seed=1)
    shape = tuple(SHAPE[c] for c in columns)
    expected = np.zeros(shape, dtype=np.int64)
    np.add.at(expected, tuple(codes[:, c] for c in columns), 1)
    (counts,) = ArrayCounter(codes).count([marginal(columns, SHAPE)])
    assert np.array_equal(counts, expected.reshape(-1))


@given(st.integers(0, 2**32 - 1), st.integers(0, 50))
def test_counts_of_blocks_add_up_in_any_split(seed, cut):
    codes = records(seed)
    maps = [marginal((0, 1), SHAPE), marginal((2,), SHAPE)]
    for whole, head, tail in zip(
        ArrayCounter(codes).count(maps),
        count_codes(codes[:cut], maps),
        count_codes(codes[cut:], maps),
        strict=True,
    ):
        assert np.array_equal(whole, head + tail)
        assert whole.dtype == np.int64


@given(st.permutations(range(20)))
def test_the_order_of_records_does_not_matter(order):
    codes = records(seed=2, rows=20)
    cells = marginal((0, 2), SHAPE)
    (one,), (two,) = count_codes(codes, [cells]), count_codes(codes[list(order)], [cells])
    assert np.array_equal(one, two)


@given(st.integers(0, 2**32 - 1))
def test_a_map_after_a_recoding_sees_the_recoded_records(seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, k, 40) for k in (5, 7, 4)], axis=1)
    onto = {0: (1, rng.integers(0, 3, 7)), 1: (0, rng.integers(0, 2, 5))}
    recoded = codes.copy()
    for column, (source, table) in onto.items():
        recoded[:, column] = table[codes[:, source]]
    for columns in [(0, 1, 2), (2, 0), (1,)]:
        cells = marginal(columns, SHAPE)
        assert np.array_equal(cells.after(onto)(codes), cells(recoded))
        assert cells.after({}).digest == cells.digest


def test_rows_are_counted():
    assert ArrayCounter(records(seed=3, rows=17)).rows() == 17


def test_no_record_makes_an_empty_table_of_full_size():
    (counts,) = ArrayCounter(records(seed=4, rows=0)).count([marginal((0, 1), SHAPE)])
    assert counts.tolist() == [0] * 6


def test_digests_tell_maps_apart():
    digests = {marginal(c, SHAPE).digest for c in [(0,), (1,), (0, 1), (1, 0)]}
    assert len(digests) == 4
    assert marginal((0, 1), SHAPE).digest == marginal((0, 1), SHAPE).digest


@pytest.mark.parametrize(
    ("columns", "tables", "size", "message"),
    [
        ((0, 1), [[0, 1]], 2, "2 columns but 1 tables"),
        ((0,), [[0, -1]], 2, "negative cell"),
        ((0, 1), [[0, 1], [0, 1]], 2, "beyond the 2 cells"),
    ],
)
def test_a_map_that_misses_its_cells_is_refused(columns, tables, size, message):
    with pytest.raises(ValueError, match=message):
        CellMap(columns, tuple(np.array(t, dtype=np.int64) for t in tables), size)
