"""All columns of a domain on one grid: between records, points and one-way histograms.

The points are the products of the axes' points, the last axis fastest. A column's codes share an
axis point where the grid is coarser than the column's cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.single_columns import coarsening
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.grids import Axis, axis, cell_map, exact_steps
from hallmark.mechanisms.privacy.cells import CellMap


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """A grid over all columns. Public.

    Attributes:
        domain: what is put on the grid.
        k: points of every axis whose values lie on a line, those without a code included.
        axes: the columns' points, in the domain's order.
    """

    domain: Domain
    k: int
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of every axis."""
        return tuple(axis.points for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of points."""
        return prod(self.shape)

    @cached_property
    def cells(self) -> CellMap:
        """Sends a record to its point."""
        return cell_map(tuple(range(len(self.domain))), self.axes, self.domain)

    @property
    def radius(self) -> float:
        """How far a record may lie from its point."""
        return max(float(axis.offsets.max()) for axis in self.axes)

    def distances_to_points(self, codes: AnyCodes) -> NDArray[np.float64]:
        """How far each of the records may lie from its point, shape (rows,)."""
        columns = enumerate(self.axes)
        return np.max([axis.offsets[codes[:, column]] for column, axis in columns], axis=0)

    def codes(self, points: NDArray[np.int64]) -> NDArray[np.int32]:
        """A record near each of the given points, shape (len(points), attributes)."""
        places = np.unravel_index(points, self.shape)
        columns = zip(self.axes, places, strict=True)
        return np.stack([axis.representatives[place] for axis, place in columns], axis=1).astype(
            np.int32
        )

    def one_way(self, attribute: int, counts: NDArray[np.number]) -> NDArray[np.float64]:
        """Histograms of one attribute, from ones over its axis: (..., points) to (..., cells).

        The mass of a point is spread evenly over its codes.
        """
        table = self.axes[attribute].table
        return np.asarray((counts / np.bincount(table))[..., table])

    def margin(self, attribute: int, counts: NDArray[np.number]) -> NDArray[np.float64]:
        """Histograms over one axis, from ones over the grid: (..., size) to (..., points)."""
        table = counts.reshape(*counts.shape[:-1], *self.shape)
        lead = table.ndim - len(self.shape)
        others = tuple(lead + other for other in range(len(self.shape)) if other != attribute)
        return np.asarray(table.sum(axis=others), dtype=np.float64)

    @cached_property
    def coarsening(self) -> tuple[float, ...]:
        """Per attribute: how far spreading a record evenly over its point's codes moves it.

        On average and at worst; 0 where every code has a point of its own.
        """
        return tuple(coarsening(axis.table, axis.attribute.positions) for axis in self.axes)


def grid(domain: Domain, k: int) -> Grid:
    """The domain on `k` points along every axis whose values lie on a line.

    Raises:
        ValueError: `k` is below 1.
    """
    return Grid(
        domain=domain, k=k, axes=tuple(axis(attribute, k) for attribute in domain.attributes)
    )


def grids(domain: Domain, *, most_points: int) -> Iterator[Grid]:
    """Ever finer grids of at most `most_points` points; the finest is as fine as the domain.

    The number of points of an axis grows by about an eighth from one to the next.

    Raises:
        ValueError: the coarsest of them has more points.
    """
    lines = [a.levels for a in domain.attributes if a.kind.ordered]
    finest = max(lines, default=1)
    coarsest = grid(domain, 1)
    if coarsest.size > most_points:
        raise ValueError(
            f"columns: their categories have {coarsest.size:,} combinations, and this mechanism "
            f"counts at most {most_points:,}; ignore columns, or merge categories"
        )
    yield coarsest
    steps = [1]
    while steps[-1] < finest:
        steps.append(min(finest, steps[-1] + max(1, steps[-1] // 8)))
    for k in sorted({*steps, *exact_steps(domain)} - {1}):
        finer = grid(domain, k)
        if finer.size > most_points:
            break
        yield finer
