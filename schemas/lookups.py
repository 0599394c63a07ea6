"""Columns that nobody measures: public functions of a measured column, such as the density of an
area.

A lookup takes no cells and no budget. Its values are filled in after the records are made, from the
spec alone. Files of a release hold it beside the measured columns, so it can be seen as a column
with a public domain (`Lookup.column`); the domain of the mechanisms never has it.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema

from hallmark.schemas.columns.category_columns import few
from hallmark.schemas.columns.column_base import CODE
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    NominalColumn,
    NumericColumn,
    OrdinalColumn,
    PlacesColumn,
)
from hallmark.schemas.exact import MOST_DECIMALS
from hallmark.schemas.section import Section

CodedColumn: TypeAlias = NominalColumn | OrdinalColumn | BooleanColumn | PlacesColumn

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)  # 007 is a code
_MOST_DIGITS = 15  # that every float keeps; a longer number is a code


def _read_values(values: Any) -> Any:
    if isinstance(values, dict) and isinstance(values.get("file"), str):
        raise ValueError(
            "names a file, but not its column that has the values; write {file: codes.csv, "
            "column: NAME}"
        )
    return values


Values = Annotated[
    dict[str, str],
    BeforeValidator(_read_values),
    WithJsonSchema({"type": "object", "additionalProperties": CODE, "minProperties": 1}),
]
"""A value for every code, both as they are written."""


class Lookup(Section):
    """A column that is not measured: its values are looked up from those of a measured column."""

    of: str
    """the measured column that it is a public function of: nominal, ordinal, places or boolean"""
    values: Values = Field(min_length=1)
    """the public value of every code of that column: {CODE: value, ...}, or {file: codes.csv,
    column: NAME}; they are published as written, numbers as numbers if all of them are numbers"""
    reference: str = Field(min_length=1)
    """where the values are published, so that a reviewer can check that they are public"""
    description: str = ""
    """what the column holds, in words"""
    unit: str = ""
    """the unit of the values, if they are numbers"""

    def problems(self, of: Column) -> Iterator[tuple[str, str]]:
        """Keys that do not suit the column `of`, each with what is wrong and its fix."""
        if not isinstance(of, CodedColumn):
            yield (
                "of",
                f"is {self.of}, which is {of.type}; name a column with a list of codes (nominal, "
                "ordinal, places or boolean)",
            )
            return
        if lacking := [code for code in of.codes if code not in self.values]:
            yield "values", f"lack {few(lacking)} of {self.of}; give every code a value"
        for code, value in self.values.items():
            if not value or value != value.strip() or not value.isprintable():
                yield (
                    "values",
                    f"have no plain text for {code!r}; write one without spaces around it",
                )
                return
        if self.unit and not lacking and not _are_numbers(self._texts(of)):
            yield "unit", "is for numbers, but not all values are numbers; remove it"

    def column(self, of: CodedColumn) -> NumericColumn | NominalColumn:
        """The column as files of the release hold it: numbers in the interval that holds them, with
        as many decimals as the longest, or else the different texts; of the codes of `of` alone."""
        texts = self._texts(of)
        shared: dict[str, Any] = {
            "description": self.description,
            "nulls": of.nulls,
            "outside": "refuse",
            "bound_source": {"kind": "public", "reference": self.reference},
        }
        if not _are_numbers(texts):
            return NominalColumn(
                type="nominal", categories={text: text for text in texts}, **shared
            )
        numbers = [Fraction(text) for text in texts]
        decimals = max(len(text.partition(".")[2]) for text in texts)
        step = Fraction(1, 10**decimals)
        return NumericColumn(
            type="numeric",
            unit=self.unit,
            integer=decimals == 0,
            step=step if 0 < decimals <= MOST_DECIMALS else None,
            minimum=min(numbers),
            maximum=max(*numbers, min(numbers) + step),
            cells=1,
            **shared,
        )

    def holds(self, text: str) -> bool:
        """Whether the text is one of the values, or the same number as one."""
        number = Fraction(text) if _NUMBER.fullmatch(text) else None
        return any(
            value == text
            or (number is not None and _NUMBER.fullmatch(value) and Fraction(value) == number)
            for value in self.values.values()
        )

    def _texts(self, of: CodedColumn) -> list[str]:
        return [self.values[code] for code in of.codes]


def as_columns(
    lookups: Mapping[str, Lookup], columns: Mapping[str, Column]
) -> dict[str, NumericColumn | NominalColumn]:
    """The lookups that suit these columns, each as files of the release hold it."""
    return {
        name: lookup.column(of)
        for name, lookup in lookups.items()
        if isinstance(of := columns.get(lookup.of), CodedColumn) and not list(lookup.problems(of))
    }


def _are_numbers(texts: list[str]) -> bool:
    return all(
        _NUMBER.fullmatch(text) and sum(map(str.isdigit, text)) <= _MOST_DIGITS for text in texts
    )
