"""What rules are made of: tables of allowed cells, and functions that no rule states."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Mask


@dataclass(frozen=True, eq=False)
class RuleTable:
    """One rule, or one part of it, on cells.

    Attributes:
        name: the rule as the user wrote it; the parts of a rule share its name.
        columns: ascending positions in the domain.
        allowed: shape = cells of these columns; true where some record with values in these cells
            obeys.
    """

    name: str
    columns: tuple[int, ...]
    allowed: Mask


@dataclass(frozen=True)
class Determination:
    """Records that agree in `column` agree in `other`; which other, the rule does not say.

    Records with a null on either side neither say nor break anything.
    """

    name: str
    column: int
    other: int


@dataclass(frozen=True, eq=False)
class Parts:
    """The rules within cells, where a rule tells values of one cell apart.

    A cell may be wider than a rule: of the ages from 10 to 19, some demand a null in one column and
    some in another, though none demands both. Parts are pieces of cells small enough for tables on
    them to say what the rules say of values.

    Attributes:
        cells: for every column, the cell of each of its parts; every cell has one part at least.
        tables: on parts; the tables of `Rules` hold besides.
    """

    cells: tuple[NDArray[np.int64], ...]
    tables: tuple[RuleTable, ...]


def check_tables(tables: Iterable[RuleTable], shape: Sequence[int]) -> None:
    """Check that every table fits columns of `shape`.

    Raises:
        ValueError: it is not; names the rule.
    """
    for table in tables:
        columns = table.columns
        if not columns or list(columns) != sorted(set(columns)):
            raise ValueError(f"{table.name}: columns must be ascending, not {columns}")
        if columns[0] < 0 or columns[-1] >= len(shape):
            raise ValueError(f"{table.name}: there are {len(shape)} columns, but it has {columns}")
        expected = tuple(shape[column] for column in columns)
        if table.allowed.shape != expected or table.allowed.dtype != np.bool_:
            raise ValueError(
                f"{table.name}: allowed must be truth values of shape {expected}, not "
                f"{table.allowed.dtype} of shape {table.allowed.shape}"
            )


def connected(groups: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Columns that hang together through shared members, each group ascending, in order."""
    components: list[set[int]] = []
    for group in groups:
        touched = [component for component in components if not component.isdisjoint(group)]
        components = [component for component in components if component not in touched]
        components.append(set(group).union(*touched))
    return tuple(sorted(tuple(sorted(component)) for component in components))
