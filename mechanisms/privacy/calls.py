"""Protocols for the calls to the curator: each stage names the calls that it makes.

`Curator` has all of them, and documents what each returns, charges and raises. A stand-in, which
asks a curator the same questions in other cells, has the calls that its stages make.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.privacy.queries import Admissible, HistogramQuery, Question, Score
from hallmark.mechanisms.privacy.refresh import Refresh, StepQuestion

TablesByCall = Mapping[str, tuple[Counts, ...]]
"""Answers by the call's name, as the measurement log has it: a table for each query, in order."""


class PublicTotal(Protocol):
    """Gives the number of records if it is public."""

    def total(self) -> int | None: ...


class Histograms(Protocol):
    """Answers noisy histograms."""

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]: ...


class TableChoice(Protocol):
    """Chooses among tables by their scores."""

    def choose(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> int: ...

    def choose_several(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> list[int]: ...


class QueryChoices(Protocol):
    """Chooses among linear queries, several times in one call."""

    def choices(
        self,
        call: str,
        queries: LinearQueries,
        question: Question,
        events: Sequence[ExponentialMechanism],
        admissible: Admissible | None = None,
    ) -> list[int]: ...


class Refreshes(Protocol):
    """Keeps or redraws chosen queries, round after round."""

    def refreshed(
        self,
        call: str,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
    ) -> list[int]: ...


class DrawnCalls(Protocol):
    """Lists the calls that the release has been charged for."""

    def drawn(self) -> Mapping[str, tuple[Event, ...]]: ...


class Measuring(PublicTotal, Histograms, Protocol):
    """Calls of a mechanism whose plan fixes all questions."""


class MarginalRounds(Measuring, TableChoice, DrawnCalls, Protocol):
    """Calls of a selection of marginals that depends on answers, and can be resumed."""


class QueryRounds(Measuring, QueryChoices, Protocol):
    """Calls of a method for linear queries that depends on answers."""


class RefreshedRounds(QueryRounds, Refreshes, Protocol):
    """Calls of all methods for linear queries."""


class AllCalls(MarginalRounds, RefreshedRounds, Protocol):
    """Calls of all mechanisms: everything that a curator answers."""
