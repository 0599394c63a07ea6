"""Components of marginals: the variance of their noise, also where groups were measured besides."""

from collections.abc import Sequence

import numpy as np
import pytest

from hallmark.mechanisms.earlier import EarlierPeriod, EarlierTable
from hallmark.mechanisms.marginals.cell_groups import group_of
from hallmark.mechanisms.marginals.components import components, of_period
from hallmark.mechanisms.marginals.evidence import Coarse, NoisyMarginal, with_groups

SHAPE = (10, 7)
SIZES = (4, 3)
CELLS, GROUPS = 2.0, 1.5  # deviations


def measured(rng: np.random.Generator, shape: Sequence[int], sigma: float) -> EarlierTable:
    groups = tuple(group_of(k, size) for k, size in zip(SHAPE, shape, strict=True))
    return EarlierTable((0, 1), groups, sigma * rng.normal(size=tuple(shape)), sigma)


def alone(part: tuple[int, ...]) -> float:
    """The variance where cells alone were measured."""
    one = NoisyMarginal((0, 1), np.zeros(SHAPE), CELLS)
    return components([one], 1.0, SHAPE)[part].variance


def test_the_variance_is_that_of_cells_and_groups_together():
    rng = np.random.default_rng(0)
    squares: dict[tuple[int, ...], list[float]] = {(0,): [], (1,): [], (0, 1): []}
    for _ in range(600):
        tables = (measured(rng, SHAPE, CELLS), measured(rng, SIZES, GROUPS))
        found = of_period(EarlierPeriod(0, tables, 1.0), SHAPE)
        for part, one in found.items():
            squares[part].append(float(np.mean(one.values**2)))
    for part, several in squares.items():
        deviation = np.std(several) / len(several) ** 0.5
        assert abs(np.mean(several) - found[part].variance) < 5 * deviation
        assert found[part].variance < 0.98 * alone(part)


def test_an_earlier_period_is_told_as_its_own_evidence_was():
    rng = np.random.default_rng(1)
    sums, cells = measured(rng, SIZES, GROUPS), measured(rng, SHAPE, CELLS)
    then = of_period(EarlierPeriod(0, (sums, cells), 1.0), SHAPE)[0, 1]
    own = NoisyMarginal((0, 1), cells.counts, CELLS)
    both = with_groups(own, sums.counts, Coarse(SIZES, GROUPS))
    now = components([both], 1.0, SHAPE)[0, 1]
    assert then.variance == now.variance
    np.testing.assert_array_equal(then.values, now.values)


def test_groups_of_other_cells_are_left_out():
    rng = np.random.default_rng(2)
    uneven = EarlierTable(
        (0, 1), (np.minimum(np.arange(10), 3), group_of(7, 3)), rng.normal(size=SIZES), GROUPS
    )
    found = of_period(EarlierPeriod(0, (measured(rng, SHAPE, CELLS), uneven), 1.0), SHAPE)
    assert found[0, 1].variance == pytest.approx(alone((0, 1)))
