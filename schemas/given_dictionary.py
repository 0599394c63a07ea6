"""What a data dictionary that somebody has says of columns, before a spec says it.

A dictionary may be JSON (`from_json`), sheets, or a DDI codebook (`tasks.dictionaries`). All of
them end in a `GivenDictionary`, from which `skeleton` fills in a spec. What a dictionary leaves
open stays open: nothing is made up here, and nothing comes from a private table.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from hallmark.schemas.exact import read_exact
from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.yaml_document import LARGEST, MOST_VALUES

GivenType = Literal["", "numeric", "nominal", "ordinal", "boolean", "date"]

TRUE, FALSE = ("yes", "true", "ja", "oui", "sí", "si"), ("no", "false", "nein", "non")
"""Labels, in small letters, of the two values of a boolean column."""

MOST_COLUMNS = 10_000
"""Columns of a table or a dictionary that a spec is begun for."""


class DictionaryError(ValueError):
    """A file that is no data dictionary; the message says where, and how to fix it."""


@dataclass(frozen=True, kw_only=True)
class GivenColumn:
    """What a dictionary says of a column; what it leaves open is None or empty.

    Attributes:
        type: of the column in a spec; empty if the dictionary does not tell.
        minimum, maximum: as the dictionary writes them.
        codes: of values, with their labels.
        missing: codes of missing values.
        nullable: whether values may be missing.
        where: the place in the dictionary, to be named as the source.
    """

    description: str = ""
    type: GivenType = ""
    integer: bool | None = None
    minimum: str = ""
    maximum: str = ""
    unit: str = ""
    codes: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()
    nullable: bool | None = None
    where: str = ""

    @property
    def facts(self) -> tuple[str, ...]:
        """What the dictionary tells, in the words of a spec."""
        told = {
            "description": self.description,
            "type": self.type,
            "unit": self.unit,
            "whole numbers or not": self.integer is not None,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "codes": self.codes,
            "missing values": self.missing,
        }
        return tuple(fact for fact, found in told.items() if found)


@dataclass(frozen=True, kw_only=True)
class GivenDictionary:
    """A dictionary of columns, in its order.

    Attributes:
        file: its name.
        missing: codes of missing values in all columns.
    """

    file: str
    columns: Mapping[str, GivenColumn]
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        values = sum(1 + len(one.codes) + len(one.missing) for one in self.columns.values())
        if len(self.columns) > MOST_COLUMNS or values > MOST_VALUES:
            raise DictionaryError(
                f"{self.file}: lists more than {MOST_COLUMNS:,} columns or {MOST_VALUES:,} values, "
                "which no spec can hold; give the dictionary of those that are to be released"
            )

    def of(self, name: str) -> GivenColumn | None:
        """What is said of a column, whose name may be written in other capitals; None if nothing,
        or if two names are the same but for capitals."""
        alike = self._in_small_letters.get(name.casefold(), [])
        return self.columns.get(name) or (self.columns[alike[0]] if len(alike) == 1 else None)

    @cached_property
    def _in_small_letters(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.columns:
            found.setdefault(name.casefold(), []).append(name)
        return found


def from_json(path: Path) -> GivenDictionary:
    """The dictionary in a JSON file, `{column: {"description": text, "values": {code: label}}}`.

    For numeric columns `values` holds "min" and "max"; a code whose label starts with "N/A" stands
    for a missing value, in all columns.

    Raises:
        DictionaryError: the file is no such dictionary.
    """
    try:
        content = json.loads(bytes_of(path, LARGEST).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        raise DictionaryError(f"{path}: cannot be read as JSON; give a data dictionary") from None
    if not isinstance(content, dict) or not all(
        isinstance(entry, dict) and isinstance(entry.get("values", {}), dict)
        for entry in content.values()
    ):
        raise DictionaryError(
            f"{path}: is not a data dictionary; write {{column: "
            '{"description": text, "values": {code: label}}}'
        )
    missing: dict[str, None] = {}
    columns = {}
    for name, entry in content.items():
        values = entry.get("values", {})
        nulls = [code for code, label in values.items() if str(label).startswith("N/A")]
        missing.update(dict.fromkeys(nulls))
        rest = {code: label for code, label in values.items() if code not in nulls}
        columns[name] = _from_entry(entry, rest, bool(nulls), path.name)
    return GivenDictionary(file=path.name, columns=columns, missing=tuple(missing))


def _from_entry(
    entry: Mapping[str, Any], values: Mapping[str, Any], nulls: bool, file: str
) -> GivenColumn:
    description = str(entry.get("description", ""))
    where = " ".join(
        [f"data dictionary {file}", *([str(entry["link"])] if "link" in entry else [])]
    )
    if not values:
        return GivenColumn(description=description, where=where)
    codes = {code: str(label) for code, label in values.items() if code not in ("min", "max")}
    shared: dict[str, Any] = {"description": description, "nullable": nulls, "where": where}
    if len(codes) == len(values):
        return GivenColumn(type="nominal", codes=codes, **shared)
    if not all(is_number(values.get(key)) for key in ("min", "max")):
        raise DictionaryError('a "min" or "max" in the dictionary is not a number; give both')
    low, high = str(values["min"]), str(values["max"])
    return GivenColumn(type="numeric", minimum=low, maximum=high, codes=codes, **shared)


def is_number(value: Any) -> bool:
    """Whether a value, or the text of one, is a number as specs write it."""
    try:
        read_exact(value.strip() if isinstance(value, str) else value)
    except ValueError:
        return False
    return True
