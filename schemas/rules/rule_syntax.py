"""The language of edit rules: the statements it has, and how their text is read.

    AGEP < 15 <=> MSP is null <=> PINCP is null
    HOUSING_TYPE in {2, 3} => NOC is null and NPF is null
    sex != "9" or not (`own rent` = 0)
    INDP determines INDP_CAT

The grammar is in rules.lark. Operators from loosest to tightest: `<=>` (a chain says that all its
parts agree), `=>` (needs parentheses to be nested), `or`, `and`, `not`. In a comparison a bare
word is a column; numbers, dates and codes that start with a digit may be bare; other values need
quotes. Unusual column names need backticks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

Operator = Literal["=", "!=", "<", "<=", ">", ">="]


class RuleError(ValueError):
    """A rule that cannot be read, or does not suit the columns; says where, and how to fix it."""


@dataclass(frozen=True)
class ColumnName:
    """A column of the table."""

    name: str


@dataclass(frozen=True)
class Value:
    """A value as written: a number, a date, or the code of a category."""

    text: str


@dataclass(frozen=True)
class Comparison:
    """`column operator right`, unknown if a side is null."""

    column: str
    operator: Operator
    right: ColumnName | Value


@dataclass(frozen=True)
class Member:
    """`column in {values}`, unknown if the column is null."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class IsNull:
    """`column is null`, never unknown."""

    column: str


@dataclass(frozen=True)
class Not:
    """`not part`."""

    part: "Expression"


@dataclass(frozen=True)
class And:
    """`part and part ...`."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True)
class Or:
    """`part or part ...`."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True)
class Implies:
    """`premise => conclusion`."""

    premise: "Expression"
    conclusion: "Expression"


@dataclass(frozen=True)
class Equivalent:
    """`part <=> part ...`: all parts agree."""

    parts: tuple["Expression", ...]


Expression = Comparison | Member | IsNull | Not | And | Or | Implies | Equivalent
"""A statement about one row."""


@dataclass(frozen=True)
class Determines:
    """`column determines other`: rows with equal `column` have equal `other`."""

    column: str
    other: str


Body = Expression | Determines
"""The statement of a whole rule."""


def parts(body: Body) -> tuple[Expression, ...]:
    """The statements that `body` directly consists of."""
    match body:
        case Not(part):
            return (part,)
        case And(inner) | Or(inner) | Equivalent(inner):
            return inner
        case Implies(premise, conclusion):
            return (premise, conclusion)
    return ()


def mentioned(body: Body) -> Iterator[str]:
    """Columns in the order in which the rule mentions them, with repetitions."""
    match body:
        case Comparison(column, _, ColumnName(other)) | Determines(column, other):
            yield from (column, other)
        case Comparison(column=column) | Member(column=column) | IsNull(column=column):
            yield column
    for part in parts(body):
        yield from mentioned(part)


def parse_body(text: str) -> Body:
    """The parsed statement of a rule.

    Raises:
        RuleError: the text is not a rule; the message gives the position and what was expected.
    """
    try:
        body: Body = _Reader().transform(_parser().parse(text))
    except UnexpectedInput as error:
        raise RuleError(_explanation(text, error)) from None
    except RecursionError:
        raise RuleError("the rule is nested too deeply; write it with fewer levels") from None
    return body


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("rules.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr")


@v_args(inline=True)
class _Reader(Transformer[Token, Body]):
    """Turns lark's tree into the statements above, from the leaves up."""

    def start(self, body: Body) -> Body:
        return body

    def column(self, token: Token) -> ColumnName:
        return ColumnName(token.strip("`"))

    def word(self, token: Token) -> Value:
        return Value(str(token))

    def value(self, token: Token) -> Value:
        return Value(token[1:-1] if token.type == "QUOTED" else str(token))

    def comparison(self, column: ColumnName, sign: Token, right: ColumnName | Value) -> Comparison:
        return Comparison(column.name, _operator(str(sign)), right)

    def member(self, column: ColumnName, *values: Value) -> Member:
        return Member(column.name, values)

    def not_member(self, column: ColumnName, *values: Value) -> Not:
        return Not(Member(column.name, values))

    def is_null(self, column: ColumnName) -> IsNull:
        return IsNull(column.name)

    def is_not_null(self, column: ColumnName) -> Not:
        return Not(IsNull(column.name))

    def negation(self, part: Expression) -> Not:
        return Not(part)

    def conjunction(self, *inner: Expression) -> And:
        return And(inner)

    def disjunction(self, *inner: Expression) -> Or:
        return Or(inner)

    def implication(self, premise: Expression, conclusion: Expression) -> Implies:
        return Implies(premise, conclusion)

    def equivalence(self, *inner: Expression) -> Equivalent:
        return Equivalent(inner)

    def determines(self, column: ColumnName, other: ColumnName) -> Determines:
        return Determines(column.name, other.name)


def _operator(sign: str) -> Operator:
    match sign:
        case "=" | "!=" | "<" | "<=" | ">" | ">=":
            return sign
    raise AssertionError(f"the grammar has no operator {sign}")


_KEYWORDS = ("and", "or", "not", "in", "is", "null", "determines", "true", "false")
_WORDS = {
    "COMPARISON": "a comparison (= != < <= > >=)",
    "NAME": "a column",
    "BACKTICKED": "a column",
    "QUOTED": "a value",
    "BARE": "a value",
    "TRUTH": "a value",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "COMMA": ",",
    "__ANON_0": "<=>",
    "__ANON_1": "=>",
    "$END": "the end",
}


def _explanation(text: str, error: UnexpectedInput) -> str:
    if not text.strip():
        return "the rule is empty; write one such as: AGE < 15 => INCOME is null"
    expected: set[str] = set()
    found, position = "the end", len(text)
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        if error.token.type != "$END":
            found, position = str(error.token), (error.token.start_pos or 0)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
        position = error.pos_in_stream or 0
        found = text[position]
    elif isinstance(error, UnexpectedEOF):
        expected = set(error.expected)
    words = sorted({_WORDS.get(name, name.lower()) for name in expected})
    where = (
        f"found {found!r} at character {position + 1}"
        if found != "the end"
        else "the rule ends too early"
    )
    return f"{where}, but expected {_either(words)}{_hint(text, found, position)}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_MENDS = (  # what stands before, what is found, and what to do
    ("=", "=", "write a single ="),
    ("<", ">", "write !="),
    ("", "->", "write =>"),
    ("", "&", "write and"),
    ("", "|", "write or"),
    (" in", "(", "put the values in braces"),
    (" in", "[", "put the values in braces"),
    ("", "null", "write is null, or is not null"),
    ("", '"', "close the quotes"),
    ("", "'", "close the quotes"),
    ("", "`", "close the quotes"),
)
_SIGNS = "=!<>(){},"  # of the language
_BETWEEN = ("<=>", "=>", "or", "and", "not")
_VALUE = re.compile(r"""\d[\d.-]*(?!\w)|"[^"]*"|'[^']*'""")


def _hint(text: str, found: str, position: int) -> str:
    before, after = text[:position].rstrip(), text[position:]
    if found.lower() in _KEYWORDS and found not in _KEYWORDS:
        return f"; write {found.lower()} in lowercase"
    if found == "=>" and "=>" in before:
        return "; put nested implications in parentheses"
    if found == "," and before[-1:].isdigit():
        return "; write numbers without separators, such as 300000"
    if _VALUE.match(after) and before.rpartition(" ")[2] in ("", "(", *_BETWEEN):
        return "; write the column first, then the value"
    for start, sign, mend in _MENDS:
        if before.endswith(start) and after.startswith(sign):
            return f"; {mend}"
    misread = after and found not in _KEYWORDS and found[0] not in _SIGNS
    if misread and before.rpartition(" ")[2] not in _KEYWORDS:
        return "; put a column name with spaces or symbols in backticks, and a value in quotes"
    return ""
