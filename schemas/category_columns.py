"""Columns with a public list of categories: nominal, ordinal and boolean."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from schemas.column_base import CODE, BaseColumn, BoundSource, Code
from schemas.section import Problem


def _read_categories(value: Any) -> Any:
    """Codes with labels: a mapping as it stands, or a list of codes that label themselves."""
    if not isinstance(value, list | tuple):
        return value
    if None in value:
        raise ValueError(
            'has an entry without a value; write the code null as "null" in quotes, and for '
            "missing values say nulls: true instead"
        )
    if not all(isinstance(code, str) for code in value):
        raise ValueError("must hold texts only; to label a code, write a mapping {code: label}")
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
"""Codes exactly as the file writes them (01 stays 01), each with a label for people."""


class CategoryColumn(BaseColumn):
    """What columns of categories have; `schemas.columns` holds the types that a spec may name."""

    categories: Categories = Field(min_length=1)
    """the public list of codes exactly as in the file, a mapping {code: label}, or {file:
    codes.csv}, whose columns are code and, for people, label"""
    other: Code | None = None
    """the category that takes what is outside the list, under outside: catch_all"""
    outside: Literal["refuse", "catch_all"]
    """what happens to a code outside the list: refuse stops the run, catch_all counts it as the
    category named by other"""
    bound_source: BoundSource
    """where the list of categories came from, such as {kind: public, reference: the codebook}"""

    @property
    def codes(self) -> tuple[str, ...]:
        """The categories as the file writes them, in the order of their cells."""
        return tuple(self.categories)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the categories mean, in the same order."""
        return tuple(self.categories.values())

    @property
    def levels(self) -> int:
        return len(self.categories)

    def _problems(self) -> Iterator[Problem]:
        yield from _catch_all_problems(self.outside, self.other is not None)
        if self.other is not None and self.other not in self.categories:
            yield Problem(("other",), f"is {self.other!r}, which is none of the categories; add it")
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
    """what every text in the file means, such as {"1": true, "0": false}; of several texts for
    one value, the release writes the first"""
    other: bool | None = None
    """the value that takes what is outside the list, under outside: catch_all"""
    outside: Literal["refuse", "catch_all"]
    """what happens to a text outside the list: refuse stops the run, catch_all counts it as the
    value named by other"""
    bound_source: ClassVar[None] = None  # that there are two values is no bound to be argued for

    @property
    def codes(self) -> tuple[str, str]:
        """How the release writes false and true, in the order of their cells."""
        texts = list(self.values)
        truths = list(self.values.values())
        return texts[truths.index(False)], texts[truths.index(True)]

    @property
    def labels(self) -> tuple[str, str]:
        """What the two cells mean, in the same order."""
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
            ("other",), "is missing; outside: catch_all needs the category that takes the rest"
        )
    if outside == "refuse" and has_other:
        yield Problem(
            ("other",),
            "is never used under outside: refuse; remove it, or say outside: catch_all",
        )


def _listed(codes: list[str]) -> str:
    return ", ".join(repr(code) for code in codes)
