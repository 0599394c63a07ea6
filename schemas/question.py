"""Questions that data users ask of a release, and stewards list in a spec.

    count
    count where AGEP >= 18 by SEX
    share of INDP = "none" where AGEP >= 18 by REGION, SEX
    mean of PINCP by SEX
    sum of PINCP where SEX = "1"
    median of PINCP by REGION
    quantile 0.9 of PINCP
    mean of PINCP where SEX = "1" minus mean of PINCP where SEX = "2"
    count where SEX = "1" over count where SEX = "2" by REGION

Conditions are in the language of edit rules; a record for which nulls leave one undecided does not
count. `by` holds for the whole question, and comes last. A word such as `by` that is a column's
name is written in backticks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import BooleanColumn, Column, NumericColumn
from hallmark.schemas.lookups import Lookup
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.query_cuts import cell_problems
from hallmark.schemas.question_words import advice
from hallmark.schemas.rules.rules import Condition, RuleError, parse_condition

Kind = Literal["count", "share", "sum", "mean", "quantile"]

_FORMS = (
    "count, share of CONDITION, sum of COLUMN, mean of COLUMN, median of COLUMN, or quantile P of "
    "COLUMN"
)
_WORDS = re.compile(
    r""""[^"]*"|'[^']*'|`[^`]*`|\{[^}]*\}|(?<![\w.])(?P<word>where|by|minus|over)(?![\w.])"""
)
_UNUSUAL = "write names that are not plain words in backticks"
_SEVERAL = f"write commas between columns, and {_UNUSUAL.removeprefix('write ')}"
_RESERVED = ("where", "by", "minus", "over", "of")
_NAME = re.compile(r"`(?P<quoted>[^`]+)`|(?P<plain>[A-Za-z_][\w.]*)")


class QuestionError(ValueError):
    """A question cannot be read, or does not suit the columns; the message says why and gives a
    fix."""


@dataclass(frozen=True)
class Statistic:
    """One number about the records that fulfil a condition.

    Attributes:
        column: whose sum, mean or quantile it is.
        condition: whose share it is.
        probability: of a quantile.
        where: which records count; None for all.
    """

    kind: Kind
    column: str | None = None
    condition: Condition | None = None
    probability: Fraction | None = None
    where: Condition | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that it mentions."""
        return tuple(rule for rule in (self.condition, self.where) if rule is not None)


@dataclass(frozen=True)
class Question:
    """A statistic, or two of them compared, in every group.

    Attributes:
        text: as asked.
        compared: `minus` or `over`, and what comes after it; None for one statistic.
        by: the columns whose cells are the groups.
    """

    text: str
    first: Statistic
    compared: tuple[Literal["minus", "over"], Statistic] | None = None
    by: tuple[str, ...] = ()

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """One or two statistics."""
        return (self.first,) if self.compared is None else (self.first, self.compared[1])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it mentions, each once."""
        named = [one.column for one in self.statistics if one.column is not None]
        held = [
            name for one in self.statistics for rule in one.conditions for name in rule.columns()
        ]
        return tuple(dict.fromkeys([*self.by, *named, *held]))

    def bound_to(
        self, columns: Mapping[str, Column], lookups: Mapping[str, Lookup] | None = None
    ) -> "Question":
        """The question with conditions that can be evaluated on these columns.

        Args:
            lookups: which of the columns are looked up from others.
        Raises:
            QuestionError: it does not suit the columns.
        """
        problems = list(dict.fromkeys(self._problems(columns, lookups or {})))
        if problems:
            raise QuestionError(f"{self.text!r}: " + "; ".join(problems))
        bound = [
            replace(
                one,
                condition=one.condition and one.condition.bound_to(columns),
                where=one.where and one.where.bound_to(columns),
            )
            for one in self.statistics
        ]
        compared = None if self.compared is None else (self.compared[0], bound[1])
        return replace(self, first=bound[0], compared=compared)

    def _problems(
        self, columns: Mapping[str, Column], lookups: Mapping[str, Lookup]
    ) -> Iterator[str]:
        for name in self.by:
            if name not in columns:
                yield no_such_column(name, columns)
            elif name in lookups:
                of = lookups[name].of
                yield f"{name} is looked up from {of} and has no groups of its own; write by {of}"
        for one in self.statistics:
            yield from _unsuited(one, columns)
            for condition in one.conditions:
                yield from cell_problems(condition, columns, lookups)
            if one.kind == "quantile" and one.column is not None and one.column in lookups:
                yield (
                    f"{one.column} is looked up from {lookups[one.column].of} and not measured, so "
                    f"it has no quantiles; ask for share of {one.column} <= a value"
                )
        if any(one.kind == "quantile" for one in self.statistics) and self.compared is not None:
            yield "quantiles are not compared; ask for each by itself"


def parse_question(text: str) -> Question:
    """The question written in `text`.

    Raises:
        QuestionError: it is not a question; the message says what to write instead.
    """
    try:
        return _parsed(text)
    except QuestionError as error:
        told = advice(text, _is_question)
        raise QuestionError(f"{text!r} is not a question; {told}") if told else error from None


def _is_question(text: str) -> bool:
    try:
        _parsed(text)
    except QuestionError:
        return False
    return True


def _parsed(text: str) -> Question:
    pieces, words = _split(text)
    by: tuple[str, ...] = ()
    if "by" in words:
        if words.index("by") != len(words) - 1:
            raise QuestionError(f"{text!r}: write `by` once, at the end")
        by = _names(text, pieces.pop())
        words.pop()
    comparisons = [i for i, word in enumerate(words) if word in ("minus", "over")]
    if len(comparisons) > 1:
        raise QuestionError(f"{text!r}: compares more than two; ask two questions")
    if not comparisons:
        return Question(text, _statistic(text, pieces, words), None, by)
    at = comparisons[0]
    first = _statistic(text, pieces[: at + 1], words[:at])
    second = _statistic(text, pieces[at + 1 :], words[at + 1 :])
    return Question(text, first, ("minus" if words[at] == "minus" else "over", second), by)


def listed(names: Iterable[str]) -> str:
    """Columns as a question names them, with backticks where they are needed."""
    return ", ".join(
        f"`{name}`" if name in _RESERVED or not _NAME.fullmatch(name) else name for name in names
    )


def _split(text: str) -> tuple[list[str], list[str]]:
    """What stands around the words that part a question, and these words."""
    pieces, words, start = [], [], 0
    for found in _WORDS.finditer(text):
        if found["word"]:
            pieces.append(text[start : found.start()].strip())
            words.append(found["word"])
            start = found.end()
    return [*pieces, text[start:].strip()], words


def _statistic(text: str, pieces: list[str], words: list[str]) -> Statistic:
    if len(words) > 1:
        raise QuestionError(f"{text!r}: has two `where`; join the conditions with `and`")
    where = _condition(text, pieces[1]) if words else None
    what, _, of = pieces[0].partition(" of ")
    kind, _, probability = what.strip().partition(" ")
    match kind, probability.strip(), of.strip():
        case "count", "", "":
            return Statistic("count", where=where)
        case "share", "", condition if condition:
            return Statistic("share", condition=_condition(text, condition), where=where)
        case ("sum" | "mean") as summed, "", name if name:
            return Statistic(summed, _name(text, name), where=where)
        case "median", "", name if name:
            return Statistic("quantile", _name(text, name), None, Fraction(1, 2), where)
        case "quantile", number, name if name and number:
            return Statistic("quantile", _name(text, name), None, _share(text, number), where)
    raise QuestionError(f"{text!r}: {pieces[0]!r} is not a statistic; write {_FORMS}")


def _condition(text: str, condition: str) -> Condition:
    if _NAME.fullmatch(condition):
        raise QuestionError(
            f"{text!r}: {condition} is not a condition; write one such as {condition} = true, "
            f'{condition} = "1" or {condition} >= 1'
        )
    try:
        return parse_condition(condition)
    except RuleError as error:
        raise QuestionError(f"{text!r}: {error}") from error


def _names(text: str, listed: str) -> tuple[str, ...]:
    names = tuple(_name(text, name, _SEVERAL) for name in listed.split(","))
    if len(set(names)) < len(names):
        raise QuestionError(f"{text!r}: `by` lists a column twice")
    return names


def _name(text: str, written: str, mend: str = _UNUSUAL) -> str:
    found = _NAME.fullmatch(written.strip())
    if found is None:
        raise QuestionError(f"{text!r}: {written.strip()!r} is not a column; {mend}")
    return found["quoted"] or found["plain"]


def _share(text: str, number: str) -> Fraction:
    try:
        share = Fraction(number)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 < share < 1:
        raise QuestionError(f"{text!r}: {number!r} is not a number between 0 and 1")
    return share


def _unsuited(one: Statistic, columns: Mapping[str, Column]) -> Iterator[str]:
    if one.column is None:
        return
    column = columns.get(one.column)
    if column is None:
        yield no_such_column(one.column, columns)
    elif not isinstance(column, NumericColumn):
        mend = _of_shares(one.column, column)
        yield f"{one.column} is {column.type}, so it has no {one.kind}; {mend}"


def _of_shares(name: str, column: Column) -> str:
    match column:
        case BooleanColumn():
            return f"ask for share of {name} = true"
        case CategoryColumn():
            return f'ask for shares, such as share of {name} = "{column.codes[0]}"'
    return f"ask for shares, or for count by {name}"
