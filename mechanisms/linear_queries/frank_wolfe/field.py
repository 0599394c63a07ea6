"""The path of Frank-Wolfe as a Markov random field, on universes too large to enumerate.

A chosen query depends on few columns, so q_t is a sum of tables over the cliques chosen so far, and
the distribution at q_t is the random field with these tables, over the smoothing, as potentials.
Its marginals come from belief propagation along a junction tree. Queries whose clique would make
the tree too large are not admissible; that depends on earlier choices alone. Edit rules hold as far
as they find room in the tree beside what was chosen (`structure`).

Claim.   On a universe that can be enumerated, and that rules leave room in, answers are those of
         the enumerated path.
Oracle.  tests/mechanisms/linear_queries/frank_wolfe/test_field.py.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.graphical_models.propagation import Calibrated, Propagation
from hallmark.mechanisms.graphical_models.structure import structure
from hallmark.mechanisms.graphical_models.tree import junction_tree
from hallmark.mechanisms.linear_queries.random_field import RandomField
from hallmark.mechanisms.linear_queries.universe import Universe


class FieldPath:
    """q_t as a table for every clique chosen so far."""

    def __init__(
        self, universe: Universe, smoothing: float, step: float, *, most_cells: int
    ) -> None:
        """
        Args:
            most_cells: of the junction tree's tables together.
        """
        self._universe = universe
        self._smoothing, self._step = smoothing, step
        self._most_cells = most_cells
        self._tables: dict[Clique, Floats] = {}
        self._structure = _Structure(universe, (), most_cells)

    def move(self, query: int, sign: int) -> None:
        for table in self._tables.values():
            table *= 1 - self._step
        self._add(query, sign * self._step)

    def answers(self) -> Floats:
        return self.distribution().answers()

    def admissible(self) -> NDArray[np.bool_]:
        return self._structure.admissible

    def add(self, weights: Floats) -> None:
        """Add all queries, weighted, to q; shape (queries,)."""
        for query in np.flatnonzero(weights):
            self._add(int(query), float(weights[query]))

    def distribution(self) -> RandomField:
        """The field at q_t."""
        scaled = [table / self._smoothing for table in self._tables.values()]
        return RandomField(self._universe, self._structure.calibrated(scaled))

    def _add(self, query: int, weight: float) -> None:
        clique, values = self._universe.on_clique(query)
        if clique not in self._tables:
            self._tables[clique] = np.zeros([self._universe.shape[a] for a in clique])
            self._structure = _Structure(self._universe, tuple(self._tables), self._most_cells)
        self._tables[clique] += weight * values.reshape(self._tables[clique].shape)


def tree_cells(universe: Universe, cliques: tuple[Clique, ...]) -> int:
    """Cells of the tables of a field over these cliques."""
    return junction_tree(universe.shape, cliques).cells(universe.shape)


def widest(universe: Universe) -> Clique:
    """The clique of the universe's queries with most cells."""
    return max(universe.cliques, key=lambda clique: cells(clique, universe.shape))


class _Structure:
    """A field's cliques with the schedule of its propagation."""

    def __init__(self, universe: Universe, cliques: tuple[Clique, ...], most_cells: int) -> None:
        self._universe, self._cliques, self._most_cells = universe, cliques, most_cells

    @cached_property
    def admissible(self) -> NDArray[np.bool_]:
        """Queries whose clique is one of these, or leaves the tree small with them."""
        universe = self._universe
        fits = {
            clique: clique in self._cliques
            or tree_cells(universe, (*self._cliques, clique)) <= self._most_cells
            for clique in dict.fromkeys(universe.cliques)
        }
        blocks = zip(universe.queries.blocks, universe.cliques, strict=True)
        return np.concatenate([np.full(b.rows.size, fits[c], dtype=np.bool_) for b, c in blocks])

    @cached_property
    def _propagation(self) -> Propagation:
        domain = self._universe.as_domain
        found = structure(domain, self._cliques, self._most_cells)
        columns = [(column,) for column in range(len(self._universe.shape))]
        zeros = found.zeros(domain.rules)
        return Propagation(domain.shape, found.tree, [*columns, *self._cliques], zeros)

    @cached_property
    def _uniform(self) -> list[Floats]:
        """Logarithms of every column's shares of levels."""
        counts = [
            np.bincount(cells, minlength=k)
            for cells, k in zip(self._universe.levels, self._universe.shape, strict=True)
        ]
        with np.errstate(divide="ignore"):
            return [np.log(count / count.sum()) for count in counts]

    def calibrated(self, potentials: list[Floats]) -> Calibrated:
        return self._propagation.calibrate([*self._uniform, *potentials])
