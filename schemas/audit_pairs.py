"""The part of the audit record on columns together: how strongly they go together, and tables.

All of it is computed from the released records, so it is post-processing and costs nothing.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from schemas.labels import PublicSection, Shown, Tag

_PAID = Tag.PAID


class Matrix(PublicSection):
    """A number for every two of some columns; symmetric, with 1 on the diagonal.

    Raises:
        ValueError: it is not square.
    """

    columns: Annotated[tuple[str, ...], Shown("Columns")]
    values: Annotated[
        tuple[tuple[Annotated[float, Field(ge=-1, le=1)] | None, ...], ...],
        Shown("Values", _PAID, unit="from -1 to 1", sample="synthetic"),
    ]
    """none where a column does not vary, so that nothing can go with it"""

    @model_validator(mode="after")
    def _is_square(self) -> Self:
        side = len(self.columns)
        if len(self.values) != side or any(len(row) != side for row in self.values):
            raise ValueError(f"a matrix of {side} columns needs as many rows of as many values")
        return self


class PairTable(PublicSection):
    """The joint distribution of two columns, with cells merged so that it can be read.

    Raises:
        ValueError: the shares do not suit the cells.
    """

    columns: Annotated[tuple[str, str], Shown("Columns")]
    down: Annotated[tuple[str, ...], Field(min_length=1), Shown("Cells of the first")]
    across: Annotated[tuple[str, ...], Field(min_length=1), Shown("Cells of the second")]
    shares: Annotated[
        tuple[tuple[float, ...], ...],
        Shown("Shares", _PAID, unit="share of rows", sample="synthetic"),
    ]

    @model_validator(mode="after")
    def _one_share_a_cell(self) -> Self:
        if [len(row) for row in self.shares] != [len(self.across)] * len(self.down):
            raise ValueError(f"{' and '.join(self.columns)}: every two cells need one share")
        return self


class Subgroup(PublicSection):
    """One category of a column: how many rows have it, and means of other columns among them."""

    group: Annotated[str, Shown("Group")]
    rows: Annotated[int, Field(ge=0), Shown("Rows", _PAID, unit="rows", sample="synthetic")]
    means: Annotated[
        tuple[float | None, ...],
        Shown("Means", _PAID, unit="of the column", sample="synthetic"),
    ]
    """none where no row of the group has a value"""


class Subgroups(PublicSection):
    """A table of the groups that a column makes, and of the means of the numeric columns."""

    by: Annotated[str, Shown("Groups of", form="code")]
    columns: Annotated[tuple[str, ...], Shown("Means of")]  # with their units
    groups: Annotated[tuple[Subgroup, ...], Field(min_length=1), Shown("Groups", _PAID)]


class Pairs(PublicSection):
    """Columns together, as the released records have them."""

    association: Annotated[Matrix, Shown("Cramér's V of merged cells", _PAID)]
    correlation: Annotated[Matrix | None, Shown("Correlation of the ordered columns", _PAID)] = None
    tables: Annotated[tuple[PairTable, ...], Shown("Pairs that go together most", _PAID)] = ()
    subgroups: Annotated[tuple[Subgroups, ...], Shown("Groups", _PAID)] = ()
