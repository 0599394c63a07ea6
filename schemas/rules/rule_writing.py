"""Edit rules that are put together in a form, as texts of their language.

Claim.   What `written` writes, `parse_body` reads as the same statement.
"""

import re
from collections.abc import Mapping
from typing import get_args

from hallmark.schemas.code_lines import codes_in
from hallmark.schemas.rules.rule_syntax import (
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
    Operator,
    RuleError,
    Value,
    parse_body,
)
from hallmark.schemas.spec_answers import Choices, Input

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_BARE = re.compile(r"-?\d[A-Za-z0-9_.-]*")
_SIGNS = get_args(Operator)
_IN, _NOT_IN, _NULL, _NOT_NULL = "in", "not in", "is null", "is not null"
_ONLY_IF, _EXACTLY_IF = "=>", "<=>"

_COMPARISONS: Choices = (
    ("=", "is"),
    ("!=", "is not"),
    ("<", "is less than"),
    ("<=", "is at most"),
    (">", "is more than"),
    (">=", "is at least"),
    (_IN, "is one of"),
    (_NOT_IN, "is none of"),
    (_NULL, "is missing"),
    (_NOT_NULL, "is not missing"),
)


def _inputs(part: str, label: str) -> tuple[Input, ...]:
    return (
        Input(name=f"{part}.column", label=label, suggests="columns"),
        Input(name=f"{part}.is", label="in comparison", choices=_COMPARISONS),
        Input(
            name=f"{part}.value",
            label="this value",
            help="a number, a day such as 1999-12-31, or the code of a category; of several, "
            "with commas between them",
        ),
        Input(name=f"{part}.other", label="or the value of this column", suggests="columns"),
    )


INPUTS: tuple[Input, ...] = (
    *_inputs("if", "If this column"),
    Input(
        name="so",
        label="How the two go together",
        choices=(
            (_ONLY_IF, "if the first holds, then the second"),
            (_EXACTLY_IF, "either both hold, or none"),
        ),
    ),
    *_inputs("then", "then this column"),
)
"""What a form asks for in order to put a rule together; without a first column the second part is
the whole rule."""


def rule_of(typed: Mapping[str, str]) -> str:
    """The rule that a form puts together.

    Args:
        typed: by the names of `INPUTS`.
    Raises:
        RuleError, Unclear: it is none.
    """
    conclusion = _statement(typed, "then")
    if not typed["if.column"].strip():
        return written(conclusion)
    premise = _statement(typed, "if")
    if typed["so"] == _EXACTLY_IF:
        return written(Equivalent((premise, conclusion)))
    return written(Implies(premise, conclusion))


def _statement(typed: Mapping[str, str], part: str) -> Expression:
    column, sign, value, other = (
        typed[f"{part}.{name}"].strip() for name in ("column", "is", "value", "other")
    )
    if not column:
        raise RuleError("name the column that the rule is about")
    is_about_value = sign not in (_NULL, _NOT_NULL)
    if is_about_value and bool(value) == bool(other):
        raise RuleError(f"{column} is compared with a value or with a column; give one of the two")
    match sign:
        case "is null":
            return IsNull(column)
        case "is not null":
            return Not(IsNull(column))
        case "in" | "not in" if value:
            member = Member(column, tuple(map(Value, codes_in(value))))
            return member if sign == _IN else Not(member)
        case "=" | "!=" | "<" | "<=" | ">" | ">=":
            return Comparison(column, sign, ColumnName(other) if other else Value(value))
    raise RuleError(f"{column} is compared by one of {', '.join(_SIGNS)} with another column")


def written(body: Body) -> str:
    """A statement of one comparison, or of two that go together, as text.

    Raises:
        RuleError: the language has no way to write a name or a value in it.
    """
    text = _text(body)
    if parse_body(text) != body:
        raise RuleError(f"the language of rules cannot say this: {text}")
    return text


def _text(body: Body) -> str:
    match body:
        case Comparison(column, sign, right):
            side = _column(right.name) if isinstance(right, ColumnName) else _value(right)
            return f"{_column(column)} {sign} {side}"
        case Member(column, values):
            return f"{_column(column)} in {{{', '.join(map(_value, values))}}}"
        case IsNull(column):
            return f"{_column(column)} is null"
        case Not(IsNull(column)):
            return f"{_column(column)} is not null"
        case Not(Member(column, values)):
            return f"{_column(column)} not in {{{', '.join(map(_value, values))}}}"
        case Implies(premise, conclusion):
            return f"{_text(premise)} => {_text(conclusion)}"
        case Equivalent(inner):
            return " <=> ".join(map(_text, inner))
        case Determines(column, other):
            return f"{_column(column)} determines {_column(other)}"
    raise RuleError("a rule of more parts is written in the text alone")


_WORDS = {"and", "or", "not", "in", "is", "null", "determines", "true", "false"}


def _column(name: str) -> str:
    return name if _NAME.fullmatch(name) and name not in _WORDS else f"`{name}`"


def _value(value: Value) -> str:
    text = value.text
    if _BARE.fullmatch(text) or text in ("true", "false"):
        return text
    return f'"{text}"' if '"' not in text else f"'{text}'"
