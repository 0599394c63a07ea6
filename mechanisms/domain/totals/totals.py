"""Published totals on the cells of a domain: public constants, never read from private data.

A total cuts the joint cells of some columns into groups, and says how many records lie in each. A
single number (how many records fulfil a condition) has two groups: those that do, and the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Codes, Integers


@dataclass(frozen=True, eq=False)
class PublicTotal:
    """How many records lie in which group of cells of some columns, as published.

    Attributes:
        name: where the user stated it, such as `public_totals[0]`; names differ.
        columns: ascending positions in the domain.
        groups: the group of every joint cell, shape = cells of these columns.
        counts: records in every group, shape (groups,).
        titles: of the groups, for people.
    """

    name: str
    columns: tuple[int, ...]
    groups: Integers
    counts: Integers
    titles: tuple[str, ...]

    @property
    def is_marginal(self) -> bool:
        """Whether every cell is a group of its own, so that the total is a marginal."""
        return len(self.counts) == self.groups.size

    def found(self, codes: Codes) -> Integers:
        """How many of the records lie in every group, shape (groups,)."""
        groups = self.groups[tuple(codes[:, column] for column in self.columns)]
        return np.bincount(groups, minlength=len(self.counts))


@dataclass(frozen=True, eq=False)
class PublicTotals:
    """All totals of a domain; they speak of the same records.

    Attributes:
        shape: cells of every attribute.
        totals: may be none.
    """

    shape: tuple[int, ...]
    totals: tuple[PublicTotal, ...] = ()

    def __post_init__(self) -> None:
        for total in self.totals:
            columns = total.columns
            if list(columns) != sorted(set(columns)) or not set(columns) <= {
                *range(len(self.shape))
            }:
                raise ValueError(f"{total.name}: columns must be ascending, not {columns}")
            expected = tuple(self.shape[column] for column in columns)
            if total.groups.shape != expected:
                raise ValueError(
                    f"{total.name}: groups have the shape {total.groups.shape}, not {expected}"
                )
            sizes = {len(total.counts), len(total.titles)}
            if (
                sizes != {len(total.counts)}
                or not np.isin(total.groups, np.arange(len(total.counts))).all()
            ):
                raise ValueError(f"{total.name}: every group needs a count and a title")
            if total.counts.min() < 0 or total.counts.sum() != self.records:
                raise ValueError(
                    f"{total.name}: counts {total.counts.sum()} records, others {self.records}"
                )

    def __bool__(self) -> bool:
        return bool(self.totals)

    @property
    def records(self) -> int:
        """How many records there are in all; 0 where there is no total."""
        return int(self.totals[0].counts.sum()) if self.totals else 0

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of all columns that some total is about, ascending."""
        return tuple(sorted({column for total in self.totals for column in total.columns}))

    def marginals(self) -> Iterator[tuple[tuple[int, ...], NDArray[np.float64]]]:
        """Columns and counts of the totals that are marginals, exactly known."""
        for total in self.totals:
            if total.is_marginal:
                yield total.columns, total.counts[total.groups].astype(np.float64)

    def held(self, codes: Codes) -> bool:
        """Whether the records have all totals exactly."""
        return all(np.array_equal(total.found(codes), total.counts) for total in self.totals)

    def only(self, names: Sequence[str]) -> "PublicTotals":
        """The totals with these names."""
        return replace(self, totals=tuple(t for t in self.totals if t.name in names))
