"""Columns on a public interval with a grid of cells: numbers and days."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainValidator, WithJsonSchema

from hallmark.schemas.columns.column_base import BaseColumn, BoundSource
from hallmark.schemas.columns.grids import (
    MAX_CELLS,
    MOST_VALUES,
    Division,
    Edges,
    divided,
    divided_days,
    kinds_of_pieces,
)
from hallmark.schemas.columns.number_marks import DECIMAL_MARKS, PLAIN, THOUSANDS, NumberMarks
from hallmark.schemas.exact import (
    MOST_DECIMALS,
    Day,
    Exact,
    decimal,
    decimals,
    read_date,
    read_exact,
    shown,
)
from hallmark.schemas.section import Path, Problem

EPOCH = date(1970, 1, 1)
_MOST_PIECES = 2**18
_PIECES_BESIDE_VALUES = 16  # of a cell


def _read_detail(value: Any) -> Literal["values"] | int:
    text = str(value) if isinstance(value, int | str) else ""
    if text == "values":
        return "values"
    if not text.isdecimal() or len(text) > 4 or not 2 <= int(text) <= MAX_CELLS:
        raise ValueError(
            f"must be values, or a whole number from 2 to {MAX_CELLS}, not {shown(value)}"
        )
    return int(text)


Detail = Annotated[
    Literal["values"] | int,
    PlainValidator(_read_detail),
    WithJsonSchema(
        {"anyOf": [{"const": "values"}, {"type": "integer", "minimum": 2, "maximum": MAX_CELLS}]}
    ),
]
"""Pieces of a cell, or all values."""


class IntervalColumn(BaseColumn):
    """The keys and cells shared by numbers and days, which count from 1970-01-01."""

    detail: Detail | None = None
    """the most pieces that each cell is divided into, at round numbers, to measure the column once
    by itself, so that released values have its spikes and tails; 16 is a good number (defaults to
    no pieces: values are drawn evenly from the cells); values means 16 pieces, and every single
    value once, so that released values have those that stand out of the noise"""

    @property
    def _division(self) -> Division:
        """How the interval is divided; it ends one past the maximum if values are whole."""
        raise NotImplementedError

    @property
    def grid(self) -> Fraction | None:
        """The number that all released values are multiples of; None for real numbers."""
        raise NotImplementedError

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers or days."""
        raise NotImplementedError

    def number(self, text: str) -> Fraction:
        """The number that a text such as 0.5 or 1999-12-31 spells.

        Raises:
            ValueError: the text does not spell a value of the column.
        """
        raise NotImplementedError

    def written(self, number: Fraction) -> str:
        """The number as people write it: the converse of `number`."""
        raise NotImplementedError

    def holds(self, text: str) -> bool:
        """Whether the text, as the file writes values, lies in the interval."""
        raise NotImplementedError

    def _divided(self, most: int) -> Edges:
        """The edges with those of at most `most` pieces of every cell."""
        raise NotImplementedError

    @property
    def ends(self) -> tuple[str, str]:
        """The public interval for people, such as "0" and "0.5"."""
        division = self._division
        return self.written(division.start), self.written(division.stop - self.is_whole)

    @cached_property
    def shared_edges(self) -> Edges:
        """Edges of the cells in which the column is measured with others."""
        return self._division.edges(self.grid)

    @cached_property
    def exact_edges(self) -> Edges:
        """Edges of the column's own cells: the pieces, or all values, where there is detail."""
        match self.detail:
            case None:
                return self.shared_edges
            case "values":
                return self._divided(MOST_VALUES)
            case most:
                return self._divided(most)

    @cached_property
    def _piece_edges(self) -> Edges:
        """Edges of the pieces, which own cells are or lie within."""
        if self.detail == "values":
            return self._divided(_PIECES_BESIDE_VALUES)
        return self.exact_edges

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the column's own cells as numbers, shape (levels + 1,), ascending."""
        return np.array([float(edge) for edge in self.exact_edges])

    @property
    def levels(self) -> int:
        return self._division.size if self.detail is None else len(self.exact_edges) - 1

    @cached_property
    def groups_of_cells(self) -> tuple[tuple[int, ...], ...]:
        if self.levels == self._division.size:
            return ()
        return (self._places(self.shared_edges),)

    @cached_property
    def pieces_of_cells(self) -> tuple[int, ...]:
        if len(self._piece_edges) == len(self.exact_edges):
            return ()
        return self._places(self._piece_edges)

    def _places(self, edges: Edges) -> tuple[int, ...]:
        """Where every own cell lies between coarser edges."""
        coarse = np.array([float(edge) for edge in edges])
        places = np.searchsorted(coarse, self.edges[:-1], side="right") - 1
        return tuple(int(place) for place in places)

    def in_pieces(self) -> Self:
        if self.detail != "values":
            return self
        return self._with_detail(_PIECES_BESIDE_VALUES)

    def without_detail(self) -> Self:
        """The column on the cells in which it is measured with others."""
        return self if self.detail is None else self._with_detail(None)

    def _with_detail(self, detail: int | None) -> Self:
        given = self.model_dump(by_alias=True, exclude_none=True, exclude={"detail"})
        return type(self).model_validate(given | ({} if detail is None else {"detail": detail}))

    @property
    def kinds_of_cells(self) -> tuple[int, ...]:
        return kinds_of_pieces(self.shared_edges, self._piece_edges, grid=self.grid)

    def _too_many_cells_or_pieces(self, path: tuple[str, ...]) -> Iterator[Problem]:
        cells = self._division.size
        if self.detail is None:
            yield from self._too_many_cells(path)
        elif self.detail == "values":
            yield from self._uncountable_values()
        elif cells * self.detail > _MOST_PIECES:  # too many to be looked at
            yield Problem(
                ("detail",),
                f"divides {cells} cells in up to {self.detail} pieces, but a column has at most "
                f"{MAX_CELLS}; use fewer cells or less detail",
            )
        else:
            yield from self._too_many_cells(("detail",))

    def _uncountable_values(self) -> Iterator[Problem]:
        """Values that are not multiples of anything, or too many, as they or their pieces are."""
        if self.grid is None:
            yield Problem(
                ("detail",),
                "is values, but there is no end of real numbers; say integer: true or give a step, "
                "or give a number of pieces",
            )
            return
        number = (self._division.stop - self._division.start) // self.grid
        if number > MOST_VALUES:
            yield Problem(
                ("detail",),
                f"is values, of which there are {number:,}, but at most {MOST_VALUES:,} are "
                "counted one by one; give a number of pieces, or a coarser step",
            )
        elif (pieces := len(self._piece_edges) - 1 + self.nulls) > MAX_CELLS:
            yield Problem(
                ("detail",),
                f"is values, in {pieces} pieces of {_PIECES_BESIDE_VALUES} a cell, but a column "
                f"has at most {MAX_CELLS}; use fewer cells",
            )


class NumericColumn(IntervalColumn):
    """Numbers on a public interval, divided into cells."""

    type: Literal["numeric"]
    unit: str = ""
    """the unit of the values, such as years or dollars"""
    integer: bool = False
    """whether all values are whole numbers"""
    step: Exact | None = None
    """the step between released values, such as 0.01 for cents: they are multiples of it, with as
    many decimals as it has; private values between two multiples count in the cell they lie in"""
    decimal_mark: Annotated[str, WithJsonSchema({"enum": list(DECIMAL_MARKS)})] | None = None
    """the decimal mark in a CSV file, . or , (defaults to the point)"""
    thousands: Annotated[str, WithJsonSchema({"enum": list(THOUSANDS)})] | None = None
    """the thousands separator in a CSV file, such as " " or . (defaults to none)"""
    minimum: Exact
    """the smallest possible value, known without looking at the data (without a bound the spec is
    refused; it never means "no noise")"""
    maximum: Exact
    """the largest possible value, known without looking at the data (without a bound the spec is
    refused; it never means "no noise")"""
    cells: int | None = Field(default=None, ge=1)
    """the number of cells, all of equal width"""
    cell_width: Exact | None = None
    """the width of a cell in the column's unit; the last cell may be narrower"""
    given_edges: tuple[Exact, ...] | None = Field(default=None, alias="edges")
    """the edges of the cells in ascending order, from minimum to maximum; a cell includes its lower
    edge, the last cell both edges (for whole numbers the last edge may be maximum + 1 instead, as
    in [0, 1, 2] for the cells 0 and 1)"""
    outside: Literal["refuse", "clamp"]
    """what happens to a value outside the interval: refuse stops the run, clamp moves it to the
    nearer bound"""
    bound_source: BoundSource
    """the source of minimum and maximum, such as {kind: public, reference: the codebook}"""

    @property
    def grid(self) -> Fraction | None:
        return Fraction(1) if self.integer else self.step

    @property
    def is_whole(self) -> bool:
        return self.integer

    @property
    def decimals(self) -> int | None:
        """The number of decimals of written values; None if it varies."""
        return None if self.grid is None else decimals(self.grid)

    @property
    def marks(self) -> NumberMarks:
        """The decimal mark and thousands separator in a CSV file."""
        return NumberMarks(self.decimal_mark or PLAIN.decimal, self.thousands or PLAIN.thousands)

    def number(self, text: str) -> Fraction:
        return read_exact(text)

    def written(self, number: Fraction) -> str:
        return decimal(number)

    def holds(self, text: str) -> bool:
        plain = self.marks.plain(text)
        try:
            return self.minimum <= read_exact(text if plain is None else plain) <= self.maximum
        except ValueError:
            return False

    @property
    def _division(self) -> Division:
        return Division(
            start=self.minimum,
            stop=self._stop,
            cells=self.cells,
            width=self.cell_width,
            given=self.given_edges,
        )

    def _divided(self, most: int) -> Edges:
        return divided(self.shared_edges, most, grid=self.grid)

    @property
    def _stop(self) -> Fraction:
        return self.maximum + 1 if self.integer else self.maximum

    def _problems(self) -> Iterator[Problem]:
        yield from self._mark_problems()
        if self.minimum >= self.maximum:
            yield Problem(
                ("maximum",),
                f"is {self.maximum}, which is not above the minimum {self.minimum}; "
                "give minimum < maximum",
            )
            return
        off_grid = list(self._grid_problems())
        yield from off_grid
        given = [
            key
            for key, value in (
                ("cells", self.cells),
                ("cell_width", self.cell_width),
                ("edges", self.given_edges),
            )
            if value is not None
        ]
        if len(given) != 1:
            found = " and ".join(given) + " are given" if given else "the interval has no cells"
            yield Problem((), f"{found}; divide it by exactly one of cells, cell_width and edges")
            return
        problems = [*self._width_problems(), *self._edge_problems()]
        yield from problems
        if not problems and not off_grid:
            yield from self._too_many_cells_or_pieces((given[0],))

    def _mark_problems(self) -> Iterator[Problem]:
        if self.decimal_mark is not None and self.decimal_mark not in DECIMAL_MARKS:
            yield Problem(("decimal_mark",), f"is {self.decimal_mark!r}; give . or ,")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            yield Problem(
                ("thousands",),
                f"is {self.thousands!r}; give one of . , ' ’ _ or a space in quotes, or leave it "
                "out if thousands are not separated",
            )
        elif self.thousands == self.marks.decimal:
            yield Problem(
                ("thousands",),
                f"is {self.thousands!r}, and so is the decimal mark, so 1{self.thousands}234 is "
                "ambiguous; change decimal_mark, or remove thousands",
            )

    def _grid_problems(self) -> Iterator[Problem]:
        """Numbers of the spec that are not whole, or not multiples of the step."""
        step, grid = self.step, self.grid
        if self.integer and step is not None:
            yield Problem(
                ("step",), "is always 1 if the column is integer: true; remove one of the two"
            )
        elif step is not None and (step <= 0 or decimals(step) is None):
            yield Problem(
                ("step",),
                f"is {decimal(step)}; give a number above 0 with at most {MOST_DECIMALS} decimals, "
                "such as 0.01",
            )
        elif grid is not None:
            given: dict[Path, Fraction | None] = {
                ("minimum",): self.minimum,
                ("maximum",): self.maximum,
                ("cell_width",): self.cell_width,
                **{("edges", i): edge for i, edge in enumerate(self.given_edges or ())},
            }
            unsuited = (
                "but the column is integer: true; give a whole number, or remove integer"
                if self.integer
                else f"which is not a multiple of the step {decimal(grid)}; give a multiple, or a "
                "finer step"
            )
            for path, number in given.items():
                if number is not None and number % grid != 0:
                    yield Problem(path, f"is {decimal(number)}, {unsuited}")
            most = (self._stop - self.minimum) // grid
            if self.cells is not None and self.cells > most:
                values = "whole numbers" if self.integer else f"steps of {decimal(grid)}"
                yield Problem(
                    ("cells",),
                    f"is {self.cells}, but there are only {most} {values} from "
                    f"{decimal(self.minimum)} to {decimal(self.maximum)}; give at most {most}",
                )

    def _width_problems(self) -> Iterator[Problem]:
        if self.cell_width is not None and self.cell_width <= 0:
            yield Problem(("cell_width",), f"is {decimal(self.cell_width)}; give a width above 0")

    def _edge_problems(self) -> Iterator[Problem]:
        edges = self.given_edges
        if edges is None:
            return
        if len(edges) < 2:
            yield Problem(("edges",), "needs at least two edges")
            return
        for i, (low, high) in enumerate(pairwise(edges), start=1):
            if low >= high:
                yield Problem(
                    ("edges", i),
                    f"is {decimal(high)} after {decimal(low)}; list edges in ascending order",
                )
        if edges[0] != self.minimum:
            yield Problem(
                ("edges", 0),
                f"is {decimal(edges[0])}, but the minimum is {decimal(self.minimum)}; "
                "edges run from minimum to maximum",
            )
        if edges[-1] not in (self.maximum, self._stop):
            yield Problem(
                ("edges", len(edges) - 1),
                f"is {decimal(edges[-1])}, but the maximum is {decimal(self.maximum)}; "
                "edges run from minimum to maximum",
            )


class DateColumn(IntervalColumn):
    """Days in a public interval, divided into cells."""

    type: Literal["date"]
    minimum: Day
    """the earliest possible day, known without looking at the data (without a bound the spec is
    refused; it never means "no noise")"""
    maximum: Day
    """the latest possible day, known without looking at the data (without a bound the spec is
    refused; it never means "no noise")"""
    cells: int | None = Field(default=None, ge=1)
    """the number of cells; their lengths differ by at most one day"""
    cell_days: int | None = Field(default=None, ge=1)
    """the length of a cell in days; the last cell may be shorter"""
    format: str = "%Y-%m-%d"
    """how days are written in the file, in strftime codes"""
    outside: Literal["refuse", "clamp"]
    """what happens to a day outside the interval: refuse stops the run, clamp moves it to the
    nearer bound"""
    bound_source: BoundSource
    """the source of minimum and maximum, such as {kind: law, reference: the act}"""

    @property
    def unit(self) -> str:
        return "days"

    @property
    def grid(self) -> Fraction:
        return Fraction(1)

    @property
    def is_whole(self) -> bool:
        return True

    def number(self, text: str) -> Fraction:
        return Fraction((read_date(text) - EPOCH).days)

    def written(self, number: Fraction) -> str:
        return (EPOCH + timedelta(days=int(number))).isoformat()

    @property
    def _division(self) -> Division:
        return Division(
            start=Fraction((self.minimum - EPOCH).days),
            stop=Fraction((self.maximum - EPOCH).days + 1),
            cells=self.cells,
            width=None if self.cell_days is None else Fraction(self.cell_days),
        )

    def holds(self, text: str) -> bool:
        try:
            return self.minimum <= datetime.strptime(text, self.format).date() <= self.maximum
        except ValueError:
            return False

    def _divided(self, most: int) -> Edges:
        return divided_days(self.shared_edges, most, EPOCH)

    @property
    def _days(self) -> int:
        return (self.maximum - self.minimum).days + 1

    def _problems(self) -> Iterator[Problem]:
        if self.minimum >= self.maximum:
            yield Problem(
                ("maximum",),
                f"is {self.maximum}, which is not after the minimum {self.minimum}; "
                "give minimum < maximum",
            )
            return
        if not _reads_back(self.format, (self.minimum, self.maximum)):
            yield Problem(
                ("format",),
                f"{self.format!r} does not give year, month and day; "
                "write it in strftime codes, such as %Y-%m-%d or %d/%m/%Y",
            )
        if (self.cells is None) == (self.cell_days is None):
            found = (
                "the interval has no cells"
                if self.cells is None
                else "cells and cell_days are given"
            )
            yield Problem((), f"{found}; divide it by exactly one of cells and cell_days")
        elif self.cells is not None and self.cells > self._days:
            yield Problem(
                ("cells",),
                f"is {self.cells}, but there are only {self._days} days from {self.minimum} to "
                f"{self.maximum}; give at most {self._days}",
            )
        else:
            yield from self._too_many_cells_or_pieces(
                ("cell_days" if self.cells is None else "cells",)
            )


def gives_days(form: str) -> bool:
    """Whether a format in strftime codes says year, month and day of any date."""
    return _reads_back(form, (date(1931, 1, 2), date(2019, 12, 31)))


def _reads_back(form: str, days: tuple[date, ...]) -> bool:
    probes = (*days, days[0] + timedelta(days=1))
    try:
        return all(datetime.strptime(d.strftime(form), form).date() == d for d in probes)
    except ValueError:
        return False
