"""Columns in an order on two grids at once, their own cells and their public bins: two bounds each.

On bins there is less noise, on own cells less width; whichever bound is smaller holds, since all
bounds hold together. Bins of categories bound nothing about the categories.

Claim.   Bounds of `domain`, jointly valid for `codes`, are jointly valid for the records on own
         cells, the second bounds of columns included.
Proof.   A value's bin holds its cell, so a bound on bins, which pays for their widths, is one on
         the values. Estimates of bins are sums of those of cells, so they are linear in the noise.
Oracle.  tests/mechanisms/marginals/binning/test_two_grids.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.bins import Bins, coarse_domain

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class TwoGrids:
    """The second grids are attributes after all others. Public.

    Attributes:
        own: the domain of own cells.
        bins: of columns in an order.
    """

    own: Domain
    bins: tuple[Bins, ...]

    @cached_property
    def domain(self) -> Domain:
        """All columns on their own cells, then those with bins on these."""
        coarse = coarse_domain(Domain(self.own.attributes), self.bins).attributes
        seconds = (coarse[bins.column] for bins in self.bins)
        return Domain(
            (
                *self.own.attributes,
                *(replace(second, name=_on_bins(second.name)) for second in seconds),
            )
        )

    def counts(self, counts: Sequence[Floats]) -> tuple[Floats, ...]:
        """Counts of the columns, shape (..., cells), with those of bins."""
        return (*counts, *(bins.merged(counts[bins.column], -1) for bins in self.bins))

    def codes(self, codes: AnyCodes) -> AnyCodes:
        """Records on both grids."""
        return np.column_stack([codes, *(b.table[codes[:, b.column]] for b in self.bins)])

    def shared(self, known: Mapping[str, T]) -> dict[str, T]:
        """What is known of every column by name, of the second grid where there is one."""
        names = self.own.names
        seconds = {names[bins.column]: _on_bins(names[bins.column]) for bins in self.bins}
        return {name: known[seconds.get(name, name)] for name in names}

    def smaller(self, bounds: Sequence[T], value: Callable[[T], float]) -> tuple[T, ...]:
        """The smaller bound of every column, from those of `domain`."""
        found = list(bounds[: len(self.own)])
        for bins, second in zip(self.bins, bounds[len(self.own) :], strict=True):
            found[bins.column] = min(found[bins.column], second, key=value)
        return tuple(found)


def _on_bins(name: str) -> str:
    return f"{name} on bins"
