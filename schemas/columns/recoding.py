"""Public rules that make codes of a release out of other codes: their first characters, or a map.

Claim.   What becomes of a code depends on that code and on the rule alone: no other value of the
         table, and no count, has a part in it. So a table is recoded record by record before
         anything is measured, and the guarantee is that of the recoded table.
Oracle.  tests/tasks/sources/test_recoded_cells.py recodes whole tables as `Recode.of_code` does one
         code.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, RootModel, WithJsonSchema, model_validator

from hallmark.schemas.columns.column_base import CODE
from hallmark.schemas.section import Problem, Section

LONGEST_CODE = 64
"""Characters of a code whose first ones are taken; the longest in use have some thirty."""


class CodeMap(RootModel[dict[str, str]]):
    """A public map from codes to other codes, many to one."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("file"), str):
            raise ValueError(
                "names a file, but not its column that has the new codes; write {file: codes.csv, "
                "column: NAME}"
            )
        if isinstance(given, dict) and not given:
            raise ValueError("is empty; write {OLD: NEW, ...}")
        return given

    @property
    def by_old(self) -> Mapping[str, str]:
        """The new code of every old one."""
        return self.root

    def unknown(self, known: Collection[str]) -> list[str]:
        """The new codes that are none of the known ones, each once."""
        return [code for code in Counter(self.root.values()) if code not in known]

    def unknown_old(self, known: Collection[str]) -> list[str]:
        """The old codes that are none of the known ones."""
        return [code for code in self.root if code not in known]

    def renamed(self, code: str) -> str:
        """What becomes of a code where others keep their names."""
        return self.root.get(code, code)

    def only(self, old: Collection[str]) -> "CodeMap | None":
        """The map of some old codes; None if it has none of them."""
        kept = {code: new for code, new in self.root.items() if code in old}
        return CodeMap(kept) if kept else None

    def __len__(self) -> int:
        """How many codes it covers."""
        return len(self.root)


WrittenMap = Annotated[
    CodeMap,
    WithJsonSchema({"type": "object", "additionalProperties": CODE, "minProperties": 1}),
]
"""A map as a spec has it."""


class Recode(Section):
    """The public rule by which codes of the file become the categories, before anything is checked.

    What it does not cover counts as a code outside the list.
    """

    first: int | None = Field(default=None, ge=1, le=LONGEST_CODE)
    """how many characters from the beginning of a code are kept, leading zeros too: with 2, 01067
    becomes 01; a shorter code is not covered"""
    of: int | None = Field(default=None, ge=1, le=LONGEST_CODE)
    """how many characters every code has, if all have as many; then a code of another length, such
    as 1067 which lost its zero, is not covered"""
    codes: WrittenMap | None = None
    """instead, the category of every code of the file: {OLD: NEW, ...}, or {file: codes.csv,
    column: NAME}; other codes are not covered"""

    @property
    def words(self) -> str:
        """What the rule is, for people."""
        if self.codes is not None:
            new = len(set(self.codes.by_old.values()))
            return f"a public map of {len(self.codes):,} codes to {new:,}"
        if self.of is not None:
            return f"the first {self.first} of {self.of} characters of a code"
        return f"the first {self.first} characters of a code"

    @property
    def old_codes(self) -> Collection[str]:
        """The codes that the rule names; none where it goes by their characters."""
        return () if self.codes is None else self.codes.by_old

    def of_code(self, code: str) -> str | None:
        """What becomes of a code; None if the rule does not cover it."""
        if self.codes is not None:
            return self.codes.by_old.get(code)
        assert self.first is not None, "it was checked that one of the two is given"
        fits = len(code) == self.of if self.of is not None else len(code) >= self.first
        return code[: self.first] if fits else None

    def problems(self, categories: Collection[str], other: str | None) -> Iterator[Problem]:
        """What does not suit the categories.

        Args:
            other: the one that stands for what is not listed.
        """
        if self.codes is not None:
            if unknown := self.codes.unknown(categories):
                others = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
                yield Problem(
                    ("codes",), f"makes {unknown[0]!r}{others}, not among the categories; list them"
                )
            return
        odd = [code for code in categories if len(code) != self.first and code != other]
        if odd:
            yield Problem(
                ("first",),
                f"is {self.first}, but the category {odd[0]!r} has {len(odd[0])} characters, so no "
                "code becomes it; list the first characters as they are, with leading zeros",
            )

    def _problems(self) -> Iterator[Problem]:
        if (self.first is None) == (self.codes is None):
            yield Problem((), "says nothing, or two things; give exactly one of first and codes")
        elif self.of is not None and self.first is None:
            yield Problem(("of",), "goes with first alone; remove it")
        elif self.of is not None and self.first is not None and self.of <= self.first:
            yield Problem(
                ("of",),
                f"is {self.of}, of which {self.first} are kept, so no code becomes another; "
                "give the length of the file's codes, or remove it",
            )
