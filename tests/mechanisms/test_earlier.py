"""Tables of earlier periods, over cells and over bins."""

import numpy as np
import pytest

from hallmark.mechanisms.earlier import Earlier, EarlierPeriod, EarlierTable
from hallmark.mechanisms.marginals.components import coordinates

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


def brute(counts, cells, shape):
    """Counts of new cells, by looking at every old one."""
    found = np.zeros(shape)
    for old in np.ndindex(counts.shape):
        found[tuple(of[code] for of, code in zip(cells, old, strict=True))] += counts[old]
    return found


def test_codes_that_became_one_are_added():
    rng = np.random.default_rng(1)
    counts = rng.normal(size=(4, 3))
    cells = (np.array([1, 0, 1, 2]), np.array([0, 1, 1]))
    table = EarlierTable((0, 2), (np.array([3, 1, 0, 2]), np.arange(3)), counts, 2.0)
    by_code = counts[[3, 1, 0, 2]]
    found = table.recoded({0: cells[0], 2: cells[1]})
    assert found.is_of_cells
    np.testing.assert_allclose(
        found.counts[np.ix_(*found.groups)], brute(by_code, cells, (3, 2)), atol=1e-12
    )
    alone = table.recoded({2: cells[1]})
    np.testing.assert_allclose(
        alone.counts[np.ix_(*alone.groups)], brute(by_code, (np.arange(4), cells[1]), (4, 2))
    )


def test_groups_that_part_a_new_cell_are_added_and_others_stay():
    counts = np.array([1.0, 10.0, 100.0])
    # Of six codes the groups are {0, 1}, {2, 3}, {4, 5}; codes 1 and 2 become one.
    table = EarlierTable((0,), (np.array([0, 0, 1, 1, 2, 2]),), counts, 3.0)
    found = table.recoded({0: np.array([0, 1, 1, 2, 3, 4])})
    of = found.groups[0]
    assert of[0] == of[1] == of[2] != of[3] == of[4]
    np.testing.assert_array_equal(found.counts[[of[0], of[3]]], [11, 100])
    assert found.sigma == 3.0 * (3 / 2) ** 0.5


def test_what_is_said_of_the_noise_is_the_mean_over_the_coordinates_of_an_interaction():
    """The covariance of every interaction's coordinates, by brute force over the counts."""
    shape, cells = (5, 4), (np.array([0, 0, 0, 1, 2]), np.array([0, 1, 1, 1]))
    table = EarlierTable((0, 1), tuple(map(np.arange, shape)), np.zeros(shape), 1.5)
    said = table.recoded(dict(enumerate(cells))).sigma
    for clique in [(0,), (1,), (0, 1)]:
        others = tuple(axis for axis in (0, 1) if axis not in clique)
        rows = []
        for old in np.ndindex(shape):
            unit = np.zeros(shape)
            unit[old] = 1.5
            rows.append(coordinates(brute(unit, cells, (3, 2)).sum(axis=others)))
        moves = np.array(rows)
        held = np.prod([(3, 2)[axis] for axis in others])
        assert np.trace(moves.T @ moves) / moves.shape[1] == pytest.approx(said**2 * held)
