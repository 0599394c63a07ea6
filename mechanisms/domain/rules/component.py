"""Columns that rules connect, with values that the rules cannot tell apart merged into classes.

A column of a hundred cells mostly has a handful of classes (under 3, under 5, under 15, ...), and
all questions about a component are searches over classes: the product of the cells is never formed.

Claim.   Two parts of a column are in one class where every table has the same entries at them, so
         exchanging one for the other never makes a record break a rule.
Oracle.  tests/mechanisms/domain/rules/test_rules.py: brute force over all records of small domains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Integers, Mask
from hallmark.mechanisms.domain.rules.flat import FlatTables, flatten, merge
from hallmark.mechanisms.domain.rules.search import FOUND, NONE, Forest, any_choice, forest_of
from hallmark.mechanisms.domain.rules.tables import RuleTable

_AT_ONCE = 4096  # searches prepared at a time, to bound the memory of their costs


@dataclass(frozen=True, eq=False)
class Component:
    """Connected columns; every question takes and gives codes of these columns, in their order.

    Attributes:
        columns: ascending positions in the domain.
        tables: on parts of these columns, with positions in the domain.
        part_cells: the cell of each part, by column.
        shape: cells of each column.
        ordered: whether values of the column are ordered.
        nullable: whether its last cell is the null cell.
    """

    columns: tuple[int, ...]
    tables: tuple[RuleTable, ...]
    part_cells: tuple[Integers, ...]
    shape: tuple[int, ...]
    ordered: tuple[bool, ...]
    nullable: tuple[bool, ...]

    @cached_property
    def labels(self) -> tuple[Integers, ...]:
        """The class of every part, by column."""
        labels = [np.zeros(len(cells), dtype=np.int64) for cells in self.part_cells]
        for columns, allowed in self._merged.items():
            for axis, column in enumerate(columns):
                rows = np.moveaxis(allowed, axis, 0).reshape(allowed.shape[axis], -1)
                both = np.column_stack([labels[column], _numbered(np.packbits(rows, axis=1))])
                labels[column] = _numbered(both)
        return tuple(labels)

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """Number of classes of every column."""
        return tuple(int(labels.max()) + 1 for labels in self.labels)

    @cached_property
    def flat(self) -> FlatTables:
        """The tables on classes."""
        first = [np.unique(labels, return_index=True)[1] for labels in self.labels]
        return flatten(
            (
                RuleTable("", columns, allowed[np.ix_(*(first[column] for column in columns))])
                for columns, allowed in self._merged.items()
            ),
            len(self.columns),
        )

    @cached_property
    def forest(self) -> Forest:
        """The forest of the tables on classes."""
        return forest_of(self.flat, self.classes)

    @cached_property
    def members(self) -> tuple[Mask, ...]:
        """Whether a cell has a part of the class, shape (cells, classes), by column."""
        members = []
        for cells, labels, size, classes in zip(
            self.part_cells, self.labels, self.shape, self.classes, strict=True
        ):
            has = np.zeros((size, classes), dtype=np.bool_)
            has[cells, labels] = True
            members.append(has)
        return tuple(members)

    @cached_property
    def kinds(self) -> tuple[Integers, ...]:
        """Numbers of the cells such that cells with the same classes have the same, by column."""
        return tuple(_numbered(np.packbits(has, axis=1)) for has in self.members)

    def valid(self, codes: NDArray[np.integer]) -> Mask:
        """Records that some parts of their cells make obey all tables, shape (n,)."""
        kinds = np.column_stack([kind[codes[:, j]] for j, kind in enumerate(self.kinds)])
        _, first, inverse = distinct(kinds)
        return self._possible(codes[first])[inverse]

    def allowed(self, clique: Sequence[int]) -> Mask:
        """Cells of some of the columns, given by their positions in the domain, that can be valid.

        Shape = cells of these columns; where none is given, whether any record is valid.
        """
        axes = [self.columns.index(column) for column in clique]
        firsts = [np.unique(self.kinds[j], return_index=True)[1] for j in axes]
        shape = tuple(len(first) for first in firsts)
        possible = np.empty(prod(shape), dtype=np.bool_)
        for start in range(0, possible.size, _AT_ONCE):
            some = np.arange(start, min(start + _AT_ONCE, possible.size))
            probes = np.full((len(some), len(self.columns)), -1, dtype=np.int64)
            places = np.unravel_index(some, shape) if axes else ()
            for j, first, place in zip(axes, firsts, places, strict=True):
                probes[:, j] = first[place]
            possible[some] = self._possible(probes)
        possible = possible.reshape(shape)
        return possible[np.ix_(*(self.kinds[j] for j in axes))] if axes else possible

    def parts_within(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Integers:
        """Parts of the records' cells that obey together, at random; -1 where there are none."""
        parts = np.full(codes.shape, -1, dtype=np.int64)
        for start in range(0, len(codes), _AT_ONCE):
            some = codes[start : start + _AT_ONCE]
            costs = self._costs_within(some)
            costs += rng.random(costs.shape)  # the order in which classes are tried
            chosen, outcome = any_choice(costs, self.flat, self.forest)
            found = np.flatnonzero(outcome == FOUND)
            for j, cells in enumerate(self.part_cells):
                keys = cells * self.classes[j] + self.labels[j]
                order = np.argsort(keys, kind="stable")
                wanted = some[found, j].astype(np.int64) * self.classes[j] + chosen[found, j]
                low = np.searchsorted(keys[order], wanted, side="left")
                high = np.searchsorted(keys[order], wanted, side="right")
                parts[start + found, j] = order[rng.integers(low, high)]
        return parts

    def _possible(self, probes: NDArray[np.integer]) -> Mask:
        possible = np.empty(len(probes), dtype=np.bool_)
        for start in range(0, len(probes), _AT_ONCE):
            costs = self._costs_within(probes[start : start + _AT_ONCE])
            possible[start : start + _AT_ONCE] = (
                any_choice(costs, self.flat, self.forest)[1] != NONE
            )
        return possible

    def _costs_within(self, probes: NDArray[np.integer]) -> NDArray[np.float64]:
        """0 for the classes of the given cells, infinite for others; a cell of -1 is any cell."""
        costs = np.full((len(probes), len(self.columns), max(self.classes)), np.inf)
        for j, has in enumerate(self.members):
            inside = has[probes[:, j]]
            inside[probes[:, j] < 0] = True
            costs[:, j, : self.classes[j]] = np.where(inside, 0.0, np.inf)
        return costs

    @cached_property
    def _merged(self) -> dict[tuple[int, ...], Mask]:
        """The tables by positions in the component."""
        place = {column: j for j, column in enumerate(self.columns)}
        return {
            tuple(place[column] for column in columns): allowed
            for columns, allowed in merge(self.tables).items()
        }


def distinct(rows: NDArray[np.integer]) -> tuple[Integers, Integers, Integers]:
    """Different rows of small numbers: their count each, where each is first, which each row is."""
    sizes = rows.max(axis=0, initial=0).astype(np.int64) + 1
    if float(np.prod(sizes, dtype=np.float64)) < 2**62:  # a number for each row sorts much faster
        keys = np.ravel_multi_index(tuple(rows.T), tuple(sizes))
        _, first, inverse, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
    else:
        _, first, inverse, counts = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
    return counts, first, inverse.reshape(-1)


def _numbered(rows: NDArray[np.integer]) -> Integers:
    """Numbers of the rows from 0, the same for equal rows."""
    whole = np.ascontiguousarray(rows)
    if whole.shape[1] == 0:
        return np.zeros(len(whole), dtype=np.int64)
    blocks = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1])))
    return np.unique(blocks.ravel(), return_inverse=True)[1].reshape(-1).astype(np.int64)
