"""Columns with a public list of categories: nominal, ordinal and boolean."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from hallmark.schemas.columns.column_base import CODE, BaseColumn, BoundSource, Code
from hallmark.schemas.section import Problem


def _read_categories(value: Any) -> Any:
    """Codes with labels: a mapping unchanged, or a list of codes, each its own label."""
    if not isinstance(value, list | tuple):
        return value
    if None in value:
        raise ValueError(
            'has an entry without a value; write the code null as "null" in quotes, and for '
            "missing values write nulls: true instead"
        )
    if not all(isinstance(code, str) for code in value):
        raise ValueError("must hold only texts; to label a code, write a mapping {code: label}")
    repeated = [code for code, times in Counter(value).items() if times > 1]
    if repeated:
        raise ValueError(f"lists {_listed(repeated)} more than once; keep one of each")
    return {code: code for code in value}


Categories = Annotated[
    dict[str, str],
    BeforeValidator(_read_categories),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": CODE, "minItems": 1},
                {"type": "object", "additionalProperties": CODE, "minProperties": 1},
            ]
        }
    ),
]
"""Codes exactly as in the file (01 stays 01), each with a label for people."""


class CategoryColumn(BaseColumn):
    """The keys shared by columns of categories; `columns.columns` lists the types in a spec."""

    categories: Categories = Field(min_length=1)
    """the public list of codes exactly as in the file: a list, a mapping {code: label}, or {file:
    codes.csv} with the columns code and, optionally, label"""
    other: Code | None = None
    """the category that stands for all codes outside the list, if outside is catch_all"""
    outside: Literal["refuse", "catch_all"]
    """what happens to a code outside the list: refuse stops the run, catch_all counts it as the
    category that other names"""
    bound_source: BoundSource
    """the source of the list of categories, such as {kind: public, reference: the codebook}"""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the categories as in the file, in the order of their cells."""
        return tuple(self.categories)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the categories, in the order of their cells."""
        return tuple(self.categories.values())

    @property
    def levels(self) -> int:
        return len(self.categories)

    def _problems(self) -> Iterator[Problem]:
        yield from _catch_all_problems(self.outside, self.other is not None)
        if self.other is not None and self.other not in self.categories:
            yield Problem(
                ("other",), f"is {self.other!r}, which is not one of the categories; add it"
            )
        yield from self._too_many_cells(("categories",))


class NominalColumn(CategoryColumn):
    """Categories without an order."""

    type: Literal["nominal"]


class OrdinalColumn(CategoryColumn):
    """Categories listed in their order."""

    type: Literal["ordinal"]


class BooleanColumn(BaseColumn):
    """Two values, each written in one or more ways."""

    type: Literal["boolean"]
    values: dict[str, bool]
    """the meaning of every text in the file, such as {"1": true, "0": false}; if several texts mean
    the same, the release writes the first"""
    other: bool | None = None
    """the value that stands for all texts outside the list, if outside is catch_all"""
    outside: Literal["refuse", "catch_all"]
    """what happens to a text outside the list: refuse stops the run, catch_all counts it as the
    value that other names"""
    bound_source: ClassVar[None] = None  # that there are two values needs no source

    @property
    def codes(self) -> tuple[str, str]:
        """The texts that the release writes for false and true, in the order of their cells."""
        texts = list(self.values)
        truths = list(self.values.values())
        return texts[truths.index(False)], texts[truths.index(True)]

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the two cells, in order."""
        return "false", "true"

    @property
    def levels(self) -> int:
        return 2

    def _problems(self) -> Iterator[Problem]:
        yield from _catch_all_problems(self.outside, self.other is not None)
        for truth, word in ((True, "true"), (False, "false")):
            if truth not in self.values.values():
                yield Problem(
                    ("values",),
                    f'has no text for {word}; add one, such as {{"1": true, "0": false}}',
                )


def _catch_all_problems(outside: str, has_other: bool) -> Iterator[Problem]:
    if outside == "catch_all" and not has_other:
        yield Problem(
            ("other",), "is missing; outside: catch_all needs a category for everything else"
        )
    if outside == "refuse" and has_other:
        yield Problem(
            ("other",),
            "is never used with outside: refuse; remove it, or write outside: catch_all",
        )


def _listed(codes: list[str]) -> str:
    return ", ".join(repr(code) for code in codes)
