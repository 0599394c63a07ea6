"""Parameters of methods for linear queries, read one by one, with where in the spec they are wrong.

`refuse` also checks what no method can do: without records, or where no query can change.
"""

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any

from mechanisms.linear_queries.universe import Universe
from mechanisms.privacy.adjacency import Adjacency

Parameters = Mapping[str, Any]

MOST_CELLS = 2**22  # of an enumerated universe: 32 MiB a vector
MOST_ROUNDS = 4000  # of choices or measurements that depend on each other


def refuse(
    method: str,
    universe: Universe,
    adjacency: Adjacency,
    expected_records: int,
    parameters: Parameters,
    known: Collection[str],
) -> None:
    """What is wrong whatever the values are.

    Raises:
        ValueError: an unknown parameter, fewer than one expected record, or queries whose answers
            are the same on all neighbours, which need no privacy.
    """
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ValueError(
            f"mechanism.{unknown[0]}: {method} has no such parameter; it knows "
            f"{', '.join(sorted(known))}"
        )
    if expected_records < 1:
        raise ValueError(f"expected number of records: {expected_records}; give at least 1")
    if universe.queries.sensitivity(adjacency) == 0:
        raise ValueError(
            "mechanism.workload: every query gives all records the same value, so that its answer "
            "is known without the data; ask for queries that tell some records apart"
        )


def refuse_large(method: str, universe: Universe) -> None:
    """Universes that are not enumerated.

    Raises:
        ValueError: there are too many cells.
    """
    if universe.size > MOST_CELLS:
        raise ValueError(
            f"mechanism.method: {method} keeps a number for each of the universe's "
            f"{universe.size:,} cells, and at most {MOST_CELLS:,} are kept; use fewer columns or "
            "coarser ones, or method dpfw, which can do without"
        )


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


def one_of(parameters: Parameters, name: str, known: Collection[str]) -> str:
    """One of some words; the first where nothing is set.

    Raises:
        ValueError: it is something else.
    """
    value = parameters.get(name, next(iter(known)))
    if value not in known:
        raise ValueError(f"mechanism.{name}: {value!r}; choose {' or '.join(known)}")
    return str(value)
