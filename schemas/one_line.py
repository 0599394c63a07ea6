r"""What may stand in a column, as somebody says it in one line of a form about all columns.

    0 to 8                                whole numbers
    0.0 to 1500.0                         numbers, whole or not
    1930-01-01 to 2019-12-31              days
    01 = Leipzig, 02 = Dresden            categories without an order
    low < middle < high                   categories in their order
    yes = true, no = false                texts that mean true or false
    0 to 8 or missing                     and values may be missing

Numbers and days may be written as the file writes them. A line says the type, and what the inputs
of a column's own form say (`spec_answers`); nothing in it comes from the table. Codes stand in
double quotes as in `code_lines`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hallmark.schemas.code_lines import (
    Unclear,
    categories_as_lines,
    categories_in,
    texts_as_lines,
    texts_in,
)
from hallmark.schemas.columns.number_marks import PLAIN, NumberMarks

_MISSING = re.compile(r"(.*\S)\s+or\s+missing", re.DOTALL)
_BETWEEN = re.compile(r"(\S+)\s+to\s+(\S+)")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUTHS = {"true", "false"}
_DAYS = "%Y-%m-%d"
_INPUTS = ("minimum", "maximum", "integer", "categories", "categories.file", "values",
           "values.false", "nulls")  # fmt: skip
"""What a line answers: inputs of a column's form."""


@dataclass(frozen=True)
class Said:
    """What one line says: the type of a column, and what its form's inputs hold.

    Attributes:
        values: how many whole numbers or days there are, which no division into cells exceeds;
            None where there is no such number.
    """

    type: str
    typed: Mapping[str, str]
    values: int | None = None


@dataclass(frozen=True)
class Writing:
    """How the file writes numbers and days, and so whoever describes it."""

    marks: NumberMarks = field(default=PLAIN)
    days: str = _DAYS

    def number(self, text: str) -> str | None:
        """A number with a decimal point; None if it is none."""
        written = self.marks.plain(text)
        return PLAIN.plain(text) if written is None else written

    def day(self, text: str) -> str | None:
        """A day as a spec writes it; None if it is none."""
        for form in (_DAYS, self.days):
            try:
                return f"{datetime.strptime(text, form):%Y-%m-%d}"
            except ValueError:
                continue
        return None


def said_in(line: str, writing: Writing) -> Said:
    """What a line says.

    Raises:
        Unclear: it does not.
    """
    may_be_missing = _MISSING.fullmatch(line.strip())
    what = (may_be_missing[1] if may_be_missing else line).strip()
    said = _interval(what, writing) or _listed(what)
    nothing = dict.fromkeys(_INPUTS, "")
    nulls = {"nulls": "true" if may_be_missing else ""}
    return Said(said.type, {**nothing, **said.typed, **nulls}, said.values)


def line_of(type_: str, shown: Mapping[str, str]) -> str | None:
    """The line that says what a column's form shows; None where no line can.

    Args:
        shown: what its inputs show, by their names; an input that is left out can be said by the
            text of the spec alone.
    """
    line = _line(type_, shown)
    if not line:
        return line
    nulls = shown.get("nulls")
    return None if nulls is None else f"{line} or missing" if nulls == "true" else line


def _line(type_: str, shown: Mapping[str, str]) -> str | None:
    match type_:
        case "":
            return ""
        case "numeric":
            ends = shown.get("minimum"), shown.get("maximum"), shown.get("integer")
            return _between(ends[0], ends[1], is_whole=ends[2] == "true")
        case "date":
            return _between(shown.get("minimum"), shown.get("maximum"), is_whole=True)
        case "nominal" | "ordinal" if not shown.get("categories.file", "a file"):
            return (" < " if type_ == "ordinal" else ", ").join(_codes(shown["categories"]))
        case "boolean" if {"values", "values.false"} <= shown.keys():
            truths = dict.fromkeys(texts_in(shown["values"]), "true")
            falses = dict.fromkeys(texts_in(shown["values.false"]), "false")
            return ", ".join(categories_as_lines(truths | falses).splitlines())
    return None


def _between(low: str | None, high: str | None, *, is_whole: bool) -> str | None:
    if low is None or high is None or bool(low) != bool(high):
        return None
    if not low:
        return ""
    if not is_whole and _WHOLE.fullmatch(low) and _WHOLE.fullmatch(high):
        low, high = f"{low}.0", f"{high}.0"
    elif is_whole and any("/" in end or "." in end for end in (low, high)):
        return None  # which the spec's check refuses
    return f"{low} to {high}"


def _codes(lines: str) -> list[str]:
    """Codes with labels of one line each, so quoted that no mark of a list is in them."""
    found = []
    for code, label in categories_in(lines).items():
        said = code if code == label else f"{_quoted(code)} = {_quoted(label)}"
        found.append(_quoted(code) if code == label else said)
    return found


def _quoted(text: str) -> str:
    plain = texts_as_lines([text])
    if plain == text and not set(',<="') & set(text) and " or missing" not in text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if plain == text else plain


def _interval(what: str, writing: Writing) -> Said | None:
    found = _BETWEEN.fullmatch(what)
    if found is None:
        return None
    numbers = [writing.number(end) for end in found.groups()]
    if all(number is not None for number in numbers):
        low, high = map(str, numbers)
        is_whole = all(_WHOLE.fullmatch(end) for end in (low, high))
        typed = {"minimum": low, "maximum": high, "integer": "true" if is_whole else ""}
        return Said("numeric", typed, int(high) - int(low) + 1 if is_whole else None)
    days = [writing.day(end) for end in found.groups()]
    if all(day is not None for day in days):
        first, last = map(str, days)
        number = (datetime.fromisoformat(last) - datetime.fromisoformat(first)).days + 1
        return Said("date", {"minimum": first, "maximum": last}, number)
    if any(end is not None for end in (*numbers, *days)):
        raise Unclear("give two numbers or two days, such as 0 to 99 or 2000-01-01 to 2009-12-31")
    return None


def _listed(what: str) -> Said:
    by_order, by_comma = _split(what, "<"), _split(what, ",")
    is_ordered = len(by_order) > 1
    if is_ordered and len(by_comma) > 1:
        raise Unclear("write commas between categories without an order, or < in their order")
    categories = categories_in("\n".join(by_order if is_ordered else by_comma))
    if not is_ordered and len(categories) > 1 and set(categories.values()) <= _TRUTHS:
        texts = {truth: [c for c, said in categories.items() if said == truth] for truth in _TRUTHS}
        named = {"values": texts["true"], "values.false": texts["false"]}
        return Said("boolean", {name: texts_as_lines(some) for name, some in named.items()})
    type_ = "ordinal" if is_ordered else "nominal"
    return Said(type_, {"categories": categories_as_lines(categories)})


def _split(line: str, mark: str) -> list[str]:
    """The parts of a line between marks that stand in no quotes.

    Raises:
        Unclear: a part is empty.
    """
    parts = re.findall(rf'(?:"(?:[^"\\]|\\.)*"|[^{mark}])+|{mark}', line)
    texts = [part.strip() for part in parts if part != mark]
    if len(texts) != parts.count(mark) + 1 or not all(texts):
        raise Unclear(f"there is nothing before or after a {mark!r}; list each category once")
    return texts
