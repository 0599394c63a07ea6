"""Parameters of methods for linear queries, read one by one, with where in the spec they are wrong.

`refuse` also checks what no method can do: where no query can change.
"""

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any

from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.request import Request

Parameters = Mapping[str, Any]

MOST_CELLS = 2**22  # of an enumerated universe: 32 MiB a vector
MOST_ROUNDS = 4000  # of choices or measurements that depend on each other
_NAMED = 5  # columns of a universe that is too large


def refuse(method: str, universe: Universe, request: Request, known: Collection[str]) -> None:
    """What is wrong whatever the values are.

    Raises:
        ValueError: an unknown parameter, or queries whose answers are the same on all neighbours,
            which need no privacy.
    """
    request.refuse_unknown(method, known)
    if universe.queries.sensitivity(request.adjacency) == 0:
        raise ValueError(
            "mechanism.queries: every query gives all records the same value, so that its answer "
            "is known without the data; ask for queries that tell some records apart"
        )


def refuse_large(method: str, universe: Universe) -> None:
    """Universes that are not enumerated.

    Raises:
        ValueError: there are too many cells; says by which columns, and what can be done.
    """
    if universe.size > MOST_CELLS:
        raise ValueError(
            f"mechanism.queries: they tell apart {size_in_words(universe)}, and {method} keeps a "
            f"number for each of at most {MOST_CELLS:,}; ask about fewer columns, give them "
            "coarser cells, or choose linear-queries, or dpfw with model: auto, which can do "
            "without"
        )


def size_in_words(universe: Universe) -> str:
    """How many cells there are, by the columns with most of them."""
    sizes = [(k, universe.name(column)) for column, k in enumerate(universe.shape)]
    sizes.sort(key=lambda one: -one[0])
    told = " x ".join(f"{k} ({name})" for k, name in sizes[:_NAMED] if k > 1)
    more = sum(k > 1 for k, _ in sizes[_NAMED:])
    size = universe.size
    number = f"{size:,}" if size < 10**12 else f"about 10^{len(str(size)) - 1}"
    return f"{number} combinations of cells, {told}" + (f" and {more} more" if more else "")


def rounds(parameters: Parameters, name: str, default: int) -> int:
    """A number of rounds.

    Raises:
        ValueError: it is no whole number, less than 1, or more than `MOST_ROUNDS`.
    """
    value = whole(parameters, name, default)
    if value > MOST_ROUNDS:
        raise ValueError(
            f"mechanism.{name}: {value:,}; give at most {MOST_ROUNDS:,}, since every further round "
            "leaves all of them less of the budget"
        )
    return value


def whole(parameters: Parameters, name: str, default: int) -> int:
    """A whole number of at least 1.

    Raises:
        ValueError: it is something else.
    """
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"mechanism.{name}: {value!r}; give a whole number of at least 1")
    return value


def positive(parameters: Parameters, name: str, default: float) -> float:
    """A positive finite number.

    Raises:
        ValueError: it is something else.
    """
    value = parameters.get(name, default)
    right = isinstance(value, int | float) and not isinstance(value, bool)
    if not right or not isfinite(value) or value <= 0:
        raise ValueError(f"mechanism.{name}: {value!r}; give a positive number")
    return float(value)


def flag(parameters: Parameters, name: str) -> bool:
    """True or false; false where nothing is set.

    Raises:
        ValueError: it is something else.
    """
    value = parameters.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"mechanism.{name}: {value!r}; give true or false")
    return value


def one_of(parameters: Parameters, name: str, known: Collection[str]) -> str:
    """One of some words; the first where nothing is set.

    Raises:
        ValueError: it is something else.
    """
    value = parameters.get(name, next(iter(known)))
    if value not in known:
        raise ValueError(f"mechanism.{name}: {value!r}; choose {' or '.join(known)}")
    return str(value)
