"""What columns of every type have: a description, a rule for nulls, and where bounds came from."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator

from schemas.grids import MAX_CELLS
from schemas.section import Problem, Section, refuse

CODE: dict[str, Any] = {"type": ["string", "number", "boolean"]}

Code = Annotated[str, WithJsonSchema(CODE)]
"""A text as the file writes it, which YAML lets a person write without quotes."""


class BoundSource(Section):
    """Where the bounds or categories of a column came from; a reviewer must know."""

    kind: Literal["law", "public", "private_estimate"]
    """law or public where the bound is known without the data, private_estimate where it was read
    off the private data (the release then says so, and somebody must have accepted it)"""
    reference: str = Field(min_length=1)
    """the law, publication or codebook, so that a reader can find it"""
    accepted_by: str | None = Field(default=None, min_length=1)
    """who accepts that a bound estimated from the private data voids the guarantee"""

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse(type(self), self._problems())
        return self

    def _problems(self) -> Iterator[Problem]:
        if self.kind == "private_estimate" and self.accepted_by is None:
            yield Problem(
                ("accepted_by",),
                "is missing; a bound estimated from the private data without a charge voids the "
                "guarantee, so give a bound from a law or a public source, or name who accepts it",
            )
        if self.kind != "private_estimate" and self.accepted_by is not None:
            yield Problem(
                ("accepted_by",),
                f"goes with kind: private_estimate only, but the kind is {self.kind}; remove it",
            )


class BaseColumn(Section):
    """What columns of every type have."""

    description: str = ""
    """what the column holds, for people"""
    nulls: bool = False
    """whether a value may be missing; where not, a missing value stops the run"""
    null_markers: tuple[Code, ...] | None = None
    """texts that stand for a missing value in this column, such as [-9], in place of those of the
    file"""

    def markers(self, of_the_file: tuple[str, ...]) -> tuple[str, ...]:
        """Texts that stand for a missing value in this column of a file with these markers."""
        return of_the_file if self.null_markers is None else self.null_markers

    @property
    def levels(self) -> int:
        """Number of cells that hold values; the null cell comes on top."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse(type(self), self._problems())
        return self

    def _problems(self) -> Iterator[Problem]:
        raise NotImplementedError

    def _too_many_cells(self, path: tuple[str, ...]) -> Iterator[Problem]:
        if self.levels + self.nulls > MAX_CELLS:
            yield Problem(
                path,
                f"makes {self.levels + self.nulls} cells, but a column has at most {MAX_CELLS}; "
                "use fewer and wider cells",
            )
