"""Single columns' histograms, from the tables of a family's blocks.

A point of a block stands for all codes that are sent to it; its mass is spread evenly over them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.family import Block, Family


class SingleColumns:
    """One-way histograms from a family's tables. Linear; public.

    Attributes:
        columns: positions of the columns that some block holds, ascending.
    """

    def __init__(self, family: Family) -> None:
        holders = {
            column: (block, position)
            for block, own in reversed(list(enumerate(family.blocks)))
            for position, column in enumerate(own.columns)
        }
        self.columns = tuple(sorted(holders))
        self._holders = [holders[column] for column in self.columns]
        self._shapes = [block.shape for block in family.blocks]
        self._points = [_points(family.blocks[b], position) for b, position in self._holders]
        self._positions = [family.domain.attributes[column].positions for column in self.columns]

    def __call__(self, tables: Sequence[Floats]) -> tuple[Floats, ...]:
        """For every column, shape (..., cells), from a table of shape (..., size) per block.

        Consistent tables agree on a column; the first block that holds it is asked.
        """
        found = []
        for (block, position), points in zip(self._holders, self._points, strict=True):
            shape, table = self._shapes[block], tables[block]
            lead = table.ndim - 1
            box = table.reshape(*table.shape[:-1], *shape)
            others = tuple(lead + axis for axis in range(len(shape)) if axis != position)
            margin = box.sum(axis=others)
            found.append((margin / np.bincount(points))[..., points])
        return tuple(found)

    @property
    def merged(self) -> tuple[int, ...]:
        """Columns of which some codes share a point, so that their histograms are not unbiased."""
        pairs = zip(self.columns, self._points, strict=True)
        return tuple(column for column, points in pairs if len(points) > points.max() + 1)

    def at_most(self, column: int, values: Floats) -> Floats:
        """For every code of a column, the largest of `values` among the codes of its point.

        So the sum of `values` over records is at most that of these over the histogram here.
        """
        points = self._points[self.columns.index(column)]
        largest = np.full(points.max() + 1, -np.inf)
        np.maximum.at(largest, points, values)
        return np.asarray(largest[points])

    @property
    def coarsening(self) -> tuple[float, ...]:
        """Per column: how far spreading a record over its point's codes moves it on average.

        At worst, over the codes; 0 where every code has a point of its own.
        """
        pairs = zip(self._points, self._positions, strict=True)
        return tuple(coarsening(points, positions) for points, positions in pairs)


def _points(block: Block, position: int) -> NDArray[np.int64]:
    """Point along its axis that each code of a column is sent to, numbered from 0."""
    return np.unique(block.cells.tables[position], return_inverse=True)[1].astype(np.int64)


def coarsening(points: NDArray[np.int64], positions: Floats) -> float:
    """How far spreading a record evenly over its point's codes moves it on average, at worst.

    Args:
        points: that every code is sent to, numbered from 0, shape (cells of the column,).
        positions: of the values on a line, shape (levels,).
    """
    worst = 0.0
    for point in np.flatnonzero(np.bincount(points) > 1):
        # Only values on a line share a point; the farthest from the others is an end.
        own = positions[points[: len(positions)] == point]
        worst = max(worst, float(np.abs(own - own[[0, -1], None]).mean(axis=1).max()))
    return worst
