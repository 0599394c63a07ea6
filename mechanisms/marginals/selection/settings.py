"""What a release spec may set of a selection: values read one by one, with where they are wrong."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from typing import Any

WHERE = "mechanism.selection"

Settings = Mapping[str, Any]
"""The section of the spec, without the selection's name."""


def refuse_unknown(
    settings: Settings, known: Iterable[str], selection: str, where: str = WHERE
) -> None:
    """Names that the selection, or a section `where` of it, does not know.

    Raises:
        ValueError: there is one; the message gives the nearest known name.
    """
    names = tuple(known)
    for name in settings:
        if name not in names:
            mend = nearest(name, ("method", *names)) or f"it knows {', '.join(names) or 'none'}"
            raise ValueError(f"{where}.{name}: {selection} has no such setting; {mend}")


def whole(settings: Settings, name: str, default: int, where: str = WHERE) -> int:
    """A whole number of at least 1.

    Raises:
        ValueError: it is something else.
    """
    value = settings.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{where}.{name}: {value!r}; give a whole number of at least 1")
    return value


def share(settings: Settings, name: str, default: Fraction, where: str = WHERE) -> Fraction:
    """A number between 0 and 1, exclusive, exactly as it is written.

    Raises:
        ValueError: it is something else.
    """
    value = positive(settings.get(name, default))
    if value is None or value >= 1:
        raise ValueError(f"{where}.{name}: {settings[name]!r}; give a number between 0 and 1")
    return value


def share_or_zero(settings: Settings, name: str) -> Fraction:
    """A number from 0 to below 1, exactly as it is written; 0 where there is none.

    Raises:
        ValueError: it is something else.
    """
    value = settings.get(name, 0)
    if value == 0 and not isinstance(value, bool):
        return Fraction(0)
    exact = positive(value)
    if exact is None or exact >= 1:
        raise ValueError(f"{WHERE}.{name}: {value!r}; give a number from 0 to below 1")
    return exact


def positive(value: Any) -> Fraction | None:
    """A positive number, exactly as it is written in decimals; None where it is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    if isinstance(value, float) and not isfinite(value):
        return None
    exact = Fraction(str(value))
    return exact if exact > 0 else None


def short(weight: float) -> Fraction:
    """A positive weight with few digits; few different ones make few kinds of noise."""
    return max(Fraction(weight).limit_denominator(1000), Fraction(1, 1000))


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that offers the known word most like `word`; empty where none is like it."""
    words = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(str(word).lower(), list(words), n=1)
    return f"did you mean {words[close[0]]}?" if close else ""
