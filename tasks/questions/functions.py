"""Functions of a record's cell codes: conditions, values in a column's unit, and their products."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.blue import LinearQuery
from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.lookups import CodedColumn, Lookup
from hallmark.schemas.question import QuestionError
from hallmark.schemas.rules.rule_syntax import Determines
from hallmark.schemas.rules.rule_truth import truth
from hallmark.schemas.rules.rules import Rule
from hallmark.tasks.planning.coding import TableCodec, Values
from hallmark.tasks.planning.looked_up import looked_up
from hallmark.tasks.planning.query_tables import representatives

MOST_COMBINATIONS = 2**22  # of codes of the columns that a function depends on


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the codes of some columns.

    Attributes:
        columns: ascending positions; none for a constant.
        values: by these columns' codes.
    """

    columns: Clique
    values: Floats

    def __mul__(self, other: "Function") -> "Function":
        columns = tuple(sorted({*self.columns, *other.columns}))
        one, two = self._over(columns), other._over(columns)
        shape = np.broadcast_shapes(one.shape, two.shape)
        if prod(shape) > MOST_COMBINATIONS:
            raise QuestionError(
                f"the question tells {prod(shape):,} combinations of cells apart, but at most "
                f"{MOST_COMBINATIONS:,} are looked at; ask about fewer columns at once"
            )
        return Function(columns, one * two)

    def __add__(self, other: "Function") -> "Function":
        assert self.columns == other.columns, "only of the same columns"
        return Function(self.columns, self.values + other.values)

    def times(self, factor: float) -> "Function":
        """The function times a number."""
        return Function(self.columns, factor * self.values)

    def on(self, cells: Mapping[int, Counts]) -> "Function":
        """The function of finer cells, or of cells by other codes.

        Args:
            cells: by column, the cell of the function that holds each of the others.
        """
        values = self.values
        for axis, column in enumerate(self.columns):
            if column in cells:
                values = values.take(cells[column], axis=axis)
        return Function(self.columns, values)

    def query(self) -> LinearQuery:
        """The function's sum over all records, as a query."""
        return LinearQuery(self.columns, self.values)

    def of(self, codes: AnyCodes) -> Floats:
        """The function of each record, from codes of shape (records, columns of the table)."""
        if not self.columns:
            return np.full(len(codes), float(self.values))
        return self.values[tuple(codes[:, column] for column in self.columns)]

    def _over(self, columns: Clique) -> Floats:
        missing = tuple(axis for axis, c in enumerate(columns) if c not in self.columns)
        return np.expand_dims(self.values, missing)


ONE = Function((), np.ones(()))


def indicator(rule: Rule, codec: TableCodec, lookups: Mapping[str, Lookup]) -> Function:
    """1 where the condition, bound to the columns, holds for all values of the cells, else 0."""
    assert not isinstance(rule.body, Determines), "it was refused"
    places = {name: codec.names.index(measured(name, lookups)) for name in rule.columns()}
    columns = tuple(sorted(set(places.values())))
    shape = [codec.codecs[column].attribute.cells for column in columns]
    if prod(shape) > MOST_COMBINATIONS:
        raise QuestionError(f"{rule.text!r} is about too many columns at once; use fewer")
    grid = dict(zip(columns, np.indices(shape).reshape(len(shape), -1), strict=True))
    frame = pd.DataFrame(
        {
            name: values_of_cells(codec, name, lookups).take(grid[place]).reset_index(drop=True)
            for name, place in places.items()
        }
    )
    holds = truth(rule.body, frame, rule.orders).true.reshape(shape)
    return Function(columns, holds.astype(np.float64))


def measured(name: str, lookups: Mapping[str, Lookup]) -> str:
    """The column whose cells tell the values of a column: itself, or that it is looked up from."""
    return lookups[name].of if name in lookups else name


def values_of_cells(codec: TableCodec, name: str, lookups: Mapping[str, Lookup]) -> Values:
    """For every cell that tells the values of a column, one that stands for all of them."""
    column = codec.named(measured(name, lookups)).column
    values = representatives(column)
    if name not in lookups:
        return values
    assert isinstance(column, CodedColumn), "the spec is sound"
    as_column = lookups[name].column(column)
    found = looked_up(lookups[name], as_column, values)
    return found.astype("float64" if isinstance(as_column, NumericColumn) else "object")


def cells_between(codec: TableCodec, name: str, first: int, last: int) -> Function:
    """1 for the cells of a column from `first` to `last`, else 0."""
    column = codec.names.index(name)
    values = np.zeros(codec.codecs[column].attribute.cells)
    values[first : last + 1] = 1
    return Function((column,), values)


def known(codec: TableCodec, name: str) -> Function:
    """1 where the column is not null."""
    levels = codec.named(name).attribute.levels
    return cells_between(codec, name, 0, levels - 1)


Place = Literal["least", "middle", "greatest"]
"""Which of the values that a cell may hold stands for all of them."""


def value_of(
    codec: TableCodec, name: str, lookups: Mapping[str, Lookup], place: Place = "middle"
) -> Function:
    """A value of a numeric column for each of its cells; 0 for the null cell."""
    column = codec.names.index(measured(name, lookups))
    if name in lookups:
        return Function((column,), values_of_cells(codec, name, lookups).fillna(0).to_numpy())
    of = codec.codecs[column].column
    assert isinstance(of, NumericColumn), "it was checked"
    least, greatest = ends_of(of)
    values = {"least": least, "middle": _middles(of), "greatest": greatest}[place]
    return Function((column,), np.append(values, 0.0) if of.nulls else values)


def ends_of(column: NumericColumn) -> tuple[Floats, Floats]:
    """The least and the greatest value of every cell, shape (levels,) each."""
    return column.edges[:-1], column.edges[1:] - (1 if column.integer else 0)


def _middles(column: NumericColumn) -> Floats:
    """The mean of the values that a cell releases."""
    least, greatest = ends_of(column)
    if column.integer or column.step is None:
        return (least + greatest) / 2
    inside = greatest - float(column.step)
    inside[-1] = greatest[-1]  # the last cell includes its upper edge
    return (least + inside) / 2


def product(functions: Sequence[Function]) -> Function:
    """The product of all."""
    result = ONE
    for one in functions:
        result = result * one
    return result
