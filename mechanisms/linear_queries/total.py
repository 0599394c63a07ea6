"""The number of records, for methods that compare answers with shares: known, or measured first.

Claim.   Where neighbours differ in the number of records, it is measured once, with a share of the
         budget, before anything else; what follows sees only the noisy number.
Source.  mechanisms/privacy/transforms.py, `Total`, for the sensitivity.
Oracle.  tests/mechanisms/linear_queries/test_total.py.
"""

from dataclasses import dataclass
from fractions import Fraction

from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.linear_queries.spending import Amount
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.calls import Histograms, TablesByCall
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import HistogramQuery, Noise
from hallmark.mechanisms.privacy.transforms import Total

_CALL = "total"
TOTAL_SHARE = Fraction(1, 20)  # of the amount, where the number of records is private


@dataclass(frozen=True, eq=False)
class Records:
    """How a method learns the number of records. Public.

    Attributes:
        query: None where the number is public.
    """

    adjacency: Adjacency
    query: HistogramQuery | None

    @property
    def events(self) -> tuple[Event, ...]:
        return () if self.query is None else (self.query.event(self.adjacency),)

    @property
    def lines(self) -> tuple[NoiseLine, ...]:
        if self.query is None:
            return ()
        return (NoiseLine.of(self.query, "the number of records", 1, adjacency=self.adjacency),)

    def ask(self, curator: Histograms) -> TablesByCall:
        """The noisy number, or nothing where it is public."""
        if self.query is None:
            return {}
        return {_CALL: tuple(curator.histograms(_CALL, [self.query]))}

    def number(self, answers: TablesByCall, total: int | None) -> int:
        """The number to go on with, at least 1.

        Args:
            answers: with those of `ask`.
            total: where that is public.
        """
        if self.query is None:
            assert total is not None, "a public number of records"
            return max(total, 1)
        return max(int(answers[_CALL][0][0]), 1)


class CountsRecords:
    """What methods have in common that learn the number of records first, as `count` says."""

    count: Records

    @property
    def total_noise(self) -> Noise | None:
        """The noise on the number of records, if it is measured."""
        return None if self.count.query is None else self.count.query.noise

    def records(self, answers: TablesByCall, total: int | None) -> int:
        """The number of records to go on with."""
        return self.count.number(answers, total)


def shared(amount: Amount, adjacency: Adjacency) -> Amount:
    """What is left of an amount when the number of records has been paid."""
    return amount if adjacency.total_is_public else amount.part(1 - TOTAL_SHARE)


def records(universe: Universe, amount: Amount, adjacency: Adjacency) -> Records:
    """How the number of records is learnt out of an amount for everything."""
    if adjacency.total_is_public:
        return Records(adjacency, None)
    cells: CellMap = min(universe.queries.maps, key=lambda cells: cells.size)
    noise: Noise = amount.part(TOTAL_SHARE).noise(Total(), adjacency)
    return Records(adjacency, HistogramQuery(cells, noise, Total()))
