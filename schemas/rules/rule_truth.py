"""Truth of an edit rule, row by row, in three-valued logic: true, false and unknown.

Claim.   A comparison (or membership) with a null is unknown; `is null` never is. `not`, `and`,
         `or` and `=>` follow Kleene's strong logic: a value is unknown unless the known parts
         decide it. A chain `A <=> B <=> C` is false once two parts are known to differ, true if
         all are known to agree, else unknown. A row breaks a rule only if it is known to be false.
Oracle.  tests/schemas/rules/test_rules.py evaluates random rules row by row with None for unknown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.schemas.exact import read_date, read_exact
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
    Operator,
    Or,
    RuleError,
    Value,
)

Flags = NDArray[np.bool_]
Orders = Mapping[str, tuple[str, ...]]
"""Codes of ordinal columns, in order."""

_COMPARE: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


@dataclass(frozen=True, eq=False)
class Truth:
    """Rows that are known true, and rows that are known false; the others are unknown."""

    true: Flags
    false: Flags


@dataclass(frozen=True, eq=False)
class _Operand:
    """Comparable values, and whether each is given; the value at a null is arbitrary."""

    values: NDArray[Any]
    given: Flags


def violations(body: Body, frame: pd.DataFrame, orders: Orders) -> Flags:
    """Rows that break the rule, shape (rows,).

    Raises:
        RuleError: a column is not in the frame, or a value does not suit its column.
    """
    if isinstance(body, Determines):
        return _strays(body, frame)
    return truth(body, frame, orders).false


def truth(expression: Expression, frame: pd.DataFrame, orders: Orders) -> Truth:
    """Truth of a statement in every row."""
    match expression:
        case IsNull(column):
            null = _series(frame, column).isna().to_numpy(dtype=bool)
            return Truth(null, ~null)
        case Comparison(column, operator, right):
            return _compared(frame, orders, column, operator, right)
        case Member(column, values):
            return _either([_compared(frame, orders, column, "=", value) for value in values])
        case Not(part):
            return _negated(truth(part, frame, orders))
        case Or(parts):
            return _either([truth(part, frame, orders) for part in parts])
        case And(parts):
            return _all([truth(part, frame, orders) for part in parts])
        case Implies(premise, conclusion):
            return _either(
                [_negated(truth(premise, frame, orders)), truth(conclusion, frame, orders)]
            )
        case Equivalent(parts):
            known = [truth(part, frame, orders) for part in parts]
            some_true = np.logical_or.reduce([part.true for part in known])
            some_false = np.logical_or.reduce([part.false for part in known])
            agree = _all(known).true | _all([_negated(part) for part in known]).true
            return Truth(agree, some_true & some_false)


def _negated(part: Truth) -> Truth:
    return Truth(part.false, part.true)


def _either(parts: list[Truth]) -> Truth:
    return Truth(
        np.logical_or.reduce([part.true for part in parts]),
        np.logical_and.reduce([part.false for part in parts]),
    )


def _all(parts: list[Truth]) -> Truth:
    return _negated(_either([_negated(part) for part in parts]))


def _compared(
    frame: pd.DataFrame, orders: Orders, column: str, operator: Operator, right: ColumnName | Value
) -> Truth:
    series = _series(frame, column)
    is_text = not _is_number(series) and not _is_date(series)
    if is_text and operator not in ("=", "!=") and column not in orders:
        raise RuleError(f"{column} has no order, so {operator} means nothing for it; use = or !=")
    ranked = is_text and operator not in ("=", "!=")
    left = _operand(series, orders[column] if ranked else None)
    if isinstance(right, ColumnName):
        other_series = _series(frame, right.name)
        if _kind(other_series) != _kind(series):
            raise RuleError(f"{column} and {right.name} hold values that cannot be compared")
        other = _operand(other_series, orders[column] if ranked else None)
    else:
        value = _constant(right, series, column, orders[column] if ranked else None)
        other = _Operand(np.array(value), np.array(True))
    given = left.given & other.given
    holds = np.asarray(_COMPARE[operator](left.values, other.values), dtype=bool)
    return Truth(given & holds, given & ~holds)


def _operand(series: pd.Series, order: tuple[str, ...] | None) -> _Operand:
    if order is not None:
        ranks = pd.Index(order).get_indexer(pd.Index(series.astype(object)))
        return _Operand(ranks, ranks >= 0)  # a code outside the order is as good as unknown
    given = series.notna().to_numpy(dtype=bool)
    if _is_number(series):
        return _Operand(series.to_numpy(dtype=np.float64, na_value=np.nan), given)
    if _is_date(series):
        return _Operand(series.to_numpy(dtype="datetime64[D]"), given)
    texts = series.astype(object).to_numpy(copy=True)
    texts[~given] = None  # pandas' NA refuses to be compared
    return _Operand(texts, given)


def _constant(value: Value, series: pd.Series, column: str, order: tuple[str, ...] | None) -> Any:
    try:
        if order is not None:
            return order.index(value.text)
        if _is_number(series):
            return float(read_exact(value.text))
        if _is_date(series):
            return np.datetime64(read_date(value.text), "D")
    except ValueError:
        raise RuleError(f"{column} is compared with {value.text!r}, which it cannot be") from None
    return value.text


def _strays(rule: Determines, frame: pd.DataFrame) -> Flags:
    """Rows whose other value is not the most common one beside theirs (of ties, the smallest).

    Rows with a null on either side neither count nor break the rule.
    """
    pairs = pd.DataFrame(
        {
            "key": _series(frame, rule.column).to_numpy(dtype=object),
            "other": _series(frame, rule.other).to_numpy(dtype=object),
        }
    )
    given: Flags = pairs.notna().all(axis=1).to_numpy(dtype=bool)
    counts = pairs[given].groupby(["key", "other"]).size().reset_index(name="rows")
    ranked = counts.sort_values(["rows", "other"], ascending=[False, True])
    usual = ranked.drop_duplicates("key").set_index("key")["other"]
    strays = given.copy()
    expected = pairs["key"][given].map(usual).to_numpy(dtype=object)
    found = pairs["other"][given].to_numpy(dtype=object)
    strays[given] = np.asarray(expected != found, dtype=bool)
    return strays


def _series(frame: pd.DataFrame, column: str) -> pd.Series:
    if column not in frame.columns:
        raise RuleError(f"the table has no column {column}")
    return frame[column]


def _kind(series: pd.Series) -> str:
    return "number" if _is_number(series) else "date" if _is_date(series) else "text"


def _is_number(series: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(series.dtype))


def _is_date(series: pd.Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(series.dtype))
