"""Tables of all pairs against dense counts."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.replicates.pairs import MOST_CELLS, PairTables
from tests.builders.codes import dependent_codes

SHAPE = (4, 100, 3, 65)
CODES = dependent_codes(SHAPE, 500)


def test_counts_are_those_of_every_pair_with_neighbouring_cells_merged():
    pairs = PairTables((0, 1, 3), SHAPE)
    found = pairs.counts(CODES)
    assert pairs.pairs == tuple(combinations((0, 1, 3), 2))
    assert pairs.alone == (1, 3)
    assert found.shape == (pairs.size,)
    for number, (a, b) in enumerate(pairs.pairs):
        dense = np.zeros((min(SHAPE[a], MOST_CELLS), min(SHAPE[b], MOST_CELLS)))
        for row in CODES:
            i, j = (row[c] * dense.shape[k] // SHAPE[c] for k, c in enumerate((a, b)))
            dense[i, j] += 1
        np.testing.assert_array_equal(pairs.table(found, number), dense)


def test_tables_over_the_domains_cells_join_to_the_same():
    pairs = PairTables((0, 1, 2, 3), SHAPE)
    tables = []
    for clique in pairs.cliques:
        table = np.zeros([SHAPE[column] for column in clique])
        np.add.at(table, tuple(CODES[:, column] for column in clique), 1)
        tables.append(table)
    np.testing.assert_array_equal(pairs.joined(tables), pairs.counts(CODES))


@pytest.mark.parametrize(("column", "merges"), [(0, False), (1, True), (3, True)])
def test_whether_cells_are_merged(column, merges):
    pairs = PairTables((0, 1, 3), SHAPE)
    assert pairs.merges(column) == merges == (column in pairs.alone)
    groups = pairs.groups(column)
    assert (np.diff(groups) >= 0).all()
    assert set(groups) == set(range(pairs.shape[column]))


BINS = {1: tuple(np.arange(100) // 25), 2: (1, 0, 1)}


def test_a_column_in_bins_is_in_bins_with_others_and_has_a_table_of_its_own_cells():
    pairs = PairTables((0, 1, 2), SHAPE, BINS)
    assert pairs.measured[:3] == pairs.shape[:3] == (4, 4, 2)
    assert pairs.cliques == ((0, 1), (0, 2), (1, 2), (1,), (2,))
    found = pairs.counts(CODES)
    for number, column in enumerate((1, 2)):
        own = pairs.own_table(found, number)
        np.testing.assert_array_equal(own, np.bincount(CODES[:, column], minlength=len(own)))
        (place,) = (i for i, pair in enumerate(pairs.pairs) if pair == (0, column))
        in_bins = np.bincount(pairs.groups_of_own(column), own)
        np.testing.assert_array_equal(pairs.table(found, place).sum(axis=0), in_bins)


def test_drafted_tables_of_bins_and_of_own_cells_join_to_those_of_the_records():
    pairs = PairTables((0, 1, 2), SHAPE, BINS)
    binned = CODES.copy()
    for column, of in BINS.items():
        binned[:, column] = np.array(of)[CODES[:, column]]
    tables = []
    for clique in pairs.cliques:
        codes, shape = (binned, pairs.measured) if len(clique) == 2 else (CODES, SHAPE)
        table = np.zeros([shape[column] for column in clique])
        np.add.at(table, tuple(codes[:, column] for column in clique), 1)
        tables.append(table)
    np.testing.assert_array_equal(pairs.joined(tables), pairs.counts(CODES))


def test_a_column_with_more_cells_than_its_own_table_has_room_for_shares_some(monkeypatch):
    monkeypatch.setattr("hallmark.mechanisms.replicates.pairs.MOST_ALONE", 70)
    pairs = PairTables((0, 1), SHAPE)
    own = pairs.own_table(pairs.counts(CODES), 0)
    dense = np.bincount(CODES[:, 1] * 70 // 100, minlength=70)
    np.testing.assert_array_equal(own, dense)
