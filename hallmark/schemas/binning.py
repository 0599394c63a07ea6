"""Private quantile bins: columns released on bins that a charged measurement chooses."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated

from pydantic import Field, field_validator

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.exact import Exact
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.section import Problem, Section

LEAST = 2  # one bin would say nothing about its column


class Binning(Section):
    """Columns that the mechanism sees in privately chosen bins of nearly equal record counts."""

    share: Exact
    """share of epsilon set aside to choose the bins, by measuring the columns on their own cells;
    above 0 and below 1, such as 1/20"""
    columns: dict[str, Annotated[int, Field(ge=LEAST)]] = Field(min_length=1)
    """the number of bins of each column, such as {INCOME: 24}; only numeric and date columns, whose
    own cells are the public grid that bins are built from"""

    @field_validator("share")
    @classmethod
    def _check_share(cls, share: Fraction) -> Fraction:
        if not 0 < share < 1:
            raise ValueError(f"is {share}; give a number above 0 and below 1, such as 1/20")
        return share

    def problems(self, columns: Mapping[str, Column], unsound: frozenset[str]) -> Iterator[Problem]:
        """Problems with the bins of these columns; `unsound` names columns with other faults."""
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


def _problem(column: Column, bins: int) -> str:
    if not isinstance(column, NumericColumn | DateColumn):
        return f"is a {column.type} column; only numeric and date columns have bins"
    if bins >= column.levels:
        return (
            f"asks for {bins} bins, which are no fewer than its {column.levels} cells; give the "
            "column finer cells, or ask for fewer bins"
        )
    return ""
