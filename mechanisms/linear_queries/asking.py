"""A curator that is asked about a universe's cells while the private records have the domain's.

Claim.   What it asks is charged as what a curator of records in the universe would be asked.
Proof.   A map from the universe's cells joined to the map from levels to those cells is a map from
         records to cells, about which sensitivities are stated (`privacy.adjacency`), and queries
         have the same values. The log's key has the joined tables.
Oracle.  tests/mechanisms/linear_queries/test_asking.py recodes the records instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.calls import RefreshedRounds
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import Block, LinearQueries
from hallmark.mechanisms.privacy.queries import Admissible, HistogramQuery, Question
from hallmark.mechanisms.privacy.refresh import Refresh, StepQuestion


@dataclass(frozen=True)
class UniverseCurator:
    """Asks `curator` what it is asked, in the domain's cells.

    Attributes:
        columns: positions in the domain of the universe's columns.
        where: ends every call's name, so that universes on the same records are told apart.
        counted: the number of records, where it was measured before.
    """

    curator: RefreshedRounds
    universe: Universe
    columns: tuple[int, ...]
    where: str = ""
    counted: int | None = None

    def total(self) -> int | None:
        """The number of records where it is known, by `Curator.total` or by what was measured."""
        return self.curator.total() if self.counted is None else self.counted

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        """See `Curator.histograms`."""
        asked = [replace(query, cells=self._of_records(query.cells)) for query in queries]
        return self.curator.histograms(call + self.where, asked)

    def choices(
        self,
        call: str,
        queries: LinearQueries,
        question: Question,
        events: Sequence[ExponentialMechanism],
        admissible: Admissible | None = None,
    ) -> list[int]:
        """See `Curator.choices`."""
        named, asked = call + self.where, self._asked(queries)
        return self.curator.choices(named, asked, question, events, admissible)

    def refreshed(
        self,
        call: str,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
    ) -> list[int]:
        """See `Curator.refreshed`."""
        named, asked = call + self.where, self._asked(queries)
        return self.curator.refreshed(named, asked, question, start, refreshes)

    def _asked(self, queries: LinearQueries) -> LinearQueries:
        return self._queries if queries is self.universe.queries else self._on_records(queries)

    @cached_property
    def _queries(self) -> LinearQueries:
        return self._on_records(self.universe.queries)

    def _on_records(self, queries: LinearQueries) -> LinearQueries:
        blocks = (Block(self._of_records(one.cells), one.rows) for one in queries.blocks)
        return LinearQueries(tuple(blocks), queries.unit)

    def _of_records(self, cells: CellMap) -> CellMap:
        recoding = zip(self.columns, self.universe.levels, strict=True)
        return cells.after(dict(enumerate(recoding)))
