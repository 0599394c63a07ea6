"""Columns that are measured in two ways: once on their own cells, and with others on fewer.

The fewer cells are private quantile bins, which a charged measurement chooses, or public ones: the
cells that `detail` divides, or `groups` of categories.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.exact import InsideOne
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.section import Problem, Section

LEAST = 2  # one bin would say nothing about its column
DEFAULT_SHARE, SHARE_WITH_VALUES = Fraction(1, 40), Fraction(1, 20)
"""Of epsilon; the second where single values of a column are counted."""


class Binning(Section):
    """What is spent on columns' own cells, and which columns get privately chosen bins of nearly
    equal record counts."""

    share: InsideOne | None = None
    """share of epsilon set aside to measure columns with bins, detail or groups once on their own
    cells; above 0 and below 1, such as 1/10 (defaults to 1/40, and to 1/20 if a column has detail:
    values)"""
    columns: dict[str, Annotated[int, Field(ge=LEAST)]] = Field(default_factory=dict)
    """the number of bins of each column, such as {INCOME: 24}; only numeric and date columns, whose
    own cells are the public grid that bins are built from (columns with detail or groups have
    public bins, and are not listed here)"""

    def problems(self, columns: Mapping[str, Column], unsound: frozenset[str]) -> Iterator[Problem]:
        """Problems with the bins of these columns; `unsound` names columns with other faults."""
        if not self.columns and not unsound and not two_ways(columns):
            yield Problem(
                ("columns",),
                "is missing, and no column has detail or groups, so nothing is measured by itself; "
                "give a column bins, detail or groups, or remove the section",
            )
        for name, bins in self.columns.items():
            if name in unsound:
                continue
            what = (
                _problem(columns[name], bins)
                if name in columns
                else no_such_column(name, [*columns, *unsound])
            )
            if what:
                yield Problem(("columns", name), what)


def two_ways(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Columns with public bins: those with detail or groups."""
    return tuple(name for name, column in columns.items() if column.groups_of_cells)


def default_share(columns: Mapping[str, Column]) -> Fraction:
    """The share of epsilon for own cells, where the spec does not say."""
    has_values = any(column.pieces_of_cells for column in columns.values())
    return SHARE_WITH_VALUES if has_values else DEFAULT_SHARE


def _problem(column: Column, bins: int) -> str:
    if not isinstance(column, NumericColumn | DateColumn):
        return f"is a {column.type} column; only numeric and date columns have bins"
    if column.detail is not None:
        return "has detail, so its bins are its cells without detail; remove one of the two"
    if bins >= column.levels:
        return (
            f"asks for {bins} bins of {column.levels} cells; ask for fewer bins than cells, or "
            "give the column finer cells"
        )
    return ""
