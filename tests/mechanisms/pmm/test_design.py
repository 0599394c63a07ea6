"""Designs: the sensitivity of what they measure, over all neighbours of tiny tables."""

import itertools

import numpy as np
import pytest

from mechanisms.pmm.design import NodeCounts, SiblingDifferences
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.transforms import LevelSums

DESIGNS = [NodeCounts(), SiblingDifferences()]
ADJACENCIES = [Adjacency(neighbours=n, records=m) for n in Neighbours for m in (1, 2)]
DEPTH = 3


def changes(adjacency: Adjacency) -> list[np.ndarray]:
    """All differences between the histograms of neighbours, up to their sign."""
    cells = np.eye(1 << DEPTH, dtype=np.int64)
    sizes = range(adjacency.records + 1)
    units = [
        sum(unit, np.zeros(1 << DEPTH, dtype=np.int64))
        for size in sizes
        for unit in itertools.combinations_with_replacement(cells, size)
    ]
    if adjacency.neighbours is Neighbours.ADD_REMOVE:
        return units
    if adjacency.total_is_public:
        units = [unit for unit in units if unit.sum() == 1]
    return [one - other for one, other in itertools.combinations(units, 2)]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.mechanism)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("level", range(1, DEPTH + 1))
def test_the_sensitivities_of_a_level_are_attained_and_never_exceeded(
    design, adjacency, level
) -> None:
    transform = design.transform(DEPTH - level)
    moved = [transform(change) for change in changes(adjacency)]
    assert {len(answer) for answer in moved} == {design.entries(level)}
    assert max(int(np.abs(answer).sum()) for answer in moved) == transform.l1(adjacency)
    assert max(int(answer @ answer) for answer in moved) == transform.l2_squared(adjacency)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_one_difference_may_change_by_more_than_one_so_its_steps_are_not_stated(adjacency) -> None:
    transform = SiblingDifferences().transform(0)
    largest = max(int(np.abs(transform(change)).max()) for change in changes(adjacency))
    assert largest == adjacency.l1
    assert transform.unit_moves(adjacency) is None


@pytest.mark.parametrize("height", range(DEPTH))
def test_differences_are_those_of_consecutive_sums(height) -> None:
    counts = np.random.default_rng(1).integers(0, 100, 1 << DEPTH)
    level = LevelSums(height)(counts)
    difference = SiblingDifferences().transform(height)
    assert difference(counts).tolist() == (level[::2] - level[1::2]).tolist()
    assert difference(counts).dtype == np.int64
    assert repr(difference) == f"LevelDifferences(height={height})"
