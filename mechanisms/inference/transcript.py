"""The transcript of a release: every question that the curator was asked, with its answer.

It is kept by a curator's stand-in, so every mechanism's transcript is complete, whatever its own
measurements leave out, and in the codes of the records, whatever cells the mechanism thinks in.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.calls import AllCalls
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.privacy.queries import Admissible, HistogramQuery, Question, Score
from hallmark.mechanisms.privacy.refresh import Refresh, StepQuestion


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """A noisy histogram: the curator's call, the question, and its answer."""

    call: str
    query: HistogramQuery
    answer: Counts


@dataclass(frozen=True, kw_only=True)
class ChosenQuery:
    """What was chosen: a query by its place among those of its columns, or a whole table.

    Attributes:
        columns: that it depends on.
        row: its number among the queries of these columns; None for the table.
        above: whether its answer was found above the model's, or below; None for a table.
    """

    columns: Clique
    row: int | None = None
    above: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Private choices of one call, in their order.

    Attributes:
        events: that were charged for the choices.
        among: number of candidates.
    """

    call: str
    events: tuple[ExponentialMechanism, ...]
    among: int
    chosen: tuple[ChosenQuery, ...]


@dataclass(frozen=True, eq=False)
class Transcript:
    """Everything asked and answered, in order. Public.

    Attributes:
        entries: noisy histograms and private choices.
        total: the number of records, if it is public.
    """

    entries: tuple[Answered | Choice, ...]
    total: int | None

    def __add__(self, later: "Transcript") -> "Transcript":
        return replace(later, entries=(*self.entries, *later.entries))

    def about(self, columns: Collection[int]) -> "Transcript":
        """Without histograms of other columns; what was chosen stays."""
        kept = (
            entry
            for entry in self.entries
            if isinstance(entry, Choice) or set(entry.query.cells.columns) <= set(columns)
        )
        return replace(self, entries=tuple(kept))

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The private choices."""
        return tuple(entry for entry in self.entries if isinstance(entry, Choice))

    def histograms(self) -> Iterator[tuple[Answered, bool]]:
        """Each noisy histogram, and whether it was asked after a choice, or because of answers."""
        chosen = False
        for entry in self.entries:
            if isinstance(entry, Choice):
                chosen = True
            else:
                query = entry.query
                yield entry, chosen or query.adaptive or query.cells_chosen

    def tables(self) -> Iterator[MeasuredTable]:
        """What the linear histograms among them measured."""
        for entry, conditional in self.histograms():
            sums = entry.query.transform.sums(entry.query.cells.size)
            if sums is not None:
                yield MeasuredTable(
                    cells=entry.query.cells,
                    sums=sums,
                    noise=entry.query.noise,
                    answers=entry.answer,
                    conditional=conditional,
                )


@dataclass(frozen=True)
class Transcribing:
    """Asks a curator, and keeps the transcript."""

    curator: AllCalls
    _entries: list[Answered | Choice] = field(default_factory=list)

    @property
    def transcript(self) -> Transcript:
        """Everything so far."""
        return Transcript(tuple(self._entries), self.total())

    def total(self) -> int | None:
        return self.curator.total()

    def drawn(self) -> Mapping[str, tuple[Event, ...]]:
        return self.curator.drawn()

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        answers = self.curator.histograms(call, queries)
        self._entries.extend(
            Answered(call=call, query=query, answer=answer)
            for query, answer in zip(queries, answers, strict=True)
        )
        return answers

    def choose(self, call: str, candidates: Sequence[Score], event: ExponentialMechanism) -> int:
        index = self.curator.choose(call, candidates, event)
        chosen = ChosenQuery(columns=candidates[index].cells.columns)
        self._keep(call, [event], len(candidates), [chosen])
        return index

    def choose_several(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> list[int]:
        positions = self.curator.choose_several(call, candidates, event)
        chosen = [ChosenQuery(columns=candidates[index].cells.columns) for index in positions]
        self._keep(call, [event], len(candidates), chosen)
        return positions

    def choices(
        self,
        call: str,
        queries: LinearQueries,
        question: Question,
        events: Sequence[ExponentialMechanism],
        admissible: Admissible | None = None,
    ) -> list[int]:
        positions = self.curator.choices(call, queries, question, events, admissible)
        self._keep(call, events, 2 * queries.size, _located(queries, positions))
        return positions

    def refreshed(
        self,
        call: str,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
    ) -> list[int]:
        positions = self.curator.refreshed(call, queries, question, start, refreshes)
        events = [event for refresh in refreshes for event in refresh.events]
        self._keep(call, events, 2 * queries.size, _located(queries, positions))
        return positions

    def _keep(
        self,
        call: str,
        events: Sequence[ExponentialMechanism],
        among: int,
        chosen: Sequence[ChosenQuery],
    ) -> None:
        self._entries.append(
            Choice(call=call, events=tuple(events), among=among, chosen=tuple(chosen))
        )


def _located(queries: LinearQueries, positions: Sequence[int]) -> list[ChosenQuery]:
    located = []
    for position in positions:
        block, row = queries.located(position % queries.size)
        columns = queries.blocks[block].cells.columns
        located.append(ChosenQuery(columns=columns, row=row, above=position < queries.size))
    return located
