"""The part of the audit record on pairs of columns: how strongly they are associated, and tables.

All of it is computed from the released records, so it is post-processing and costs no budget.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from hallmark.schemas.documents.labels import PublicSection, Shown, Tag

_PAID = Tag.PAID


class Matrix(PublicSection):
    """A number for every pair of columns; symmetric, with 1 on the diagonal.

    Raises:
        ValueError: the matrix is not square.
    """

    columns: Annotated[tuple[str, ...], Shown("Columns")]
    values: Annotated[
        tuple[tuple[Annotated[float, Field(ge=-1, le=1)] | None, ...], ...],
        Shown("Values", _PAID, unit="from -1 to 1", sample="synthetic"),
    ]
    """none if a column does not vary, so that nothing can be associated with it"""

    @model_validator(mode="after")
    def _is_square(self) -> Self:
        side = len(self.columns)
        if len(self.values) != side or any(len(row) != side for row in self.values):
            raise ValueError(f"a matrix of {side} columns needs {side} rows of {side} values")
        return self


class PairTable(PublicSection):
    """The joint distribution of two columns, with cells merged to keep it readable.

    Raises:
        ValueError: there is not one share for every pair of cells.
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
            raise ValueError(f"{' and '.join(self.columns)}: every pair of cells needs one share")
        return self


class Subgroup(PublicSection):
    """One category of a column: its number of rows, and means of other columns in them."""

    group: Annotated[str, Shown("Group")]
    rows: Annotated[int, Field(ge=0), Shown("Rows", _PAID, unit="rows", sample="synthetic")]
    means: Annotated[
        tuple[float | None, ...],
        Shown("Means", _PAID, unit="of the column", sample="synthetic"),
    ]
    """none if no row of the group has a value"""


class Subgroups(PublicSection):
    """A table of the groups of a column, with means of the numeric columns."""

    by: Annotated[str, Shown("Groups of", form="code")]
    columns: Annotated[tuple[str, ...], Shown("Means of")]  # with their units
    groups: Annotated[tuple[Subgroup, ...], Field(min_length=1), Shown("Groups", _PAID)]


class Pairs(PublicSection):
    """Pairs of columns in the released records."""

    association: Annotated[Matrix, Shown("Cramér's V of merged cells", _PAID)]
    correlation: Annotated[Matrix | None, Shown("Correlation of the ordered columns", _PAID)] = None
    tables: Annotated[tuple[PairTable, ...], Shown("Most strongly associated pairs", _PAID)] = ()
    subgroups: Annotated[tuple[Subgroups, ...], Shown("Groups", _PAID)] = ()
