"""Bins of a column, and the domain that has bins for cells.

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

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.domain.domain import Attribute, Domain
from hallmark.mechanisms.domain.rules import Rules, RuleTable


@dataclass(frozen=True)
class Bins:
    """Runs of neighbouring cells of one column; its null cell stays a cell of its own. Public.

    Attributes:
        column: position of the attribute in the domain.
        starts: first cell of every bin, ascending from 0.
        levels: cells that hold values.
        has_null: whether there is a null cell besides.
    """

    column: int
    starts: tuple[int, ...]
    levels: int
    has_null: bool

    @property
    def stops(self) -> tuple[int, ...]:
        """The cell after the last of every bin."""
        return (*self.starts[1:], self.levels)

    @cached_property
    def table(self) -> Counts:
        """Bin of every cell, shape (cells,); the null cell's comes last."""
        sizes = np.subtract(self.stops, self.starts)
        table = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        return np.append(table, len(sizes)) if self.has_null else table

    @cached_property
    def firsts(self) -> Counts:
        """First cell of every bin, with the null cell."""
        starts = np.array(self.starts, dtype=np.int64)
        return np.append(starts, self.levels) if self.has_null else starts


def equal_runs(domain: Domain, column: int, bins: int) -> Bins:
    """Bins whose numbers of cells differ by at most one, for plans made before bins are chosen."""
    attribute = domain.attributes[column]
    starts = tuple(i * attribute.levels // bins for i in range(bins))
    return Bins(column, starts, attribute.levels, attribute.has_null)


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


def _coarse(attribute: Attribute, bins: Bins) -> Attribute:
    """A bin reaches from its first cell's lower end to its last cell's upper end."""
    low = (attribute.positions - attribute.widths / 2)[list(bins.starts)]
    high = (attribute.positions + attribute.widths / 2)[np.subtract(bins.stops, 1)]
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
            allowed = np.logical_or.reduceat(allowed, binned[column].firsts, axis=axis)
    return replace(table, allowed=allowed)
