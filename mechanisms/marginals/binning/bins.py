"""Bins of a column, private or public, and the domain that has bins for cells.

Claim.   A record that obeys the rules of a domain has bins that obey the rules of `coarse_domain`,
         and records with its totals have those of `coarse_domain`.
Proof.   A table on bins allows what holds an allowed combination of cells. A function of a binned
         column need not be one of its bins, so it is left out; what an unbinned column determines,
         it determines the bin of. Parts of cells are parts of the bins that hold them. Totals of
         binned columns are left out. (What the records lack then, every release sees to at last.)
Oracle.  tests/mechanisms/marginals/binning/test_bins.py: all records of small domains.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats, Mask
from hallmark.mechanisms.domain.domain import Attribute, Domain
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.request import Request

Merged = TypeVar("Merged", Floats, Counts, Mask)


@dataclass(frozen=True)
class Bins:
    """Groups of the cells of one column; its null cell stays a cell of its own. Public.

    Attributes:
        column: position of the attribute in the domain.
        of: bin of every cell that holds values; every bin has one at least. In order, bins are runs
            of neighbours.
        has_null: whether there is a null cell besides.
    """

    column: int
    of: tuple[int, ...]
    has_null: bool

    @classmethod
    def runs(cls, column: int, starts: Sequence[int], levels: int, has_null: bool) -> "Bins":
        """Bins of neighbouring cells, from the first cell of each."""
        sizes = np.diff([*starts, levels])
        of = np.repeat(np.arange(len(sizes)), sizes)
        return cls(column, tuple(int(number) for number in of), has_null)

    @property
    def number(self) -> int:
        """How many there are, without the null cell."""
        return max(self.of) + 1

    @property
    def starts(self) -> tuple[int, ...]:
        """First cell of every bin of neighbours."""
        return tuple(int(cell) for cell in self.firsts[: self.number])

    @property
    def firsts(self) -> Counts:
        """First cell of every bin, that of the null cell included."""
        return self._order[self._begins]

    @cached_property
    def table(self) -> Counts:
        """Bin of every cell, shape (cells,); the null cell's comes last."""
        table = np.array(self.of, dtype=np.int64)
        return np.append(table, self.number) if self.has_null else table

    @cached_property
    def sizes(self) -> Counts:
        """Cells of every bin, that of the null cell included."""
        return np.bincount(self.table)

    def of_pieces(self, pieces: "Bins") -> "Bins":
        """The bins of pieces, which are smaller bins of the same cells."""
        firsts = pieces.firsts[: pieces.number]
        return replace(self, of=tuple(int(number) for number in self.table[firsts]))

    @cached_property
    def _order(self) -> Counts:
        """Cells by bin."""
        return np.argsort(self.table, kind="stable")

    @cached_property
    def _begins(self) -> Counts:
        """Where every bin begins in `_order`."""
        return np.append(0, np.cumsum(self.sizes)[:-1])

    def merged(self, table: Merged, axis: int, by: np.ufunc = np.add) -> Merged:
        """A table of cells along an axis as one of bins, by a sum or another reduction."""
        return by.reduceat(np.take(table, self._order, axis=axis), self._begins, axis=axis)


def equal_runs(domain: Domain, column: int, bins: int) -> Bins:
    """Bins whose numbers of cells differ by at most one, for plans made before bins are chosen."""
    attribute = domain.attributes[column]
    starts = tuple(i * attribute.levels // bins for i in range(bins))
    return Bins.runs(column, starts, attribute.levels, attribute.has_null)


def coarse_domain(domain: Domain, every: Sequence[Bins]) -> Domain:
    """The domain with bins for cells in the columns that have them, under loosened rules."""
    binned = {bins.column: bins for bins in every}
    attributes = list(domain.attributes)
    for column, bins in binned.items():
        attributes[column] = _coarse(domain.attributes[column], bins)
    shape = tuple(attribute.cells for attribute in attributes)
    others = (t for t in domain.totals.totals if binned.keys().isdisjoint(t.columns))
    return Domain(
        tuple(attributes),
        rules=_loosened(domain.rules, shape, binned),
        totals=replace(domain.totals, shape=shape, totals=tuple(others)),
    )


def on_bins(request: Request, every: Sequence[Bins]) -> Request:
    """The request of a mechanism that sees bins for cells."""
    public = request.public
    if public is not None:
        public = public.copy()
        for bins in every:
            public[:, bins.column] = bins.table[public[:, bins.column]]
    earlier = request.earlier and request.earlier.on_bins({b.column: b.table for b in every})
    domain = coarse_domain(request.domain, every)
    return replace(request, domain=domain, public=public, earlier=earlier)


def _coarse(attribute: Attribute, bins: Bins) -> Attribute:
    """A bin reaches from its first cell's lower end to its last cell's upper end."""
    if not attribute.kind.ordered:
        places = (np.arange(bins.number) + 0.5) / bins.number
        return replace(attribute, positions=places, widths=np.zeros(bins.number))
    of = np.array(bins.of)
    low, high = np.full(bins.number, np.inf), np.full(bins.number, -np.inf)
    np.minimum.at(low, of, attribute.positions - attribute.widths / 2)
    np.maximum.at(high, of, attribute.positions + attribute.widths / 2)
    return replace(attribute, positions=(low + high) / 2, widths=high - low)


def _loosened(rules: Rules, shape: tuple[int, ...], binned: Mapping[int, Bins]) -> Rules:
    parts = rules.parts
    if parts is not None:
        cells = (binned[c].table[of] if c in binned else of for c, of in enumerate(parts.cells))
        parts = replace(parts, cells=tuple(cells))
    return replace(
        rules,
        shape=shape,
        tables=tuple(_on_bins(table, binned) for table in rules.tables),
        determinations=tuple(d for d in rules.determinations if d.column not in binned),
        parts=parts,
    )


def _on_bins(table: RuleTable, binned: Mapping[int, Bins]) -> RuleTable:
    allowed = table.allowed
    for axis, column in enumerate(table.columns):
        if column in binned:
            allowed = binned[column].merged(allowed, axis, np.logical_or)
    return replace(table, allowed=allowed)
