"""Integer linear transforms of a histogram, each with its sensitivity under every adjacency."""

from dataclasses import dataclass
from typing import Protocol

from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.cells import Counts


class Transform(Protocol):
    """An integer linear map of a histogram whose sensitivity is proved where it is defined."""

    def __call__(self, counts: Counts) -> Counts: ...

    def l1(self, adjacency: Adjacency) -> int: ...

    def l2_squared(self, adjacency: Adjacency) -> int: ...

    def unit_moves(self, adjacency: Adjacency) -> int | None: ...


@dataclass(frozen=True)
class LevelSums:
    """Sums of `2**height` consecutive cells: one level of a binary tree over the histogram.

    Height 0 is the histogram itself. Sums of cells are again counts of a map from records to
    cells, so the sensitivity is that of a histogram (`adjacency`).
    """

    height: int = 0

    def __call__(self, counts: Counts) -> Counts:
        return counts.reshape(-1, 2**self.height).sum(axis=1)

    def l1(self, adjacency: Adjacency) -> int:
        return adjacency.l1

    def l2_squared(self, adjacency: Adjacency) -> int:
        return adjacency.l2_squared

    def unit_moves(self, adjacency: Adjacency) -> int | None:
        return adjacency.unit_moves


HISTOGRAM = LevelSums(0)
