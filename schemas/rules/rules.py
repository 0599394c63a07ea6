"""Edit rules: statements that every record of a release should satisfy.

A rule is parsed by itself (`parse_rule`) and then bound to the columns of a spec (`Rule.bound_to`),
which checks that every comparison makes sense and makes `<` follow the order of ordinal codes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Self, TypeVar

import pandas as pd

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    NominalColumn,
    NumericColumn,
    OrdinalColumn,
    PlacesColumn,
)
from hallmark.schemas.exact import decimal
from hallmark.schemas.nearest import did_you_mean, no_such_column
from hallmark.schemas.rules import rule_truth
from hallmark.schemas.rules.rule_parts import clauses
from hallmark.schemas.rules.rule_syntax import (
    And,
    Body,
    ColumnName,
    Comparison,
    Determines,
    Equivalent,
    Expression,
    Implies,
    IsNull,
    Member,
    Not,
    Or,
    RuleError,
    Value,
    mentioned,
    parse_body,
    parts,
)

__all__ = ["Condition", "Rule", "RuleError", "parse_condition", "parse_rule"]

B = TypeVar("B", bound=Body)

_UNORDERED = (NominalColumn, PlacesColumn, BooleanColumn)


@dataclass(frozen=True)
class Rule:
    """One edit rule.

    Attributes:
        text: the rule as written.
        body: the parsed statement.
        orders: codes of the ordinal columns that the rule mentions; empty until bound.
    """

    text: str
    body: Body
    orders: rule_truth.Orders = field(default_factory=dict)

    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the rule mentions, in its order, each once."""
        return tuple(dict.fromkeys(mentioned(self.body)))

    def problems(self, columns: Mapping[str, Column]) -> list[str]:
        """Everything that does not suit the columns, with its fix; empty for a sound rule."""
        return list(dict.fromkeys(_problems(self.body, columns)))

    def bound_to(self, columns: Mapping[str, Column]) -> Self:
        """The rule in a form that can be evaluated on tables of these columns.

        Raises:
            RuleError: the rule does not suit the columns.
        """
        problems = self.problems(columns)
        if problems:
            raise RuleError("; ".join(problems))
        orders = {
            name: column.codes
            for name in self.columns()
            if isinstance(column := columns[name], OrdinalColumn)
        }
        return replace(self, body=_with_codes(self.body, columns), orders=orders)

    def clauses(self) -> tuple["Rule", ...]:
        """Rules on fewer columns: a row breaks one of them if and only if it breaks this one."""
        if isinstance(self.body, Determines):
            return (self,)
        return tuple(replace(self, body=clause) for clause in clauses(self.body))

    def violations(self, frame: pd.DataFrame) -> "pd.Series[bool]":
        """Rows that break the rule, with the frame's index.

        Args:
            frame: values in original units: numbers as float (null NaN), categories and booleans
                as the text of their code (null None or NaN), dates as datetime64 (null NaT).

        A row breaks the rule only if the rule is known to be false for it; a comparison with a
        null is unknown (`rule_truth`). `A determines B` is broken by rows whose B differs from the
        most common B of their A.

        Raises:
            RuleError: a column is not in the frame, or a value does not suit it.
        """
        flags = rule_truth.violations(self.body, frame, self.orders)
        return pd.Series(flags, index=frame.index, name=self.text)


@cache
def parse_rule(text: str) -> Rule:
    """The rule written in `text`.

    Raises:
        RuleError: the text is not a rule; the message gives the position and what was expected.
    """
    return Rule(text, parse_body(text))


@dataclass(frozen=True)
class Condition(Rule):
    """A rule about one record at a time."""

    body: Expression

    def holds(self, frame: pd.DataFrame) -> rule_truth.Flags:
        """The rows that are known to fulfil the condition, shape (rows,)."""
        return rule_truth.truth(self.body, frame, self.orders).true


def parse_condition(text: str) -> Condition:
    """The condition written in `text`, a rule about one record at a time.

    Raises:
        RuleError: the text is not a rule, or one about several records.
    """
    body = parse_rule(text).body
    if isinstance(body, Determines):
        raise RuleError(
            "the condition is about several records, not about one; write one such as age >= 65"
        )
    return Condition(text, body)


def _problems(body: Body, columns: Mapping[str, Column]) -> Iterator[str]:
    match body:
        case Comparison(column, operator, right):
            yield from _comparison_problems(column, operator, right, columns)
        case Member(column, values):
            yield from _unknown(column, columns)
            if column in columns:
                for value in values:
                    yield from _value_problems(column, columns[column], value)
        case IsNull(column):
            yield from _unknown(column, columns)
            if column in columns and not columns[column].nulls:
                yield (
                    f"{column} is never null, since it has nulls: false; "
                    "allow nulls there, or change the rule"
                )
        case Determines(column, other):
            if column == other:
                yield f"{column} determines itself, as every column does; name two columns"
            yield from _unknown(column, columns)
            yield from _unknown(other, columns)
    for part in parts(body):
        yield from _problems(part, columns)


def _unknown(name: str, columns: Mapping[str, Column]) -> Iterator[str]:
    if name not in columns:
        yield no_such_column(name, columns)


def _comparison_problems(
    name: str, operator: str, right: ColumnName | Value, columns: Mapping[str, Column]
) -> Iterator[str]:
    yield from _unknown(name, columns)
    column = columns.get(name)
    if isinstance(column, _UNORDERED) and operator not in ("=", "!="):
        yield (
            f"{name} is {column.type} and has no order, so {operator} means nothing for it; "
            "use = or !=, or make the column ordinal"
        )
        return
    if isinstance(right, Value):
        if column is not None:
            yield from _value_problems(name, column, right)
        return
    other = columns.get(right.name)
    if other is None:
        code = _code_meant(right.name, column)
        if code is not None:
            yield (
                f"there is no column {right.name}; if you mean the category, write its code in "
                f'quotes: {name} {operator} "{code}"'
            )
        elif isinstance(column, BooleanColumn):
            yield f"there is no column {right.name}; {name} is boolean: write true or false"
        else:
            yield from _unknown(right.name, columns)
    elif column is not None:
        yield from _pair_problems(name, column, right.name, other)


def _pair_problems(name: str, column: Column, other_name: str, other: Column) -> Iterator[str]:
    if isinstance(column, OrdinalColumn) and isinstance(other, OrdinalColumn):
        if column.codes != other.codes:
            yield (
                f"{name} and {other_name} list different categories, so they cannot be compared; "
                "compare each with a value"
            )
    elif column.type != other.type:
        yield (
            f"{name} is {column.type} and {other_name} is {other.type}, so they cannot be "
            "compared; compare each with a value"
        )
    elif isinstance(column, NumericColumn) and isinstance(other, NumericColumn):
        one, two = column.grid, other.grid
        if one is not None and two is not None and max(one, two) % min(one, two) != 0:
            yield (
                f"{name} has the step {decimal(one)} and {other_name} {decimal(two)}, so they "
                "cannot be compared; make one step a multiple of the other"
            )


def _value_problems(name: str, column: Column, value: Value) -> Iterator[str]:
    match column:
        case NumericColumn() | DateColumn():
            try:
                column.number(value.text)
            except ValueError:
                kind, mend = (
                    ("numeric", "write a number")
                    if isinstance(column, NumericColumn)
                    else ("a date", "write a day like 1999-12-31")
                )
                yield f"{name} is {kind}, but is compared with {value.text!r}; {mend}"
        case BooleanColumn():
            if value.text not in ("true", "false", *column.values):
                yield (
                    f"{name} is boolean, but is compared with {value.text!r}; write true or false"
                )
        case CategoryColumn():
            if value.text not in column.categories:
                mend = did_you_mean(value.text, column.categories) or "give one of its categories"
                yield f"{value.text!r} is not a category of {name}; {mend}"


def _code_meant(word: str, column: Column | None) -> str | None:
    """The code of the category that has `word` as its code or label; None if there is none."""
    if not isinstance(column, CategoryColumn):
        return None
    by_label = {label: code for code, label in column.categories.items()}
    return word if word in column.categories else by_label.get(word)


def _with_codes(body: B, columns: Mapping[str, Column]) -> B:
    """The statement with true, false and other spellings of booleans replaced by their codes."""
    match body:
        case Comparison(column, _, Value() as value):
            return replace(body, right=_code(value, columns[column]))
        case Member(column, values):
            return replace(body, values=tuple(_code(value, columns[column]) for value in values))
        case Not(part):
            return replace(body, part=_with_codes(part, columns))
        case And(inner) | Or(inner) | Equivalent(inner):
            return replace(body, parts=tuple(_with_codes(part, columns) for part in inner))
        case Implies(premise, conclusion):
            return replace(
                body,
                premise=_with_codes(premise, columns),
                conclusion=_with_codes(conclusion, columns),
            )
    return body


def _code(value: Value, column: Column) -> Value:
    if not isinstance(column, BooleanColumn):
        return value
    means = column.values.get(value.text, value.text == "true")
    return Value(column.codes[means])
