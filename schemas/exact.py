"""Exact numbers and plain dates, read from text as written, never through a float.

A budget of 0.1 is one tenth, not the nearest float, and a bound of 0.1 is the same number on every
machine. A number written for people (`decimal`) reads back as the same number.
"""

import re
from datetime import date
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, PlainSerializer, PlainValidator, WithJsonSchema

_DECIMAL = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?"  # exponents of two digits fit in a float
_RATIO = r"[+-]?\d+/\d+"
_NUMBER = re.compile(f"{_DECIMAL}|{_RATIO}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
MOST_DECIMALS = 9
"""Most decimals; a float cannot hold more of them besides the digits before the decimal mark."""
_LONGEST = 64  # characters; a longer number is a typing error, and slow to compute with


def read_exact(value: Any) -> Fraction:
    """The number that `value` spells: a decimal ("0.05", "1e-5") or a ratio ("1/3").

    Python numbers are taken as they print, so that `0.1` means one tenth.

    Raises:
        ValueError: the value is not a finite number.
    """
    if isinstance(value, Fraction):
        return value
    text = str(value) if isinstance(value, int | float | str) else ""
    if isinstance(value, bool) or len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        raise ValueError(f"must be a number such as 5000, 0.5, 1e-5 or 1/3, not {shown(value)}")
    if "/" in text and int(text.partition("/")[2]) == 0:
        raise ValueError(f"divides by zero in {text!r}; write a number such as 1/3")
    return Fraction(text)


def decimal(value: Fraction) -> str:
    """The number as people write it: in decimals if these are exact, else as a ratio."""
    if value.denominator == 1:
        return str(value.numerator)
    shortest = repr(float(value))
    return shortest if Fraction(shortest) == value else str(value)


def decimals(value: Fraction) -> int | None:
    """The number of decimals; None if there are more than `MOST_DECIMALS`, or infinitely many."""
    found = (n for n in range(MOST_DECIMALS + 1) if (value * 10**n).denominator == 1)
    return next(found, None)


def read_date(value: Any) -> date:
    """The day that `value` spells as year-month-day, such as "1999-12-31".

    Raises:
        ValueError: the text has another form, or there is no such day.
    """
    if type(value) is date:
        return value
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"is {value!r}, but there is no such day") from error
    raise ValueError(f"must be a date written like 1999-12-31, not {shown(value)}")


def shown(value: Any) -> str:
    """A wrong value, as shown in the message that reports it."""
    match value:
        case None:
            return "nothing"
        case list() | tuple():
            return "a list"
        case dict():
            return "a mapping"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


Exact = Annotated[
    Fraction,
    PlainValidator(read_exact),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^({_DECIMAL}|{_RATIO})$"}]}
    ),
]
"""A number kept as a `Fraction`; written out as an integer or a ratio in lowest terms."""


def _positive(value: Fraction) -> Fraction:
    if value <= 0:
        raise ValueError(f"is {value}; give a number above 0")
    return value


def _below_one(value: Fraction) -> Fraction:
    if not 0 <= value < 1:
        raise ValueError(f"is {value}; give a number from 0 up to, but not including, 1")
    return value


def _up_to_one(value: Fraction) -> Fraction:
    if not 0 < value <= 1:
        raise ValueError(f"is {value}; give a number above 0, and at most 1")
    return value


def _inside_one(value: Fraction) -> Fraction:
    if not 0 < value < 1:
        raise ValueError(f"is {value}; give a number above 0 and below 1")
    return value


Positive = Annotated[Exact, AfterValidator(_positive)]
"""An exact number above 0."""

BelowOne = Annotated[Exact, AfterValidator(_below_one)]
"""An exact number in [0, 1)."""

UpToOne = Annotated[Exact, AfterValidator(_up_to_one)]
"""An exact number in (0, 1]."""

InsideOne = Annotated[Exact, AfterValidator(_inside_one)]
"""An exact number in (0, 1)."""

Day = Annotated[
    date,
    PlainValidator(read_date),
    PlainSerializer(date.isoformat, return_type=str),
    WithJsonSchema({"type": "string", "format": "date"}),
]
"""A calendar day, always written year-month-day."""
