"""Blocks: columns whose totals can be met without regard to those of other blocks.

Claim.   A table of counts over the joint cells of a block's columns, zero where `kinds` is -1, is
         that of some valid records, whatever the other columns of their totals hold. So totals hold
         together under the edit rules exactly where they do block by block.
Proof.   Totals share columns within a block only, and so do the columns of totals that rules
         connect. `Rules.allowed` is an exact projection: a cell that it allows is one of some valid
         record, and columns that no rule connects combine freely.
         Cells that lie in the same group of every total are of one kind: totals do not tell them
         apart, so all programs are over kinds.
Oracle.  tests/mechanisms/domain/totals/test_program.py: all tables of small domains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hallmark.mechanisms.arrays import Codes, Integers
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.rules.tables import connected
from hallmark.mechanisms.domain.totals.totals import PublicTotal, PublicTotals

MOST_CELLS = 2**18  # joint cells of a block


class TotalsTooWide(ValueError):
    """Totals that hang together over too many joint cells; `totals` holds their names."""

    def __init__(self, totals: tuple[str, ...], columns: Sequence[str], sizes: Sequence[int]):
        self.totals = totals
        times = " x ".join(f"{size:,} ({name})" for name, size in zip(columns, sizes, strict=True))
        super().__init__(
            f"they hang together over {times} joint cells, but at most {MOST_CELLS:,} are taken; "
            "give these columns fewer cells, or state totals of fewer columns"
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Columns with the totals about them.

    Attributes:
        columns: ascending positions in the domain.
        shape: cells of these columns.
        totals: about some of these columns each; they count `records` records.
        records: how many there are in all.
        allowed: joint cells that some valid record has, of `shape`.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    totals: tuple[PublicTotal, ...]
    records: int
    allowed: NDArray[np.bool_]

    @cached_property
    def _groups(self) -> Integers:
        """The group of every joint cell in every total, shape (totals, cells)."""
        groups = []
        for total in self.totals:
            axes = [self.columns.index(column) for column in total.columns]
            size = [n if axis in axes else 1 for axis, n in enumerate(self.shape)]
            groups.append(np.broadcast_to(total.groups.reshape(size), self.shape).ravel())
        return np.array(groups)

    @cached_property
    def kinds(self) -> Integers:
        """The kind of every joint cell in C order, -1 where no valid record has it."""
        kinds = np.full(prod(self.shape), -1, dtype=np.int64)
        possible = np.flatnonzero(self.allowed.ravel())
        if len(possible):
            _, inverse = np.unique(self._groups[:, possible], axis=1, return_inverse=True)
            kinds[possible] = inverse.reshape(-1)
        return kinds

    @cached_property
    def matrix(self) -> csr_array:
        """Takes counts of kinds to counts of all groups, total by total, and of all records."""
        first = np.unique(self.kinds, return_index=True)
        cells = first[1][first[0] >= 0]
        offsets = np.cumsum([0, *(len(total.counts) for total in self.totals)])
        rows = [self._groups[i, cells] + offsets[i] for i in range(len(self.totals))]
        rows.append(np.full(len(cells), offsets[-1]))
        entries = np.ones(len(rows) * len(cells))
        columns = np.tile(np.arange(len(cells)), len(rows))
        return csr_array(
            (entries, (np.concatenate(rows), columns)), shape=(offsets[-1] + 1, len(cells))
        )

    @cached_property
    def counts(self) -> Integers:
        """What `matrix` must make of the counts of kinds."""
        return np.concatenate([*(total.counts for total in self.totals), [self.records]])

    def joint(self, codes: Codes) -> Integers:
        """Joint cells of records, as positions in C order, shape (n,)."""
        return np.ravel_multi_index(tuple(codes[:, list(self.columns)].T), self.shape)

    def codes(self, joint: Integers) -> Integers:
        """Codes of these columns in joint cells, shape (n, columns)."""
        return np.column_stack(np.unravel_index(joint, self.shape))


def blocks(
    totals: PublicTotals, rules: Rules, names: Sequence[str] | None = None
) -> tuple[Block, ...]:
    """The blocks of the totals, in the order of their columns.

    Args:
        rules: nothing is asked of its determinations.
        names: of the columns, for messages.
    Raises:
        TotalsTooWide: one has too many joint cells.
    """
    touched = set(totals.columns)
    joined = [tuple(sorted(touched.intersection(component))) for component in rules.components]
    groups = [*(total.columns for total in totals.totals), *(group for group in joined if group)]
    made = []
    for columns in connected(groups):
        shape = tuple(totals.shape[column] for column in columns)
        inside = tuple(total for total in totals.totals if total.columns[0] in columns)
        if prod(shape) > MOST_CELLS:
            raise TotalsTooWide(
                tuple(total.name for total in inside),
                [names[c] if names else f"column {c}" for c in columns],
                shape,
            )
        made.append(Block(columns, shape, inside, totals.records, rules.allowed(columns)))
    return tuple(made)
