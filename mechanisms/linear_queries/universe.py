"""All cells of a product of columns, and linear queries on distributions over them.

Nothing is stored of the matrix of queries by cells: answers go through the marginals that queries
see, and so does the adjoint.

Oracle.  tests/mechanisms/linear_queries/test_universe.py writes the matrix out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.linear_queries.marginals import marginals, spread
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import LinearQueries

_NO_RULES = Rules(())


@dataclass(frozen=True, eq=False)
class Universe:
    """An enumerated product of columns with the queries on it. Public.

    Answers and values are in the queries' own scale: integers over `queries.unit`.

    Attributes:
        shape: cells of every column.
        queries: on records with these columns.
        levels: by column, the cell of every level that a record may have, int64 of shape
            (levels,). No query tells levels of one cell apart, which is why they share it.
        rules: edit rules on these columns' cells, and on columns behind them that no query sees,
            of one cell each. Distributions have nothing where they allow no record.
        names: of the columns, for people.
    """

    shape: tuple[int, ...]
    queries: LinearQueries
    levels: tuple[NDArray[np.int64], ...]
    rules: Rules = _NO_RULES
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @property
    def log_cells(self) -> float:
        """Natural logarithm of the number of cells, at least that of two."""
        return max(log(2), sum(log(k) for k in self.shape))

    @cached_property
    def uniform(self) -> Floats:
        """The distribution in which all combinations of levels are alike, but for those of cells
        that are not possible, which have nothing; shape (size,)."""
        total = np.ones(1)
        for cell, count in zip(self.levels, self.shape, strict=True):
            share = np.bincount(cell, minlength=count) / len(cell)
            total = np.multiply.outer(total, share).ravel()
        if self.rules:
            total *= self.possible
            total /= total.sum()
        return total

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Cells that some record has which obeys the rules, shape (size,).

        The private records need not obey them: bounds on errors take no notice of it.
        """
        if not self.rules:
            return np.ones(self.size, dtype=np.bool_)
        return self.rules.allowed(range(len(self.shape))).ravel()

    def name(self, column: int) -> str:
        """The name of a column, for people."""
        return self.names[column] if column < len(self.names) else f"column {column + 1}"

    @property
    def as_domain(self) -> Domain:
        """The columns with their rules for a graphical model, which looks at no distances."""
        shape = self.rules.shape if self.rules else self.shape
        return Domain(
            tuple(
                Attribute(
                    name=self.name(column),
                    kind=Kind.NOMINAL,
                    positions=(np.arange(k) + 0.5) / k,
                    widths=np.zeros(k),
                )
                for column, k in enumerate(shape)
            ),
            self.rules if self.rules else Rules(shape),
        )

    @cached_property
    def cliques(self) -> tuple[Clique, ...]:
        """The columns that each block sees, ascending."""
        return tuple(tuple(sorted(cells.columns)) for cells in self.queries.maps)

    def answers(self, weights: Floats) -> Floats:
        """Answers on a distribution, or any other weights of all cells: shapes (size,) to (m,)."""
        return self.answers_to(marginals(weights, self.shape, self.cliques))

    def answers_to(self, tables: Mapping[Clique, Floats]) -> Floats:
        """Answers from the marginals over `cliques` alone, shapes (cells,) to (m,)."""
        parts = [
            block.rows.answers(_gathered(tables[clique], place, block.cells.size))
            for block, clique, place in zip(
                self.queries.blocks, self.cliques, self.places, strict=True
            )
        ]
        return np.concatenate(parts) / self.queries.unit

    def adjoint(self, weights: Floats) -> Floats:
        """The sum of all queries, weighted: shapes (m,) to (size,)."""
        parts = np.split(weights / self.queries.unit, self.queries.starts[1:-1])
        total = {clique: np.zeros(cells(clique, self.shape)) for clique in self.cliques}
        for block, clique, place, part in zip(
            self.queries.blocks, self.cliques, self.places, parts, strict=True
        ):
            values = block.rows.adjoint(part)
            total[clique] += values if place is None else values[place]
        return spread(total, self.shape)

    def on_clique(self, query: int) -> tuple[Clique, Floats]:
        """The columns that a query sees, and its values on their cells, shape (cells,)."""
        block, row = self.queries.located(query)
        clique, place = self.cliques[block], self.places[block]
        values = self.queries.blocks[block].rows.row(row) / self.queries.unit
        return clique, values if place is None else values[place]

    def values(self, query: int) -> Floats:
        """What a query gives every cell, shape (size,)."""
        clique, values = self.on_clique(query)
        return spread({clique: values}, self.shape)

    def add(self, total: Floats, query: int, weight: float) -> None:
        """Add a query's values, weighted, to `total` of shape (size,), in place."""
        clique, values = self.on_clique(query)
        shape = [k if column in clique else 1 for column, k in enumerate(self.shape)]
        total.reshape(self.shape)[...] += (weight * values).reshape(shape)

    @cached_property
    def places(self) -> tuple[NDArray[np.int64] | None, ...]:
        """By block, the cell of the queries that every cell of the clique goes to; None where the
        two are the same."""
        return tuple(
            _places(cells, clique, self.shape)
            for cells, clique in zip(self.queries.maps, self.cliques, strict=True)
        )


def _places(cells: CellMap, clique: Clique, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
    if cells.digest == marginal(clique, shape).digest:
        return None
    codes = np.indices([shape[column] for column in clique]).reshape(len(clique), -1)
    records = np.zeros((codes.shape[1], len(shape)), dtype=np.int64)
    records[:, list(clique)] = codes.T
    return cells(records)


def _gathered(table: Floats, place: NDArray[np.int64] | None, size: int) -> Floats:
    if place is None:
        return table
    return np.bincount(place, weights=table, minlength=size).astype(np.float64, copy=False)
