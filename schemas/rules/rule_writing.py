"""Edit rules as texts of their language.

Claim.   What `written` writes, `parse_body` reads as the same statement.
"""

import re

from hallmark.schemas.rules.rule_syntax import (
    Body,
    ColumnName,
    Comparison,
    Determines,
    Equivalent,
    Implies,
    IsNull,
    Member,
    Not,
    RuleError,
    Value,
    parse_body,
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_BARE = re.compile(r"-?\d[A-Za-z0-9_.-]*")


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
