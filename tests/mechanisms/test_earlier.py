"""Tables of earlier periods, over cells and over bins."""

import numpy as np

from hallmark.mechanisms.earlier import Earlier, EarlierPeriod, EarlierTable

BINS = {0: np.array([0, 0, 1, 1])}
COUNTS = np.arange(6.0).reshape(2, 3)


def table(*of: int) -> EarlierTable:
    groups = (np.array(of), np.arange(3))
    return EarlierTable((0, 2), groups, COUNTS, 1.0)


def test_a_table_of_cells_has_a_group_for_each():
    assert EarlierTable((1,), (np.array([2, 0, 1]),), np.zeros(3), 1.0).is_of_cells
    assert not table(0, 0, 1, 1).is_of_cells


def test_a_table_of_bins_is_one_of_cells_where_bins_are_cells():
    on_bins = table(1, 1, 0, 0).on_bins(BINS)
    assert on_bins is not None
    assert on_bins.is_of_cells
    np.testing.assert_array_equal(on_bins.groups[0], [1, 0])
    assert on_bins.counts is COUNTS


def test_a_table_that_parts_a_bin_does_not_suit():
    assert table(0, 1, 1, 1).on_bins(BINS) is None
    period = EarlierPeriod(3, (table(0, 1, 1, 1), table(0, 0, 1, 1)), 10.0)
    (left,) = Earlier(4, (period,)).on_bins(BINS).periods
    assert len(left.tables) == 1
    assert (left.number, left.total) == (3, 10.0)
