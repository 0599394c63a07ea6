"""Maps from records to cells, the only way of looking at private data.

A record is a row of integer codes, one per attribute of a public domain. A `CellMap` sends it to
the sum of one table entry per attribute, which covers marginals (tables of strides), leaves of a
hierarchical partition (tables of interleaved path bits) and nets in a metric space (one attribute,
any table).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.privacy.tally import Terms, tally

COUNTING = 1.2e-9  # seconds for a record in one table of two columns; see docs/scale.md


@dataclass(frozen=True, eq=False)
class CellMap:
    """Sends a record with codes c to cell `sum(tables[i][c[columns[i]]])`. Public.

    Attributes:
        columns: positions of the attributes used, in the domain's order.
        tables: one per attribute, int64 of shape (cells of the attribute,).
        size: number of cells m; every record is sent to one of 0..m-1.
    """

    columns: tuple[int, ...]
    tables: tuple[Counts, ...]
    size: int

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.tables):
            raise ValueError(f"{len(self.columns)} columns but {len(self.tables)} tables")
        if any(table.dtype != np.int64 for table in self.tables):
            raise TypeError(
                "tables of cells are int64: others would fail where records are counted"
            )
        if any(table.min() < 0 for table in self.tables):
            raise ValueError("a table sends a record to a negative cell")
        if sum(int(table.max()) for table in self.tables) >= self.size:
            raise ValueError(f"the tables reach beyond the {self.size} cells")

    def __call__(self, codes: AnyCodes) -> Counts:
        """Cells of all records; codes of shape (n, d), result of shape (n,)."""
        cells = np.zeros(len(codes), dtype=np.int64)
        for column, table in zip(self.columns, self.tables, strict=True):
            cells += table[codes[:, column]]
        return cells

    def after(self, recoding: Mapping[int, tuple[int, Counts]]) -> "CellMap":
        """The map for records with other codes, which first recodes them and then maps.

        Args:
            recoding: by column of this map, the source column and the new code of every code
                there; columns that are not named stay unchanged.
        """
        return CellMap(
            tuple(recoding[c][0] if c in recoding else c for c in self.columns),
            tuple(
                table[recoding[c][1]] if c in recoding else table
                for c, table in zip(self.columns, self.tables, strict=True)
            ),
            self.size,
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that defines the map: equal digests mean equal maps."""
        sha = hashlib.sha256(repr((self.columns, self.size)).encode())
        for table in self.tables:
            sha.update(np.ascontiguousarray(table, dtype="<i8").tobytes())
        return sha.hexdigest()


def marginal(columns: Sequence[int], shape: Sequence[int]) -> CellMap:
    """The contingency table over `columns`, in C order, of a domain with `shape` cells per column.

    Raises:
        ValueError: there is no column, which would give the number of records (`Curator.total`).
    """
    if not columns:
        raise ValueError("a marginal is over one column at least")
    sizes = [shape[column] for column in columns]
    strides = np.cumprod([1, *sizes[:0:-1]], dtype=np.int64)[::-1]
    tables = tuple(np.arange(k, dtype=np.int64) * s for k, s in zip(sizes, strides, strict=True))
    return CellMap(tuple(columns), tables, int(np.prod(sizes, dtype=np.int64)))


class Counter(Protocol):
    """Holds private records and counts them exactly. Only the curator may use it."""

    def rows(self) -> int:
        """Number of records after truncation to the privacy unit's bound."""
        ...

    def count(self, maps: Sequence[CellMap]) -> list[Counts]:
        """One int64 histogram of shape (map.size,) for each map."""
        ...


def count_codes(codes: AnyCodes, maps: Sequence[CellMap]) -> list[Counts]:
    """Histograms of one block of records; they add up over blocks, in any order.

    Raises:
        IndexError: a record has a code that a map does not know.
    """
    terms = terms_of(maps)
    return terms.split(tally(codes, terms))


def terms_of(maps: Sequence[CellMap]) -> Terms:
    """The maps as the compiled pass over records takes them."""
    return Terms.of([m.columns for m in maps], [m.tables for m in maps], [m.size for m in maps])


class ArrayCounter:
    """Counts records held in memory as an integer array of shape (n, d)."""

    def __init__(self, codes: AnyCodes) -> None:
        self._codes = codes

    def rows(self) -> int:
        return len(self._codes)

    def count(self, maps: Sequence[CellMap]) -> list[Counts]:
        return count_codes(self._codes, maps)
