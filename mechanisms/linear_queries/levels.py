"""Records of the domain from cells of a universe: levels within cells, by the edit rules.

Claim.   Records lie in their cells, so all queries answer as on the cells. Levels are spread evenly
         over a cell; where an edit rule tells them apart, over those that obey all rules together,
         as far as any of the cell does. Columns that no query sees are one cell.
How.     A record that breaks a rule draws its levels again, which keeps all that obey as likely as
         each other; the few that still do after many draws take some that obey by a search.
Limits.  A function between columns that a rule leaves open is settled by the records when they obey
         all else, and holds then where their cells allow it. What still breaks a rule is left to
         the release, which moves records to other cells.
Oracle.  tests/mechanisms/linear_queries/test_levels.py: all records of small domains.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hallmark.mechanisms.arrays import Codes, Integers
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.rules.rules import joint_of

REDRAWS = 30  # how often a record draws again; after so many, a search finds its levels


def on_cells(rules: Rules, columns: Sequence[int], levels: Sequence[Integers]) -> Rules:
    """Rules of a domain on the cells of a universe: of `columns`, then of the unseen that count.

    Args:
        columns: positions in the domain of the universe's columns.
        levels: for each, the cell of every level.
    """
    order = _order(rules, columns)
    unseen = (np.zeros(rules.shape[c], dtype=np.int64) for c in order[len(columns) :])
    return rules.coarser(order, [*levels, *unseen])


def records_of(
    domain: Domain,
    columns: Sequence[int],
    levels: Sequence[Integers],
    cells: Integers,
    rng: np.random.Generator,
) -> Codes:
    """Codes of the domain, shape (rows, attributes), for cells by column of the universe.

    Args:
        columns, levels: as of `on_cells`.
        cells: shape (rows, columns).
    """
    deal = _Deal(domain.shape, tuple(columns), levels, cells, rng)
    everyone = np.arange(len(cells))
    codes = np.stack([deal.levels_of(c, everyone) for c in range(len(domain))], axis=1)
    codes = deal.obedient(codes, replace(domain.rules, determinations=()))
    if domain.rules.determinations:
        codes = deal.obedient(codes, domain.rules.settled(joint_of(codes, domain.shape)))
    return codes


@dataclass(frozen=True, eq=False)
class _Deal:
    """Deals levels to records by their cells."""

    shape: tuple[int, ...]
    columns: tuple[int, ...]
    levels: Sequence[Integers]
    cells: Integers
    rng: np.random.Generator

    def levels_of(self, column: int, rows: Integers) -> Codes:
        """Levels of a column of the domain, for some of the records."""
        found = np.empty(len(rows), dtype=np.int32)
        if column not in self.columns:
            found[:] = self._evenly(np.arange(self.shape[column]), len(rows))
            return found
        position = self.columns.index(column)
        own = self.cells[rows, position]
        for cell in np.unique(own):
            members = np.flatnonzero(own == cell)
            within = np.flatnonzero(self.levels[position] == cell)
            found[members] = self._evenly(within, len(members))
        return found

    def obedient(self, codes: Codes, rules: Rules) -> Codes:
        """The records, with other levels where they break a rule and their cells allow some that
        do not."""
        codes, touched = codes.copy(), [c for group in rules.components for c in group]
        left = np.flatnonzero(~rules.valid(codes))
        for _ in range(REDRAWS):
            if len(left) == 0:
                return codes
            again = codes[left]
            for column in touched:
                again[:, column] = self.levels_of(column, left)
            fine = rules.valid(again)
            codes[left[fine]] = again[fine]
            left = left[~fine]
        order = _order(rules, self.columns)
        asked = np.zeros((len(left), len(order)), dtype=np.int32)
        asked[:, : len(self.columns)] = self.cells[left]
        parts = on_cells(rules, self.columns, self.levels).parts_within(asked, self.rng)
        found = (parts >= 0).all(axis=1)
        for position, column in enumerate(order):
            if column in touched:
                codes[left[found], column] = rules.part_cells[column][parts[found, position]]
        return codes

    def _evenly(self, values: Integers, rows: int) -> Integers:
        """This many values in random order, with frequencies that differ by at most one."""
        return self.rng.permutation(np.resize(self.rng.permutation(values), rows))


def _order(rules: Rules, columns: Sequence[int]) -> tuple[int, ...]:
    """The universe's columns, and those behind them that rules touch besides."""
    touched = (column for group in rules.components for column in group)
    return (*columns, *(column for column in touched if column not in columns))
