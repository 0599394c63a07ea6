"""Designs: the sensitivity of what they measure, over all neighbours of tiny tables."""

import itertools

import numpy as np
import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.transforms import LevelSums
from hallmark.mechanisms.wasserstein.pmm.design import NodeCounts, SiblingDifferences

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


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.mechanism)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_one_pair_of_neighbours_attains_the_sensitivities_of_all_levels_below_the_root(
    design, adjacency
) -> None:
    """So the levels' costs add up, and no less: records that go to the other side of the root."""
    change = np.zeros(1 << DEPTH, dtype=np.int64)
    change[0] += adjacency.records
    if adjacency.neighbours is Neighbours.REPLACE_ONE:
        change[-1] -= adjacency.records
    assert any((change == found).all() or (change == -found).all() for found in changes(adjacency))
    for level in range(1, DEPTH + 1):
        moved = design.transform(DEPTH - level)(change)
        assert int(np.abs(moved).sum()) == adjacency.l1


def laplace_law(scale: float) -> np.ndarray:
    """P(|z| = k) for k = 0, 1, ... of discrete Laplace noise."""
    tails = np.exp(-np.arange(int(60 * scale) + 60) / scale)
    law = 2 * tails
    law[0] = 1
    return law / law.sum()


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 2.5, 40.0, 1000.0])
def test_noise_misplaces_no_more_records_on_average_than_the_designs_state(scale) -> None:
    one = laplace_law(scale)
    both = np.diff(np.cumsum(one) ** 2, prepend=0)  # of the larger of two
    sizes = np.arange(len(one))
    flows = {"pmm": float(sizes @ both), "pmm-h": float(sizes @ one) / 2}
    u = 1 / scale
    assert flows["pmm"] == pytest.approx((2 - 1 / (1 + np.cosh(u))) / np.sinh(u), rel=1e-9)
    assert flows["pmm-h"] == pytest.approx(1 / (2 * np.sinh(u)), rel=1e-9)
    for design in DESIGNS:
        assert flows[design.mechanism] <= design.flow * scale * (1 + 1e-9)
        if scale > 30:  # the constants are the best that serve all scales
            assert flows[design.mechanism] > 0.999 * design.flow * scale


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
