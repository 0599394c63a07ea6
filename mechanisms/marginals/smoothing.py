"""A series of past tables, each estimated from the noisy tables of all periods.

Claim.   Estimates are computed from published answers alone. Where components go through the
         periods as `random_walk` has it, intervals hold on average over the cells of a table.
Oracle.  tests/mechanisms/marginals/test_smoothing.py: coverage over drawn series.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.earlier import EarlierPeriod
from hallmark.mechanisms.inference.random_walk import Walk
from hallmark.mechanisms.marginals.components import (
    cell_covariance,
    of_period,
    parts,
    table,
    walked,
)


@dataclass(frozen=True, eq=False)
class SmoothedTable:
    """A table in every period, in shares of its records.

    Attributes:
        columns: ascending.
        shares: shape (periods, codes of every column).
        covariance: of the errors of one cell in two periods, shape (periods, periods).
        broken: periods in which it, or a margin of it, is not what others made probable.
    """

    columns: Clique
    shares: Floats
    covariance: Floats
    broken: tuple[int, ...]

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the shares' errors, shape (periods,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def changes(self) -> Floats:
        """From the period before, shape (periods - 1, codes of every column)."""
        return np.diff(self.shares, axis=0)

    @property
    def change_deviations(self) -> Floats:
        """Standard deviations of the changes' errors, shape (periods - 1,)."""
        differing = np.diff(np.eye(len(self.covariance)), axis=0)
        return np.asarray(np.sqrt(np.diag(differing @ self.covariance @ differing.T)))


def common_groups(periods: Sequence[EarlierPeriod]) -> dict[int, Counts]:
    """The group of every cell, of columns that all periods have measured with others in the same
    groups of cells."""
    first, *others = [period.groups for period in periods]
    return {
        column: of
        for column, of in first.items()
        if len(np.unique(of)) < len(of)
        and all(column in one and np.array_equal(one[column], of) for one in others)
    }


def smoothed(periods: Sequence[EarlierPeriod], shape: Sequence[int]) -> Iterator[SmoothedTable]:
    """All tables that every period has measured, or that are margins of such.

    Args:
        periods: in order, two at least.
        shape: codes of every column.
    """
    measured = [of_period(period, shape) for period in periods]
    every = set(measured[0]).intersection(*measured[1:])
    common = [{part: one[part] for part in every} for one in measured]
    walks = walked([period.number for period in periods], common)
    for clique in sorted(walks, key=lambda part: (len(part), part)):
        own = parts(clique, shape)
        if not set(own) <= set(walks):
            continue
        joints = {part: walks[part].smoothed for part in own}
        values = {part: joints[part].weights @ walks[part].track.values for part in own}
        shares = [
            table(clique, shape, {part: values[part][t] for part in own})
            for t in range(len(periods))
        ]
        yield SmoothedTable(
            columns=clique,
            shares=np.array(shares),
            covariance=cell_covariance(clique, shape, {p: joints[p].covariance for p in own}),
            broken=_broken([walks[part] for part in own]),
        )


def _broken(walks: Sequence[Walk]) -> tuple[int, ...]:
    return tuple(sorted({period for walk in walks for period in walk.broken}))
