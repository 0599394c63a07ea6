"""What a stage may ask of the curator, as protocols: each stage names the calls that it makes.

`Curator` has all of them, and says what each returns, charges and raises. A stand-in, which asks a
curator the same questions in other cells, has those that its stages make.
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
    """Tells the number of records where that is public."""

    def total(self) -> int | None: ...


class Histograms(Protocol):
    """Answers histograms with noise."""

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]: ...


class TableChoice(Protocol):
    """Chooses among tables by their scores."""

    def choose(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> int: ...


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
    """Keeps chosen queries or draws them anew, round after round."""

    def refreshed(
        self,
        call: str,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
    ) -> list[int]: ...


class DrawnCalls(Protocol):
    """Tells what the release was charged for so far."""

    def drawn(self) -> Mapping[str, tuple[Event, ...]]: ...


class Measuring(PublicTotal, Histograms, Protocol):
    """What a mechanism needs whose plan says all that is asked."""


class MarginalRounds(Measuring, TableChoice, DrawnCalls, Protocol):
    """What a selection of marginals needs that chooses on answers, and resumes."""


class QueryRounds(Measuring, QueryChoices, Protocol):
    """What a method for linear queries needs that chooses on answers."""


class RefreshedRounds(QueryRounds, Refreshes, Protocol):
    """What any method for linear queries may need."""


class AllCalls(MarginalRounds, RefreshedRounds, Protocol):
    """What any mechanism may need: everything that a curator answers."""
