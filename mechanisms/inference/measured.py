"""One answered histogram, as post-processing sees it: sums of cells plus noise of a known law."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from scipy import sparse

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.queries import GaussianNoise, Noise
from hallmark.mechanisms.privacy.transforms import Sums


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredTable:
    """Weighted sums of the cells of a map, each with independent noise. Public.

    Attributes:
        cells: from a record's codes to its cell.
        sums: which cells every answer adds up.
        noise: law of the noise in every answer.
        answers: int64 of shape (sums.entries,).
        conditional: whether it was asked because of earlier answers; then the law of `noise` holds
            for this table, but not for those that it was chosen on, once it is known.
    """

    cells: CellMap
    sums: Sums
    noise: Noise
    answers: Counts
    conditional: bool = False

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in one answer, records."""
        return float(self.noise.variance) ** 0.5

    @cached_property
    def columns(self) -> Clique:
        """Columns of the map, ascending."""
        return tuple(sorted(self.cells.columns))

    @cached_property
    def tables(self) -> tuple[Counts, ...]:
        """Tables of the map, in the order of `columns`."""
        by_column = dict(zip(self.cells.columns, self.cells.tables, strict=True))
        return tuple(by_column[column] for column in self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """Codes of every column."""
        return tuple(len(table) for table in self.tables)

    def fits(self, most: int) -> bool:
        """Whether the columns have at most so many combinations of codes."""
        return prod(self.shape) <= most

    @cached_property
    def by_codes(self) -> sparse.csr_array:
        """Weight of every combination of codes, in C order, in every answer; shape (answers,
        combinations)."""
        cell = over_grid(self.tables)
        entry, weight = self.sums.entry[cell], self.sums.weight[cell]
        counted = np.flatnonzero(entry >= 0)
        parts = (weight[counted].astype(np.float64), (entry[counted], counted))
        return sparse.csr_array(parts, shape=(self.sums.entries, len(cell)))

    def margin(self, columns: Collection[int], *, whole: bool = True) -> "MeasuredTable | None":
        """The table summed to some of its columns.

        None where there is no sum: cells must be all combinations of groups, and Gaussian noise
        alone stays in its family, as `law` counts it.

        Args:
            whole: None, too, where the sum does not say of the columns all that the table can: it
                does if groups have as many codes each.
        """
        if not isinstance(self.noise, GaussianNoise):
            return None
        found = [np.unique(t, return_inverse=True, return_counts=True) for t in self.tables]
        if whole and any((codes != codes[0]).any() for _, _, codes in found):
            return None
        groups = [(distinct, of) for distinct, of, _ in found]
        sizes = [len(distinct) for distinct, _ in groups]
        cell = over_grid([distinct for distinct, _ in groups])
        entry = np.arange(self.cells.size)
        if (
            not np.array_equal(np.sort(cell), entry)
            or not np.array_equal(self.sums.entry, entry)
            or (self.sums.weight != 1).any()
        ):
            return None
        kept = [i for i, column in enumerate(self.columns) if column in columns]
        others = tuple(i for i in range(len(sizes)) if i not in kept)
        answers = self.answers[cell].reshape(sizes).sum(axis=others)
        strides = [prod(sizes[j] for j in kept if j > i) for i in kept]
        size = answers.size
        return MeasuredTable(
            cells=CellMap(
                tuple(self.columns[i] for i in kept),
                tuple(groups[i][1] * stride for i, stride in zip(kept, strides, strict=True)),
                size,
            ),
            sums=Sums(np.arange(size), np.ones(size, dtype=np.int64), size),
            noise=GaussianNoise(self.noise.sigma2 * prod(sizes[i] for i in others)),
            answers=answers.ravel(),
            conditional=self.conditional,
        )

    def on_cells(self, values: Floats, columns: Clique) -> Floats | None:
        """A function of `columns` as one of cells, float64 of shape (cells,).

        Args:
            values: by the codes of the columns, which ascend.
        Returns:
            None if a column is not the map's, or codes with different values share a cell.
        """
        if not set(columns) <= set(self.columns):
            return None
        classes = {
            column: np.unique(table, return_index=True, return_inverse=True)
            for column, table in zip(self.columns, self.tables, strict=True)
        }
        once = values[np.ix_(*(classes[column][1] for column in columns))]
        again = once[np.ix_(*(classes[column][2] for column in columns))]
        cell = over_grid([distinct for distinct, _, _ in classes.values()])
        if not np.array_equal(again, values) or len(np.unique(cell)) < len(cell):
            return None
        others = tuple(i for i, column in enumerate(self.columns) if column not in columns)
        grid = tuple(len(distinct) for distinct, _, _ in classes.values())
        on_cells = np.zeros(self.cells.size)
        on_cells[cell] = np.broadcast_to(np.expand_dims(once, others), grid).ravel()
        return on_cells


def over_grid(tables: Sequence[Counts]) -> Counts:
    """Sums of one entry of each table, for all combinations in C order."""
    grid = np.zeros((), dtype=np.int64)
    for table in tables:
        grid = grid[..., None] + table
    return grid.ravel()
