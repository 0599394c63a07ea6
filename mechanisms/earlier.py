"""Noisy tables that releases about earlier periods of a series have published."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hallmark.mechanisms.arrays import Counts, Table
from hallmark.mechanisms.domain.cliques import Clique


@dataclass(frozen=True, eq=False)
class EarlierTable:
    """A noisy table of groups of codes. Public.

    Attributes:
        columns: ascending.
        groups: for each column, the group of every cell of the domain, from 0 on.
        counts: records, shape (groups of every column).
        sigma: standard deviation of independent noise in each count.
    """

    columns: Clique
    groups: tuple[Counts, ...]
    counts: Table
    sigma: float

    def on_bins(self, bins: Mapping[int, Counts]) -> "EarlierTable | None":
        """The table of a domain that has bins for cells; None where a bin has cells of two groups.

        Args:
            bins: the bin of every cell, from 0 on, of columns that have bins.
        """
        groups = []
        for column, of in zip(self.columns, self.groups, strict=True):
            if column in bins:
                _, first = np.unique(bins[column], return_index=True)
                if (of[first][bins[column]] != of).any():
                    return None
                of = of[first]
            groups.append(of)
        return replace(self, groups=tuple(groups))

    def recoded(self, cells: Mapping[int, Counts]) -> "EarlierTable":
        """The table of a domain whose cells were made of those of this one.

        Counts that became one are added, so not all have equal noise any more. What is said of
        their noise is right on average: the mean variance of a coordinate of any interaction of the
        columns is what it would be if every count had noise of `sigma` (the trace of a projected
        product of diagonal matrices).

        Args:
            cells: by column, the new cell of every old one; every new one is some old one's.
        """
        counts, groups, merged = self.counts, [], 1.0
        for axis, (column, of) in enumerate(zip(self.columns, self.groups, strict=True)):
            if column in cells:
                of, into = _joined(of, cells[column])
                merged *= len(into) / (into.max() + 1)
                adding = np.eye(into.max() + 1)[into]
                counts = np.moveaxis(np.tensordot(adding, counts, axes=(0, axis)), 0, axis)
            groups.append(of)
        return replace(
            self, groups=tuple(groups), counts=counts, sigma=self.sigma * float(np.sqrt(merged))
        )

    @property
    def is_of_cells(self) -> bool:
        """Whether every group is a cell of the domain."""
        return all(len(np.unique(of)) == len(of) for of in self.groups)


def _joined(groups: Counts, cells: Counts) -> tuple[Counts, Counts]:
    """The finest groups of new cells that old groups can be added up to.

    Args:
        groups, cells: of every old cell, its group and the new cell that it became.
    Returns:
        The new group of every new cell, and of every old group.
    """
    old = int(groups.max()) + 1
    size = old + int(cells.max()) + 1
    links = coo_array((np.ones(len(groups)), (groups, old + cells)), shape=(size, size))
    _, found = connected_components(links, directed=False)
    return found[old:].astype(np.int64), found[:old].astype(np.int64)


@dataclass(frozen=True, eq=False)
class EarlierPeriod:
    """What the release about an earlier period measured. Public.

    Attributes:
        number: consecutive periods have consecutive numbers.
        tables: in the cells of this release.
        total: number of records, public or estimated; at least 1.
    """

    number: int
    tables: tuple[EarlierTable, ...]
    total: float

    def on_bins(self, bins: Mapping[int, Counts]) -> "EarlierPeriod":
        """The same for a domain that has bins for cells, without tables that do not suit it."""
        tables = (one.on_bins(bins) for one in self.tables)
        return replace(self, tables=tuple(one for one in tables if one is not None))

    @property
    def groups(self) -> dict[int, Counts]:
        """The finest groups in which each column was measured with others."""
        finest: dict[int, Counts] = {}
        for table in self.tables:
            for column, of in zip(table.columns, table.groups, strict=True):
                if len(table.columns) > 1 and of.max() > finest.get(column, np.array(-1)).max():
                    finest[column] = of
        return finest


@dataclass(frozen=True, eq=False)
class Earlier:
    """What earlier periods are to tell of this one.

    Attributes:
        number: of the period that is released.
        periods: before it.
    """

    number: int
    periods: tuple[EarlierPeriod, ...]

    def on_bins(self, bins: Mapping[int, Counts]) -> "Earlier":
        """The same for a domain that has bins for cells, without tables that do not suit it."""
        return replace(self, periods=tuple(one.on_bins(bins) for one in self.periods))
