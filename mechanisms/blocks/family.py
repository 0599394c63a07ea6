"""A family of projections h_i of records onto finite metric spaces T_i (blocks).

Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Theorem 2;
         the s-way marginals of a k-grid (Theorem 1) are one case.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.privacy.cells import CellMap

_RECORDS = 1 << 18  # whose distances are held together
_WAYS = {1: "one-way", 2: "two-way", 3: "three-way"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One projection: some columns of a record, sent to a point of a finite space. Public.

    Attributes:
        name: for people, such as "AGEP x EDU".
        columns: positions of the columns looked at.
        cells: sends a record to its point.
        space: the points, and the metric: the largest of the columns' distances.
        offsets: for every column of `columns`, by code: how far a value with this code may lie from
            its point along this column, float64 of shape (cells of the attribute,).
    """

    name: str
    columns: tuple[int, ...]
    cells: CellMap
    space: FiniteSpace
    offsets: tuple[NDArray[np.float64], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along every column, `space.size` of them in all, in C order."""
        return tuple(len(np.unique(table)) for table in self.cells.tables)

    @property
    def radius(self) -> float:
        """How far any record may lie from its point."""
        return max(float(offset.max(initial=0.0)) for offset in self.offsets)

    def distances_to_points(self, codes: AnyCodes) -> NDArray[np.float64]:
        """How far each of the records may lie from its point, shape (rows,)."""
        columns = zip(self.columns, self.offsets, strict=True)
        return np.max([offset[codes[:, column]] for column, offset in columns], axis=0)

    def mean_distance_to_points(self, codes: AnyCodes) -> float:
        """The mean of these over one record at least, a block of records at a time."""
        starts = range(0, len(codes), _RECORDS)
        sums = (self.distances_to_points(codes[i : i + _RECORDS]).sum() for i in starts)
        return float(sum(sums)) / len(codes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Family:
    """The blocks, over one domain. Public."""

    domain: Domain
    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def title(self) -> str:
        """The family's name, such as "all 10 two-way marginals", or that of its only block."""
        if len(self) == 1:
            return self.blocks[0].name
        sizes = {len(block.columns) for block in self.blocks}
        if len(sizes) > 1:
            return f"{len(self)} marginals"
        (size,) = sizes
        complete = "all " if len(self) == comb(len(self.domain), size) else ""
        return f"{complete}{len(self)} {_WAYS.get(size, f'{size}-way')} marginals"

    @cached_property
    def cells(self) -> int:
        """Noisy counts of all blocks together, where each point is counted once."""
        return sum(block.space.size for block in self.blocks)

    @property
    def radius(self) -> float:
        """How far a record may lie from its point in any block: the discretisation term."""
        return max(block.radius for block in self.blocks)
