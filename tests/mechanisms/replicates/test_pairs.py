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
    for a, b in pairs.pairs:
        table = np.zeros((SHAPE[a], SHAPE[b]))
        np.add.at(table, (CODES[:, a], CODES[:, b]), 1)
        tables.append(table)
    np.testing.assert_array_equal(pairs.joined(tables), pairs.counts(CODES))


@pytest.mark.parametrize(("column", "whole"), [(0, True), (1, False), (3, False)])
def test_whether_cells_are_merged(column, whole):
    pairs = PairTables((0, 1, 3), SHAPE)
    assert pairs.is_whole(column) == whole
    groups = pairs.groups(column)
    assert (np.diff(groups) >= 0).all()
    assert set(groups) == set(range(pairs.shape[column]))
