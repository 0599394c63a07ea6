"""An edit rule as a form puts it together: a comparison, or two of which one follows."""

from collections.abc import Mapping
from typing import get_args

from hallmark.schemas.code_lines import codes_in
from hallmark.schemas.rules.rule_syntax import (
    ColumnName,
    Comparison,
    Equivalent,
    Expression,
    Implies,
    IsNull,
    Member,
    Not,
    Operator,
    RuleError,
    Value,
)
from hallmark.schemas.rules.rule_writing import written
from hallmark.schemas.spec_answers import Choices, Input

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


def _inputs(part: str) -> tuple[Input, ...]:
    return (
        Input(name=f"{part}.column", label="This column", suggests="columns"),
        Input(name=f"{part}.is", label="compares like this", choices=_COMPARISONS),
        Input(
            name=f"{part}.value",
            label="with this value",
            help="a number, a day such as 1999-12-31, or a code; several with commas between them",
        ),
        Input(name=f"{part}.other", label="or with this column", suggests="columns"),
    )


_TOGETHER: Choices = ((_ONLY_IF, "if the first holds"), (_EXACTLY_IF, "exactly if the first holds"))
INPUTS: Mapping[str, tuple[Input, ...]] = {
    "First: a condition, which may be left empty": _inputs("if"),
    "Then: what holds": (
        *_inputs("then"),
        Input(name="so", label="It holds", choices=_TOGETHER),
    ),
}
"""What a form asks for in order to put a rule together, by headings."""


def rule_of(typed: Mapping[str, str]) -> str:
    """The rule that a form puts together.

    Args:
        typed: by the names of the inputs.
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
