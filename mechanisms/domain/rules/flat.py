"""Tables in flat arrays, for loops that are compiled.

Claim.   `obeys(row, attribute, code, flat)` looks at the tables that touch the attribute, and at
         nothing else, once each.
Oracle.  tests/mechanisms/domain/rules/test_flat.py compares it with the tables themselves.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from hallmark.mechanisms.arrays import Integers, Mask
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.rules.tables import RuleTable


class FlatTables(NamedTuple):
    """All tables end to end. Those on the same columns are merged into one.

    Attributes:
        touching: numbers of the tables that touch attribute a, from `starts[a]` to `starts[a + 1]`.
        starts: shape (attributes + 1,).
        columns: of table t, from `spans[t]` to `spans[t + 1]`.
        strides: of the same columns, in entries of `allowed`.
        spans: shape (tables + 1,).
        offsets: where each table starts in `allowed`, shape (tables,).
        allowed: the entries of all tables, row by row.
    """

    touching: Integers
    starts: Integers
    columns: Integers
    strides: Integers
    spans: Integers
    offsets: Integers
    allowed: Mask


def flatten(tables: Iterable[RuleTable], attributes: int) -> FlatTables:
    """The tables on attributes 0..attributes-1 in flat arrays."""
    merged = merge(tables)
    touching: list[list[int]] = [[] for _ in range(attributes)]
    for number, columns in enumerate(merged):
        for column in columns:
            touching[column].append(number)
    strides = [_strides(allowed.shape) for allowed in merged.values()]
    sizes = [allowed.size for allowed in merged.values()]
    return FlatTables(
        touching=_ints([number for numbers in touching for number in numbers]),
        starts=_ends([len(numbers) for numbers in touching]),
        columns=_ints([column for columns in merged for column in columns]),
        strides=_ints([stride for steps in strides for stride in steps]),
        spans=_ends([len(columns) for columns in merged]),
        offsets=_ends(sizes)[:-1].copy(),
        allowed=np.concatenate(
            [np.empty(0, dtype=np.bool_), *(allowed.ravel() for allowed in merged.values())]
        ),
    )


def merge(tables: Iterable[RuleTable]) -> dict[tuple[int, ...], Mask]:
    """What the tables allow together, by the columns that they are on."""
    merged: dict[tuple[int, ...], Mask] = {}
    for table in tables:
        known = merged.get(table.columns)
        merged[table.columns] = table.allowed if known is None else known & table.allowed
    return merged


@compiled()
def obeys(row, attribute, code, flat):  # type: ignore[no-untyped-def]  # compiled
    """Whether `row` would obey all tables that touch `attribute`, if it had `code` there."""
    for k in range(flat.starts[attribute], flat.starts[attribute + 1]):
        table = flat.touching[k]
        at = flat.offsets[table]
        for i in range(flat.spans[table], flat.spans[table + 1]):
            column = flat.columns[i]
            at += flat.strides[i] * (code if column == attribute else row[column])
        if not flat.allowed[at]:
            return False
    return True


def _strides(shape: Sequence[int]) -> list[int]:
    return [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]


def _ends(lengths: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _ints(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)
