"""Columns of every type: a description, a rule for nulls, and the source of their bounds."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, WithJsonSchema

from hallmark.schemas.columns.grids import MAX_CELLS
from hallmark.schemas.section import Problem, Section

CODE: dict[str, Any] = {"type": ["string", "number", "boolean"]}

Code = Annotated[str, WithJsonSchema(CODE)]
"""A text as in the file, which may be written without quotes in YAML."""


class BoundSource(Section):
    """Where the bounds or categories of a column came from, for the reviewer."""

    kind: Literal["law", "public", "private_estimate"]
    """law or public if the bound is known without the data, private_estimate if it was read off
    the private data (the release then says so, and somebody must have accepted it)"""
    reference: str = Field(min_length=1)
    """the law, publication or codebook, in enough detail for a reader to find it"""
    accepted_by: str | None = Field(default=None, min_length=1)
    """who accepted that a bound estimated from the private data voids the guarantee"""

    def _problems(self) -> Iterator[Problem]:
        if self.kind == "private_estimate" and self.accepted_by is None:
            yield Problem(
                ("accepted_by",),
                "is missing; a bound estimated from the private data without a charge voids the "
                "guarantee, so give a bound from a law or a public source, or say who accepted it",
            )
        if self.kind != "private_estimate" and self.accepted_by is not None:
            yield Problem(
                ("accepted_by",),
                f"goes with kind: private_estimate only, but the kind is {self.kind}; remove it",
            )


class BaseColumn(Section):
    """The keys shared by columns of every type."""

    _fewer: ClassVar[str] = "use fewer and wider cells"

    description: str = ""
    """what the column holds, in words"""
    nulls: bool = False
    """whether a value may be missing; if not, a missing value stops the run"""
    null_markers: tuple[Code, ...] | None = None
    """texts that stand for a missing value in this column, such as [-9], instead of the file's null
    markers"""

    def markers(self, of_the_file: tuple[str, ...]) -> tuple[str, ...]:
        """Texts that stand for a missing value in this column, given the file's null markers."""
        return of_the_file if self.null_markers is None else self.null_markers

    @property
    def levels(self) -> int:
        """Number of cells that hold values, not counting the null cell."""
        raise NotImplementedError

    @property
    def groups_of_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each level of groups, the group of every cell that holds values.

        Empty if the column is measured on its own cells in all tables. Otherwise it is measured by
        itself on these, and with others on the groups of one level.
        """
        return ()

    @property
    def pieces_of_cells(self) -> tuple[int, ...]:
        """The piece of every cell that holds values, if they are counted in pieces, too.

        Pieces lie within groups. Empty if cells are counted by themselves alone.
        """
        return ()

    @property
    def recoded_by(self) -> str:
        """The rule that makes its codes of those in the private table; empty if there is none."""
        return ""

    def as_released(self) -> Self:
        """The column as files of a release have it; itself if the private table has the same."""
        return self

    def in_pieces(self) -> Self:
        """The column with pieces for own cells; itself if there are none."""
        return self

    def without_detail(self) -> Self:
        """The column on the cells in which it is measured with others; itself without detail."""
        return self

    @property
    def kinds_of_cells(self) -> tuple[int, ...]:
        """A number for every cell that holds values (or piece), the same for those that are alike.

        What cells of a kind hold, in proportion to what their group holds, says what others of the
        kind may hold. Without such knowledge all are of one kind.
        """
        return (0,) * self.levels

    def _too_many_cells(self, path: tuple[str, ...]) -> Iterator[Problem]:
        if self.levels + self.nulls > MAX_CELLS:
            yield Problem(
                path,
                f"makes {self.levels + self.nulls} cells, but a column has at most {MAX_CELLS}; "
                f"{self._fewer}",
            )
