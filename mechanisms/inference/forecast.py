"""What a plan will ask before any answer decides what is asked next, with made-up answers.

The law of the noise in these answers is that of the release, so widths of intervals follow from it
(`Supposed`) for whatever the answers will be.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NoReturn

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.contract import Plan
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.measured import over_grid
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.calls import AllCalls
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import HistogramQuery

_MOST_COMBINATIONS = 2**22  # of codes that are written out


@dataclass(frozen=True, eq=False)
class KnownShares:
    """How records are spread over some columns, as far as is public.

    Attributes:
        columns: ascending positions.
        shares: of all records, by these columns' codes.
    """

    columns: Clique
    shares: Floats


@dataclass(frozen=True, eq=False)
class Supposed(Estimates):
    """Estimates that were made up, with the law of the errors that true ones would have.

    Attributes:
        supposed: shape (queries,).
    """

    supposed: Floats

    @cached_property
    def values(self) -> Floats:
        """The estimates."""
        return self.supposed


def foreseen(
    ask: Callable[[AllCalls], object], plan: Plan, known: Sequence[KnownShares] = ()
) -> tuple[Transcript, bool]:
    """The transcript of a release of this plan up to its first private choice, and whether there
    is none.

    Its answers are those of the expected records without noise, spread as is known, independently
    over columns that are not known together, and evenly over all others. No private byte is read.

    Args:
        ask: the private stages of the plan, one after the other.
        known: of columns that are in no other of them.
    """
    dry = Transcribing(_MadeUp(plan.expected_records, plan.adjacency, tuple(known)))
    try:
        ask(dry)
    except _ChoiceReached:
        return dry.transcript, False
    return dry.transcript, True


class _ChoiceReached(Exception):
    """Everything from here on depends on answers."""


@dataclass(frozen=True)
class _MadeUp:
    """A curator's stand-in that knows how many records to expect, and how some are spread."""

    records: int
    adjacency: Adjacency
    known: tuple[KnownShares, ...]

    def total(self) -> int | None:
        return self.records if self.adjacency.total_is_public else None

    def drawn(self) -> Mapping[str, tuple[Event, ...]]:
        return {}

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        return [query.transform(self._counts(query.cells)) for query in queries]

    def choose(self, *_: Any, **__: Any) -> NoReturn:
        raise _ChoiceReached

    choose_several = choices = refreshed = choose

    def _counts(self, cells: CellMap) -> Counts:
        shares = np.full(cells.size, 1 / cells.size)
        if prod(len(table) for table in cells.tables) <= _MOST_COMBINATIONS:
            spread = self._spread(cells.columns, [len(table) for table in cells.tables])
            shares = np.bincount(over_grid(cells.tables), weights=spread, minlength=cells.size)
        return np.rint(shares * self.records).astype(np.int64)

    def _spread(self, columns: Clique, shape: Sequence[int]) -> Floats:
        """The share of records by the codes of some columns, flat, in C order."""
        spread, left = np.ones(shape), set(columns)
        for one in self.known:
            shared = tuple(axis for axis, column in enumerate(columns) if column in one.columns)
            others = tuple(axis for axis, column in enumerate(one.columns) if column not in columns)
            missing = tuple(axis for axis in range(len(columns)) if axis not in shared)
            spread = spread * np.expand_dims(one.shares.sum(axis=others), missing)
            left -= set(one.columns)
        even = prod(size for size, column in zip(shape, columns, strict=True) if column in left)
        return (spread / even).ravel()
