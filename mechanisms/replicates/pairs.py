"""The two-way tables of all pairs of columns, side by side in one array of cells.

Pairs of a column with many cells have groups of these: the bins in which a mechanism measures it
with others, and neighbours where there are still too many. Then the column has a table of its own
cells besides, after those of all pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes, Floats, Table
from hallmark.mechanisms.domain.cliques import Clique

MOST_CELLS = 64  # of a column in the tables of pairs; neighbours share a cell where there are more
MOST_ALONE = 2**16  # of a column in its own table
MOST_POSITIONS = 2**30  # of records in tables, two bytes each

Positions = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class PairTables:
    """Where the tables of all pairs of some columns lie, and those of single ones.

    Attributes:
        columns: positions in the domain, ascending; at least two.
        cells: of every column of the domain.
        bins: the bin of every cell, of columns that are measured with others in public bins.
    """

    columns: Clique
    cells: tuple[int, ...]
    bins: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def measured(self) -> tuple[int, ...]:
        """Cells or bins of every column of the domain, as it is measured with others."""
        return tuple(
            max(self.bins[column]) + 1 if column in self.bins else k
            for column, k in enumerate(self.cells)
        )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Cells of every column in the tables of pairs."""
        return tuple(min(k, MOST_CELLS) for k in self.measured)

    @cached_property
    def pairs(self) -> tuple[Clique, ...]:
        """The pairs, in the order of their tables."""
        return tuple(combinations(self.columns, 2))

    @cached_property
    def alone(self) -> Clique:
        """The columns that have a table of their own, in the order of these."""
        return tuple(column for column in self.columns if self.shape[column] < self.cells[column])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each table starts, and where the last one ends."""
        sizes = [self.shape[a] * self.shape[b] for a, b in self.pairs]
        sizes += [min(self.cells[column], MOST_ALONE) for column in self.alone]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    @property
    def number(self) -> int:
        """How many tables there are."""
        return len(self.pairs) + len(self.alone)

    @property
    def size(self) -> int:
        """Cells of all tables."""
        return int(self.starts[-1])

    def merges(self, column: int) -> bool:
        """Whether some of the cells or bins that are measured with others are one cell here."""
        return self.shape[column] < self.measured[column]

    def groups_of_measured(self, column: int) -> NDArray[np.int64]:
        """The cell here of each cell or bin that is measured with others."""
        return np.arange(self.measured[column]) * self.shape[column] // self.measured[column]

    def groups(self, column: int) -> NDArray[np.int64]:
        """The cell here of each of the column's cells."""
        of_measured = self.groups_of_measured(column)
        return of_measured[list(self.bins[column])] if column in self.bins else of_measured

    def own(self, column: int) -> NDArray[np.int64]:
        """The cell in the column's own table of each of its cells."""
        cells = self.cells[column]
        return np.arange(cells) * min(cells, MOST_ALONE) // cells

    def groups_of_own(self, column: int) -> NDArray[np.int64]:
        """The cell in the tables of pairs of each cell of the column's own table."""
        found = np.zeros(min(self.cells[column], MOST_ALONE), dtype=np.int64)
        found[self.own(column)] = self.groups(column)
        return found

    def positions(self, codes: AnyCodes) -> Positions:
        """The cell of every record in every table, counted from its start, (tables, records)."""
        own = {column: self.groups(column)[codes[:, column]] for column in self.columns}
        found = np.empty((self.number, len(codes)), dtype=np.uint16)
        for row, (a, b) in zip(found, self.pairs, strict=False):
            row[:] = own[a] * self.shape[b] + own[b]
        for row, column in zip(found[len(self.pairs) :], self.alone, strict=True):
            row[:] = self.own(column)[codes[:, column]]
        return found

    def counts(self, codes: AnyCodes) -> Floats:
        """The tables of records, in records."""
        found = np.empty(self.size)
        for number, row in enumerate(self.positions(codes)):
            part = slice(self.starts[number], self.starts[number + 1])
            found[part] = np.bincount(row, minlength=part.stop - part.start)
        return found

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The columns of every table."""
        return (*self.pairs, *((column,) for column in self.alone))

    def joined(self, tables: Sequence[Table]) -> Floats:
        """Tables side by side, one for each of `cliques`: those of pairs over the cells or bins
        that are measured with others, those of single columns over their own cells."""
        parts: list[Floats] = []
        for clique, table in zip(self.cliques, tables, strict=True):
            if len(clique) == 1:
                (column,) = clique
                parts.append(np.asarray(np.bincount(self.own(column), table), dtype=np.float64))
                continue
            a, b = clique
            merged = np.zeros((self.shape[a], self.shape[b]))
            np.add.at(merged, np.ix_(self.groups_of_measured(a), self.groups_of_measured(b)), table)
            parts.append(merged.ravel())
        return np.concatenate(parts)

    def table(self, joined: Floats, number: int) -> Table:
        """The table of a pair, of those that lie side by side; writing to it writes to them."""
        a, b = self.pairs[number]
        part = joined[self.starts[number] : self.starts[number + 1]]
        return part.reshape(self.shape[a], self.shape[b])

    def own_table(self, joined: Floats, number: int) -> Floats:
        """The table of the single column `alone[number]`; writing to it writes to them."""
        place = len(self.pairs) + number
        return joined[self.starts[place] : self.starts[place + 1]]
