"""Rules of a domain: which records are possible, and the nearest possible one to another."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Codes, Mask
from hallmark.mechanisms.domain.rules.component import Component
from hallmark.mechanisms.domain.rules.flat import FlatTables, flatten
from hallmark.mechanisms.domain.rules.nearest import nearest_valid
from hallmark.mechanisms.domain.rules.settle import settle
from hallmark.mechanisms.domain.rules.tables import (
    Determination,
    Parts,
    RuleTable,
    check_tables,
    connected,
)

Joint = Callable[[tuple[int, int]], NDArray[np.float64]]
"""Takes (column, other) to their joint masses, shape (cells of column, cells of other)."""


@dataclass(frozen=True, eq=False)
class Rules:
    """Edit rules on the cells of a domain. A record is valid if values in its cells obey them all.

    Attributes:
        shape: cells of every attribute.
        tables: combinations of cells that rules allow.
        determinations: functions between columns that are not known yet; `settled` fixes them.
        ordered: columns whose values are ordered; moving there is cheaper the nearer.
        nullable: columns whose last cell is the null cell.
        parts: the rules within cells; None where no rule tells values of one cell apart.
    """

    shape: tuple[int, ...]
    tables: tuple[RuleTable, ...] = ()
    determinations: tuple[Determination, ...] = ()
    ordered: tuple[int, ...] = ()
    nullable: tuple[int, ...] = ()
    parts: Parts | None = None

    def __post_init__(self) -> None:
        check_tables(self.tables, self.shape)
        for rule in self.determinations:
            pair = (rule.column, rule.other)
            if rule.column == rule.other or not all(0 <= c < len(self.shape) for c in pair):
                raise ValueError(f"{rule.name}: needs two different columns, not {pair}")
        if self.parts is not None:
            check_tables(self.parts.tables, [len(cells) for cells in self.parts.cells])
            if any(
                not np.array_equal(np.unique(cells), np.arange(size))
                for cells, size in zip(self.parts.cells, self.shape, strict=True)
            ):
                raise ValueError("parts: every cell of every column needs one part at least")

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone; what was derived from them is derived again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __bool__(self) -> bool:
        return bool(self._all_tables or self.determinations)

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Columns that rules connect; only those that some rule touches."""
        tables = [table.columns for table in self._all_tables]
        return connected([*tables, *((d.column, d.other) for d in self.determinations)])

    def obeyed(self, codes: Codes) -> Mask:
        """Records that obey every table, shape (n,). Where there are parts, see `valid`."""
        fine = np.ones(len(codes), dtype=np.bool_)
        for table in self.tables:
            fine &= table.allowed[tuple(codes[:, column] for column in table.columns)]
        return fine

    def valid(self, codes: Codes) -> Mask:
        """Records with values in their cells that obey all tables at once, shape (n,).

        The same as `obeyed` unless there are parts. Says nothing of determinations.
        """
        fine = self.obeyed(codes)
        if self.parts is not None:
            rows = np.flatnonzero(fine)
            for component in self._engines:
                fine[rows] &= component.valid(codes[rows][:, component.columns])
        return fine

    def allowed(self, clique: Sequence[int]) -> Mask:
        """Cells of the clique that some valid record has, shape = cells of its columns in order.

        An exact projection of the set of valid records, however the rules hang together. Only
        where a search takes more than `search.MOST_STEPS` steps, the cell counts as allowed, so
        that no possible cell is ever forbidden. Says nothing of determinations.
        """
        axes = {column: axis for axis, column in enumerate(clique)}
        if len(axes) < len(clique):
            raise ValueError(f"a clique names each column once, not {tuple(clique)}")
        cells = np.ones([self.shape[column] for column in clique], dtype=np.bool_)
        for component in self._engines:
            inside = [column for column in component.columns if column in axes]
            part = component.allowed(inside)  # a single truth value where none is inside
            order = sorted(range(len(inside)), key=lambda i: axes[inside[i]])
            size = [self.shape[column] if column in inside else 1 for column in clique]
            cells &= part.transpose(order).reshape(size)
        return cells

    def dead_cells(self) -> dict[int, tuple[int, ...]]:
        """Cells that no valid record has, by column; only columns of rules that have some."""
        dead = {
            column: np.flatnonzero(~self.allowed((column,)))
            for component in self._engines
            for column in component.columns
        }
        return {
            column: tuple(int(cell) for cell in cells)
            for column, cells in sorted(dead.items())
            if len(cells)
        }

    def repair(self, codes: Codes, rng: np.random.Generator, *, fixed: Sequence[int] = ()) -> Codes:
        """Valid records near the given ones, shape (n, attributes); valid ones are untouched.

        Each record moves as short a way as possible, and of the ways that are as short, one that
        changes fewest attributes. The way is the sum over attributes of |a - b| / k between two of
        k ordered values, and of 1 for any other change (of a category, or from or to a null). Ties
        fall at random, in proportion to how common the cells are among `codes`. Determinations
        are settled by the records themselves first, and hold then too.

        A search that takes more than `search.MOST_STEPS` steps ends with the nearest valid record
        that it has found.

        Args:
            fixed: columns that keep their cells.
        Raises:
            ValueError: no valid record exists (see `check`), or none with what is fixed.
        """
        if self.determinations:
            return self.settled(joint_of(codes, self.shape)).repair(codes, rng, fixed=fixed)
        repaired = codes.copy()
        wrong = np.flatnonzero(~self.valid(codes))
        if len(wrong) == 0:
            return repaired
        for component in self._engines:
            columns = list(component.columns)
            rows = wrong[~component.valid(codes[wrong][:, columns])]
            if len(rows):
                common = [
                    np.bincount(codes[:, column], minlength=self.shape[column])
                    for column in columns
                ]
                still = [column in fixed for column in columns]
                moved = nearest_valid(component, codes[rows][:, columns], common, rng, still)
                repaired[rows[:, None], columns] = moved
        return repaired

    def parts_within(self, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
        """A part of every cell, such that the parts of a record obey all rules.

        Shape (n, attributes), numbers of parts; -1 throughout for records that have none. Columns
        that no rule touches get their first part. Where there are no parts, cells are their own.
        """
        first = [np.unique(cells, return_index=True)[1] for cells in self.part_cells]
        chosen = np.column_stack([parts[codes[:, c]] for c, parts in enumerate(first)])
        bad = np.zeros(len(codes), dtype=np.bool_)
        for component in self._engines:
            columns = list(component.columns)
            found = component.parts_within(codes[:, columns], rng)
            chosen[:, columns] = found
            bad |= (found < 0).any(axis=1)
        chosen[bad] = -1
        return chosen

    def settled(self, joint: Joint) -> "Rules":
        """The same rules with a table for every determination.

        Each value of the column goes with the one value of the other column that has most mass
        beside it in `joint((column, other))`, among those that the other tables allow beside it
        (so every possible value of the column stays possible). Of equal masses, the first cell
        wins. A value without positive mass takes over from the nearest value with some, where the
        column is ordered, else the most common value. Nulls on either side remain free.
        Determinations are settled in their order, each on top of those before.
        """
        rules = self
        for rule in self.determinations:
            pair = (rule.column, rule.other)
            mass = np.asarray(joint(pair), dtype=np.float64)
            expected = (self.shape[rule.column], self.shape[rule.other])
            if mass.shape != expected:
                raise ValueError(f"{rule.name}: joint{pair} has shape {mass.shape}, not {expected}")
            table = settle(
                rule,
                mass,
                rules.allowed(pair),
                ordered=rule.column in self.ordered,
                nulls=(rule.column in self.nullable, rule.other in self.nullable),
            )
            rules = replace(rules, tables=(*rules.tables, table))
        return replace(rules, determinations=())

    def coarser(self, columns: Sequence[int], cells: Sequence[NDArray[np.int64]]) -> "Rules":
        """The same rules where cells of a column share one: parts, all of the old columns.

        A coarse cell is allowed where any of its cells is. Determinations are left out.

        Args:
            columns: positions of the old columns in the new order, all that a table touches.
            cells: for each, the new cell of every old one, numbered from 0.
        """
        place = {column: position for position, column in enumerate(columns)}
        tables = []
        for table in self._all_tables:
            order = sorted(range(len(table.columns)), key=lambda i: place[table.columns[i]])
            moved = tuple(place[table.columns[axis]] for axis in order)
            tables.append(RuleTable(table.name, moved, table.allowed.transpose(order)))
        parts = (new[self.part_cells[c]] for c, new in zip(columns, cells, strict=True))
        return Rules(
            tuple(int(new.max()) + 1 for new in cells), parts=Parts(tuple(parts), tuple(tables))
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all that says which records are possible."""
        sha = hashlib.sha256(f"{self.shape} {self.determinations}".encode())
        for table in self._all_tables:
            sha.update(f"{table.columns} {table.allowed.shape}".encode())
            sha.update(np.packbits(table.allowed).tobytes())
        for cells in self.part_cells:
            sha.update(np.ascontiguousarray(cells, dtype="<i8").tobytes())
        return sha.hexdigest()

    def compiled(self) -> FlatTables:
        """The tables in flat arrays, for `obeys` in compiled loops. Says nothing of parts."""
        return flatten(self.tables, len(self.shape))

    @cached_property
    def part_cells(self) -> tuple[NDArray[np.int64], ...]:
        """The cell of every part, by column; where there are no parts, cells are their own."""
        if self.parts is not None:
            return self.parts.cells
        return tuple(np.arange(size) for size in self.shape)

    @cached_property
    def _all_tables(self) -> tuple[RuleTable, ...]:
        """All tables on parts."""
        if self.parts is None:
            return self.tables
        cells = self.parts.cells
        expanded = (
            replace(table, allowed=table.allowed[np.ix_(*(cells[c] for c in table.columns))])
            for table in self.tables
        )
        return (*self.parts.tables, *expanded)

    @cached_property
    def _engines(self) -> tuple[Component, ...]:
        """One for every component that a table touches."""
        tables = self._all_tables
        return tuple(
            Component(
                columns,
                tuple(table for table in tables if table.columns[0] in columns),
                tuple(self.part_cells[column] for column in columns),
                tuple(self.shape[column] for column in columns),
                tuple(column in self.ordered for column in columns),
                tuple(column in self.nullable for column in columns),
            )
            for columns in connected(table.columns for table in tables)
        )


def joint_of(codes: Codes, shape: Sequence[int]) -> Joint:
    """Joint counts of the records themselves, as `Rules.settled` asks for them."""

    def joint(pair: tuple[int, int]) -> NDArray[np.float64]:
        size = [shape[column] for column in pair]
        flat = np.ravel_multi_index([codes[:, column] for column in pair], size)
        return np.bincount(flat, minlength=size[0] * size[1]).reshape(size).astype(np.float64)

    return joint
