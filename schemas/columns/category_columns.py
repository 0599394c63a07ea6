"""Columns with a public list of categories: nominal, ordinal and boolean."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema

from hallmark.schemas.columns.column_base import CODE, BaseColumn, BoundSource, Code
from hallmark.schemas.columns.recoding import Recode
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

    _fewer: ClassVar[str] = (
        "recode it to fewer: say recode: {first: 2}, or recode: {codes: {file: codes.csv, column: "
        "NAME}} with the group of every code, and list what the codes become; or leave the column "
        "out, under data.ignore"
    )

    recode: Recode | None = None
    """a public rule that makes the categories out of the codes of the file, such as {first: 2}, or
    {codes: {file: codes.csv, column: NAME}}; without one they are the categories themselves"""
    categories: Categories = Field(min_length=1)
    """the public list of codes exactly as in the file (or as recode makes them): a list, a mapping
    {code: label}, or {file: codes.csv} with the columns code and, optionally, label"""
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

    @property
    def unlisted(self) -> str:
        """A text that is none of the categories, for codes that `recode` does not cover."""
        return "?" * (1 + max(map(len, self.categories)))

    @property
    def recoded_by(self) -> str:
        return "" if self.recode is None else self.recode.words

    def as_released(self) -> Self:
        """The column as files of a release have it: with the categories for codes."""
        return self if self.recode is None else self.model_copy(update={"recode": None})

    def _problems(self) -> Iterator[Problem]:
        yield from _catch_all_problems(self.outside, self.other is not None)
        if self.recode is not None:
            for problem in self.recode.problems(self.categories, self.other):
                yield Problem(("recode", *problem.path), problem.what)
        if self.other is not None and self.other not in self.categories:
            yield Problem(
                ("other",), f"is {self.other!r}, which is not one of the categories; add it"
            )
        yield from self._too_many_cells(("categories",))


def _read_groups(value: Any) -> Any:
    """Levels of groups: a list unchanged, or a single level."""
    levels = [value] if isinstance(value, dict) else value
    for level in levels if isinstance(levels, list | tuple) else ():
        if isinstance(level, dict) and isinstance(level.get("file"), str):
            raise ValueError(
                "names a file, but not its column that has the groups; write {file: codes.csv, "
                "column: NAME}"
            )
    return levels


_GROUPS: dict[str, Any] = {  # or a file, with the name of one of its columns
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "array", "items": CODE, "minItems": 1}, {"type": "string"}]
    },
    "minProperties": 1,
}

Groups = Annotated[
    tuple[dict[str, tuple[str, ...]], ...],
    BeforeValidator(_read_groups),
    WithJsonSchema({"anyOf": [_GROUPS, {"type": "array", "items": _GROUPS, "minItems": 1}]}),
]
"""Levels of groups, each a mapping of names to the codes in the group."""


class NominalColumn(CategoryColumn):
    """Categories without an order."""

    type: Literal["nominal"]
    groups: Groups | None = Field(default=None, min_length=1)
    """public groups of the categories, for a column of many: {GROUP: [codes], ...}, {file:
    codes.csv, column: NAME}, or a list of these with one entry per level; the column is measured
    with others in the groups of one level, and once by itself in its categories"""

    @property
    def groups_of_cells(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self._numbers(level) for level in self.groups or ())

    def _numbers(self, level: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
        numbers = {code: i for i, codes in enumerate(level.values()) for code in codes}
        return tuple(numbers[code] for code in self.categories)

    def _problems(self) -> Iterator[Problem]:
        yield from super()._problems()
        for i, level in enumerate(self.groups or ()):
            listed = Counter(code for codes in level.values() for code in codes)
            unknown = [code for code in listed if code not in self.categories]
            missing = [code for code in self.categories if code not in listed]
            repeated = [code for code, times in listed.items() if times > 1]
            if unknown:
                yield Problem(
                    ("groups", i), f"has {few(unknown)}, which is not among the categories"
                )
            if missing:
                yield Problem(("groups", i), f"lacks {few(missing)}; put every category in a group")
            if repeated:
                yield Problem(
                    ("groups", i), f"has {few(repeated)} more than once; keep it in one group"
                )
            if not 1 < len(level) < len(self.categories):
                yield Problem(
                    ("groups", i),
                    f"has {len(level)} groups of {len(self.categories)} categories; give at least "
                    "2, and fewer than there are categories",
                )


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


def few(codes: list[str]) -> str:
    """The first of some codes, and how many more there are."""
    return _listed(codes[:3]) + (f" and {len(codes) - 3} more" if len(codes) > 3 else "")
