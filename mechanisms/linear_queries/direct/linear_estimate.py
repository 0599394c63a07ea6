"""The best linear unbiased estimate of all queries from noisy tables, and its noise.

What is measured are marginals S, with independent noise of variance 1/w_S on every cell, and
possibly the histograms of blocks' own cells. A marginal splits into its interactions: for every
part A of its columns the table over A, centred along each of them. Of equal parts the mean by
inverse variance is best, and different parts are uncorrelated, so that nothing large is inverted:

    tau_A = sum_{S over A} w_S / prod_{i in S, not in A} n_i        (precision of part A)

Claim.   Without more than the first two moments of the noise, no linear unbiased estimate from the
         marginals has less variance for any query on marginals. A block whose own cells are
         measured is estimated from that histogram alone.
Source.  Xiao, He, Zhang, Kifer (2023), "An optimal and scalable matrix mechanism for noisy
         marginals under convex loss functions", NeurIPS, for the parts; Gauss and Markov.
Oracle.  tests/mechanisms/linear_queries/direct/test_linear_estimate.py: the pseudoinverse.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.linear_queries.marginals import marginals
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import EachCell, Matrix, Rows

Asked = Clique | int
"""A table that is measured: the marginal over some columns, or the own cells of block b."""

Part = Clique | int
"""An interaction of columns, () for the total; or the centred histogram of block b's own cells."""


@dataclass(frozen=True, eq=False)
class LinearEstimate:
    """How the queries are estimated. Public.

    Attributes:
        universe: of the queries; only its columns, never all of its cells.
        asked: what is measured, each once.
        precisions: inverse variance of the noise in one cell of each, shape (asked,).
    """

    universe: Universe
    asked: tuple[Asked, ...]
    precisions: Floats

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What the queries need, but for the total, which is no matter of their differences."""
        return needed(self.universe, [b for b in self.asked if isinstance(b, int)])

    @cached_property
    def _needed(self) -> Mapping[Part, None]:
        """The parts and the total, for looking parts up."""
        return dict.fromkeys([(), *self.parts])

    @cached_property
    def precision(self) -> Mapping[Part, float]:
        """tau of every part and of the total."""
        found: dict[Part, float] = dict.fromkeys(self._needed, 0.0)
        for asked, precision in zip(self.asked, self.precisions, strict=True):
            for part, share in self._seen(asked).items():
                found[part] += precision * share
        return found

    def pooled(self, tables: Sequence[NDArray[np.number]]) -> dict[Part, Floats]:
        """The best estimates of all parts and of the total.

        Args:
            tables: one for each that is asked, shape (draws, its cells).
        Returns:
            Of part A, shape (draws, cells of A), centred along every column.
        """
        draws = len(tables[0])
        sums = {part: np.zeros((draws, self._size(part))) for part in self.precision}
        for asked, precision, table in zip(self.asked, self.precisions, tables, strict=True):
            values, seen = table.astype(np.float64), self._seen(asked)
            split: dict[Part, Floats] = {}
            if isinstance(asked, int):
                split |= {asked: values, (): values.sum(axis=1, keepdims=True)}
            else:
                split |= self._split(values, asked, [p for p in seen if not isinstance(p, int)])
            for part, share in seen.items():
                sums[part] += precision * share * split[part]
        return {p: self._centred(total, p) / self.precision[p] for p, total in sums.items()}

    def records(self, tables: Sequence[NDArray[np.number]]) -> int:
        """The number of records as all tables have it together, at least 1.

        Args:
            tables: one for each that is asked, shape (its cells,).
        """
        pooled = self.pooled([table[None, :] for table in tables])
        return max(round(float(pooled[()][0, 0])), 1)

    def means_of(self, tables: Sequence[NDArray[np.number]], records: int) -> Floats:
        """The estimated answers as means over so many records, shape (queries,).

        Args:
            tables: as of `records`.
        """
        pooled = self.pooled([table[None, :] for table in tables])
        pooled[()] = np.array([[float(records)]])
        return self.answers(pooled)[0] / records

    def drawn(self, rng: np.random.Generator, draws: int) -> dict[Part, Floats]:
        """Normal noise with the moments of that of the pooled parts; the total has none."""
        return {
            part: self._centred(rng.normal(size=(draws, self._size(part))), part)
            / np.sqrt(self.precision[part])
            for part in self.parts
        }

    def answers(self, parts: Mapping[Part, Floats]) -> Floats:
        """Answers to all queries on their own scale, from parts of count tables: (draws, queries).

        A part that is not there counts as 0.
        """
        draws = len(next(iter(parts.values())))
        tables: dict[Clique, Floats] = {}
        found = []
        for number, block in enumerate(self.universe.queries.blocks):
            clique = self.universe.cliques[number]
            if number in self.precision:
                cells = block.cells.size
                own = parts.get(number, np.zeros((draws, cells)))
                found.append(_answers(block.rows, own + parts.get((), np.zeros(1)) / cells))
                continue
            if clique not in tables:
                tables[clique] = self._table(parts, clique, draws)
            place = self.universe.places[number]
            found.append(_answers(block.rows, _gathered(tables[clique], place, block.cells.size)))
        return np.concatenate(found, axis=1) / self.universe.queries.unit

    @property
    def cells(self) -> tuple[int, ...]:
        """The number of cells of each table that is asked."""
        return tuple(map(self._size, self.asked))

    @cached_property
    def entries(self) -> int:
        """Numbers that one draw of all parts and answers takes."""
        tables = sum(self._size(clique) for clique in set(self.universe.cliques))
        return sum(map(self._size, self.precision)) + tables + self.universe.queries.size

    @cached_property
    def means(self) -> Floats:
        """What every query gives a record on average over its cells: (queries,)."""
        return self.answers({(): np.ones((1, 1))})[0]

    def _seen(self, asked: Asked) -> dict[Part, float]:
        """Parts that a table tells of, each with the precision that it adds to them."""
        if isinstance(asked, int):
            return {asked: 1.0, (): 1 / self._size(asked)}
        columns, size = set(asked), self._size(asked)
        if 2 ** len(asked) < len(self._needed):
            found = [part for part in subsets(asked) if part in self._needed]
        else:
            found = [p for p in self._needed if not isinstance(p, int) and columns.issuperset(p)]
        return {part: self._size(part) / size for part in found}

    def _split(
        self, table: Floats, asked: Clique, parts: Sequence[Clique]
    ) -> Mapping[Part, Floats]:
        """The table summed to its parts; the draws go along as a column that all parts keep."""
        shape = (len(table), *(self.universe.shape[column] for column in asked))
        places = [(0, *(1 + asked.index(column) for column in part)) for part in parts]
        found = marginals(table.ravel(), shape, places)
        return {
            part: found[place].reshape(len(table), -1)
            for part, place in zip(parts, places, strict=True)
        }

    def _centred(self, table: Floats, part: Part) -> Floats:
        shape = (self._size(part),) if isinstance(part, int) else self._cells(part)
        values = table.reshape(len(table), *shape)
        for axis in range(1, values.ndim):
            values = values - values.mean(axis=axis, keepdims=True)
        return values.reshape(len(table), -1)

    def _table(self, parts: Mapping[Part, Floats], clique: Clique, draws: int) -> Floats:
        """The marginal over a clique as the sum of its parts, each spread evenly."""
        total = np.zeros((draws, *self._cells(clique)))
        for part in subsets(clique):
            if part in parts:
                shape = [self.universe.shape[a] if a in part else 1 for a in clique]
                rest = prod(self._cells(clique)) // prod(self._cells(part))
                total += parts[part].reshape(draws, *shape) / rest
        return total.reshape(draws, -1)

    def _cells(self, clique: Clique) -> tuple[int, ...]:
        return tuple(self.universe.shape[column] for column in clique)

    def _size(self, asked: Asked) -> int:
        return size_of(self.universe, asked)


def needed(universe: Universe, own: Iterable[int]) -> tuple[Part, ...]:
    """The parts that tell all queries' answers up to the total.

    Args:
        own: blocks whose own cells are measured.
    """
    apart = set(own)
    cliques = [c for b, c in enumerate(universe.cliques) if b not in apart]
    parts = {part for clique in cliques for part in subsets(clique)} - {()}
    return (*sorted(parts, key=lambda part: (len(part), part)), *sorted(apart))


def size_of(universe: Universe, asked: Asked) -> int:
    """The number of cells of a table or part."""
    if isinstance(asked, int):
        return universe.queries.blocks[asked].cells.size
    return cells(asked, universe.shape)


def cells_of(universe: Universe, asked: Asked) -> CellMap:
    """What the curator counts."""
    if isinstance(asked, int):
        return universe.queries.blocks[asked].cells
    return marginal(asked, universe.shape)


def subsets(clique: Clique) -> list[Clique]:
    """All parts of a clique, () and itself among them."""
    return [part for size in range(len(clique) + 1) for part in combinations(clique, size)]


def _gathered(tables: Floats, place: NDArray[np.int64] | None, size: int) -> Floats:
    if place is None:
        return tables
    return np.stack([np.bincount(place, weights=table, minlength=size) for table in tables])


def _answers(rows: Rows, tables: Floats) -> Floats:
    """Answers to many tables: shapes (draws, cells) to (draws, queries)."""
    match rows:
        case EachCell():
            return rows.answers(tables)
        case Matrix():
            return np.asarray(rows.answers(np.ascontiguousarray(tables.T)).T)
    return np.stack([rows.answers(table) for table in tables])
