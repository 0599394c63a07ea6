"""The two-way tables of all pairs of columns, side by side in one array of cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes, Floats, Table
from hallmark.mechanisms.domain.cliques import Clique

MOST_CELLS = 64  # of a column in these tables; neighbours share a cell where there are more
MOST_POSITIONS = 2**30  # of records in tables, two bytes each

Positions = NDArray[np.uint16]


@dataclass(frozen=True)
class PairTables:
    """Where the tables of all pairs of some columns lie.

    Attributes:
        columns: positions in the domain, ascending; at least two.
        cells: of every column of the domain.
    """

    columns: Clique
    cells: tuple[int, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Cells of every column in these tables."""
        return tuple(min(k, MOST_CELLS) for k in self.cells)

    @cached_property
    def pairs(self) -> tuple[Clique, ...]:
        """The pairs, in the order of their tables."""
        return tuple(combinations(self.columns, 2))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each table starts, and where the last one ends."""
        sizes = [self.shape[a] * self.shape[b] for a, b in self.pairs]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    @property
    def size(self) -> int:
        """Cells of all tables."""
        return int(self.starts[-1])

    def is_whole(self, column: int) -> bool:
        """Whether each of the column's cells is one here, too."""
        return self.cells[column] == self.shape[column]

    def own_cells(self, columns: Clique) -> int:
        """Cells of the table of some columns in which no cells of the domain are merged."""
        return prod(self.cells[column] for column in columns)

    def groups(self, column: int) -> NDArray[np.int64]:
        """The cell here of each of the column's cells."""
        return np.arange(self.cells[column]) * self.shape[column] // self.cells[column]

    def positions(self, codes: AnyCodes) -> Positions:
        """The cell of every record in every table, counted from its start, (pairs, records)."""
        own = {column: self.groups(column)[codes[:, column]] for column in self.columns}
        found = np.empty((len(self.pairs), len(codes)), dtype=np.uint16)
        for row, (a, b) in zip(found, self.pairs, strict=True):
            row[:] = own[a] * self.shape[b] + own[b]
        return found

    def counts(self, codes: AnyCodes) -> Floats:
        """The tables of records, in records."""
        found = np.empty(self.size)
        for number, row in enumerate(self.positions(codes)):
            part = slice(self.starts[number], self.starts[number + 1])
            found[part] = np.bincount(row, minlength=part.stop - part.start)
        return found

    def joined(self, tables: Sequence[Table]) -> Floats:
        """Tables over the domain's cells, one a pair in the order of `pairs`, side by side."""
        parts = []
        for (a, b), table in zip(self.pairs, tables, strict=True):
            merged = np.zeros((self.shape[a], self.shape[b]))
            np.add.at(merged, np.ix_(self.groups(a), self.groups(b)), table)
            parts.append(merged.ravel())
        return np.concatenate(parts)

    def table(self, joined: Floats, number: int) -> Table:
        """One of the tables that lie side by side; writing to it writes to them."""
        a, b = self.pairs[number]
        part = joined[self.starts[number] : self.starts[number + 1]]
        return part.reshape(self.shape[a], self.shape[b])
