"""Sensitivities against all neighbours of all tables of a tiny domain."""

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.transforms import LevelSums

CELLS = 4
OTHERS = tuple(combinations_with_replacement(range(CELLS), 1))  # records of all other units


def histogram(cells):
    return np.bincount(cells, minlength=CELLS).astype(np.int64)


def neighbours(adjacency):
    """All pairs of neighbouring histograms with up to one record of other units."""
    owned = [
        records
        for count in range(adjacency.records + 1)
        for records in combinations_with_replacement(range(CELLS), count)
    ]
    replace = adjacency.neighbours is Neighbours.REPLACE_ONE
    if replace and adjacency.records == 1 and adjacency.person is None:
        owned.remove(())  # a unit that is a record has exactly one
    for other in [(), *OTHERS]:
        for before in owned:
            for after in owned if replace else [()]:
                yield histogram(other + before), histogram(other + after)


ADJACENCIES = [
    *(Adjacency(neighbours=n, records=r) for n in Neighbours for r in (1, 2, 3)),
    *(Adjacency(neighbours=n, person="name") for n in Neighbours),
]


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("height", [0, 1])
def test_the_stated_sensitivities_are_the_largest_changes(adjacency, height):
    transform = LevelSums(height)
    changes = [transform(a) - transform(b) for a, b in neighbours(adjacency)]
    assert max(np.abs(c).sum() for c in changes) == transform.l1(adjacency)
    assert max((c**2).sum() for c in changes) == transform.l2_squared(adjacency)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_the_sum_of_all_cells_is_bounded_by_the_stated_sensitivity(adjacency):
    transform = LevelSums(2)
    changes = [transform(a) - transform(b) for a, b in neighbours(adjacency)]
    assert max(np.abs(c).sum() for c in changes) <= transform.l1(adjacency)
    assert max((c**2).sum() for c in changes) <= transform.l2_squared(adjacency)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("height", [0, 1])
def test_unit_moves_are_stated_only_where_every_change_is_made_of_steps_by_one(adjacency, height):
    transform = LevelSums(height)
    changes = [transform(a) - transform(b) for a, b in neighbours(adjacency)]
    steps_by_one = all(np.abs(c).max() <= 1 for c in changes)
    moves = transform.unit_moves(adjacency)
    assert (moves is not None) == steps_by_one
    if moves is not None:
        assert max(np.count_nonzero(c) for c in changes) == moves


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_the_total_is_called_public_only_where_all_neighbours_share_it(adjacency):
    shared = all(a.sum() == b.sum() for a, b in neighbours(adjacency))
    assert adjacency.total_is_public == shared


def test_the_enumeration_reaches_every_change_of_one_record():
    pairs = list(neighbours(Adjacency(neighbours=Neighbours.REPLACE_ONE)))
    changes = Counter(tuple(a - b) for a, b in pairs)
    assert len(changes) == 1 + CELLS * (CELLS - 1)  # none, or from one cell to another


def test_a_unit_without_records_is_refused():
    with pytest.raises(ValueError, match="at least one record"):
        Adjacency(neighbours=Neighbours.ADD_REMOVE, records=0)


def test_the_unit_is_named():
    assert str(Adjacency(neighbours=Neighbours.REPLACE_ONE)) == "replace_one, record"
    persons = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=5)
    assert str(persons) == "add_remove, person of at most 5 records"
