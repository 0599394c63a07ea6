"""A grid with the noise on its histogram, and the choice of a grid from public numbers alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.wasserstein.single_histogram.grid import Grid


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """One grid over all columns, and how its histogram is measured. Public.

    Attributes:
        grid: from codes to points and back.
        family: the same grid as a family of one block.
        strategy: the noise, and the estimate made from it.
        noise_cost: what it costs on average to even out the estimate's error, simulated; records
            times distance, in the distance that the mechanism projects in.
    """

    grid: Grid
    family: Family
    strategy: Strategy
    noise_cost: float

    @property
    def space(self) -> FiniteSpace:
        """The grid's points with their distances and path."""
        return self.family.blocks[0].space

    def expected_error(self, records: int) -> float:
        """Bound on the mean of W1 between private and synthetic records, as many of each.

        Radius of the grid, twice the noise (once as it is, once for the projection), and rounding
        to records along the path.
        """
        rounding = float(self.space.gaps.sum()) / (2 * records)
        return self.grid.radius + 2 * self.noise_cost / records + rounding


def best_design(grids: Iterable[Grid], design: Callable[[Grid], Design], *, records: int) -> Design:
    """The design with the least `expected_error`, of ever finer grids.

    Once noise alone costs more than the best design, finer grids are not looked at.
    """
    best, least = None, np.inf
    for grid in grids:
        candidate = design(grid)
        error = candidate.expected_error(records)
        if error < least:
            best, least = candidate, error
        if grid.radius == 0 or error - grid.radius > least:
            break
    assert best is not None, "there is a coarsest grid"
    return best
