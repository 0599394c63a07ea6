"""What a plan will ask before any answer decides what is asked next, with made-up answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.contract import Plan
from hallmark.mechanisms.inference.measured import over_grid
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.calls import AllCalls
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import HistogramQuery

_MOST_COMBINATIONS = 2**22  # of codes that are written out


def foreseen(ask: Callable[[AllCalls], object], plan: Plan) -> tuple[Transcript, bool]:
    """The transcript of a release of this plan up to its first private choice, and whether there
    is none.

    Its answers are those of the expected records, spread evenly over all combinations of codes,
    without noise. No private byte is read.

    Args:
        ask: the private stages of the plan, one after the other.
    """
    dry = Transcribing(_EvenlySpread(plan.expected_records, plan.adjacency))
    try:
        ask(dry)
    except _ChoiceReached:
        return dry.transcript, False
    return dry.transcript, True


class _ChoiceReached(Exception):
    """Everything from here on depends on answers."""


@dataclass(frozen=True)
class _EvenlySpread:
    """A curator's stand-in that knows how many records to expect, and nothing else."""

    records: int
    adjacency: Adjacency

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
            counts = np.bincount(over_grid(cells.tables), minlength=cells.size)
            shares = counts / counts.sum()
        return np.rint(shares * self.records).astype(np.int64)
