"""The curator: the private data behind two kinds of call, noisy histograms and noisy choices.

Claim.   Everything a curator returns is a function of outcomes in the measurement log; each logged
         outcome was drawn once, with the noise of its event, after the event was shown to fit the
         budget reserved for the release. So a release is as private as the composition of the
         events in its log, however often its code runs, resumes or is re-executed.
Order.   Look the call up in the log; if it is there, return the logged outcome. Otherwise count,
         draw in memory, and make charge and outcome durable in one transaction; only then answer.
         A crash before the transaction leaves a draw that nobody saw; a crash after it leaves a
         call that is read back.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.accountant import BudgetExceeded, fits
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import Counter
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism, merged
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError, Standing
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.privacy.noise import (
    add_discrete_gaussian,
    add_discrete_laplace,
    choose,
    happens,
)
from hallmark.mechanisms.privacy.queries import (
    SCORE_STEPS,
    Admissible,
    GaussianNoise,
    HistogramQuery,
    LaplaceNoise,
    Noise,
    Question,
    Score,
    admitted,
    signed_misfits,
)
from hallmark.mechanisms.privacy.refresh import Refresh, StepQuestion

Chosen = TypeVar("Chosen", int, str)
"""What the log has of a choice: a position among queries, or the digest of a table."""

_CELLS_AT_ONCE = 2**23  # of the tables from which scores are computed: 64 MiB of counts


@dataclass(frozen=True, kw_only=True)
class Curator:
    """Answers queries on private records, and charges the account of the release's reservation.

    Attributes:
        counter: holds the private records; nothing else in Hallmark uses it.
        ledger: holds the release's open reservation of `budget`, and its log.
        release: name of the release; (release, call) identifies one draw for ever.
        adjacency: neighbouring relation and unit under which every sensitivity is stated.
        budget: the budget that the release reserved.
    """

    counter: Counter
    ledger: Ledger
    release: str
    adjacency: Adjacency
    budget: Budget

    def total(self) -> int | None:
        """Number of records if it is public, else None (measure it instead)."""
        return self.counter.rows() if self.adjacency.total_is_public else None

    def drawn(self) -> Mapping[str, tuple[Event, ...]]:
        """The release's logged calls so far: the events charged for each, by the call's name.

        Raises:
            LedgerError: the release never had a reservation.
        """
        return {logged.call: logged.events for logged in self.ledger.calls(self.release)}

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        """Noisy answers, one int64 array per query, with independent noise on all entries.

        Raises:
            BudgetExceeded: the release's log with this call would cost more than its budget.
            LedgerError: the call was logged for other queries, or the reservation is gone.
        """
        # A public total is part of the question: if the data change, answers from the old data with
        # the total of the new data would make a false certificate.
        request = _digest("histograms", [str(self.total()), *(query.digest for query in queries)])
        events = merged(query.event(self.adjacency) for query in queries)
        logged = self.ledger.lookup(self.release, call, request)
        if logged is None:
            self._check(self.ledger.standing(self.release).charged(events))
            noisy = self._draw(queries)
            logged = self.ledger.record(
                self.release, call, request, events, _pack([t.tolist() for t in noisy]), self._check
            )
        return [np.array(table, dtype=np.int64) for table in _unpack(logged)]

    def choose(self, call: str, candidates: Sequence[Score], event: ExponentialMechanism) -> int:
        """Position of a candidate, drawn with probability proportional to
        exp(epsilon * score / (2 sensitivity)); the sensitivity is the largest of all candidates.

        Scores are not assumed to be monotone in the records, which would halve the charge: an
        additional record may raise the misfit of one candidate and lower that of another.

        The log records the table that the chosen candidate scores. References are not part of the
        request: they come from models of earlier answers, fitted in floating-point arithmetic, and
        differ slightly in a run that resumes on another processor. Such a run still gets the
        logged choice, which reveals no more about the records than it did before.

        Raises:
            BudgetExceeded: as for `histograms`.
            LedgerError: as for `histograms`; or the logged choice is no longer a candidate.
            ValueError: two candidates score the same table.
        """
        names = _names(candidates)
        terms = [str(event.epsilon), *(["adaptive"] if event.adaptive else [])]
        request = _digest("choose", [str(self.total()), *terms])
        logged = self.ledger.lookup(self.release, call, request)
        if logged is None:
            self._check(self.ledger.standing(self.release).charged([event]))
            scores = self._scores(candidates)
            index = choose(scores, sensitivity=self._sensitivity(candidates), epsilon=event.epsilon)
            logged = self.ledger.record(
                self.release, call, request, (event,), _pack(names[index]), self._check
            )
        return self._position(call, _unpack(logged), names)

    def choose_several(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> list[int]:
        """Positions of `event.times` different candidates, drawn one after the other as `choose`
        draws them, each among those that are left.

        Earlier draws decide which are left, so they are the same for neighbours; and fewer scores
        have no larger sensitivity. So the law of each draw, given the earlier ones, is that of one
        exponential mechanism (Durfee, Rogers 2019, arXiv:1905.04273, section 3: "peeling"). All
        are logged as one call. References are no part of the request, as for `choose`.

        Raises:
            BudgetExceeded, LedgerError: as for `choose`.
            ValueError: two candidates score the same table, or there are fewer than draws.
        """
        names = _names(candidates)
        if len(names) < event.times:
            raise ValueError(f"{event.times} different choices among {len(names)} candidates")
        terms = [str(event.epsilon), str(event.times), *(["adaptive"] if event.adaptive else [])]
        request = _digest("choose-several", [str(self.total()), *terms])

        def draw(chosen: list[str]) -> None:
            scores, sensitivity = self._scores(candidates), self._sensitivity(candidates)
            left = list(range(len(names)))
            for _ in range(event.times):
                place = choose(
                    [scores[i] for i in left], sensitivity=sensitivity, epsilon=event.epsilon
                )
                chosen.append(names[left.pop(place)])

        drawn = self._in_one_call(call, request, (event,), draw)
        return [self._position(call, name, names) for name in drawn]

    def _position(self, call: str, chosen: str, names: Sequence[str]) -> int:
        """Of what was chosen among the candidates.

        Raises:
            LedgerError: it is no longer a candidate.
        """
        if chosen not in names:
            raise LedgerError(
                f"release {self.release!r}, call {call!r}: what was chosen before is no candidate "
                "now; go back to what the release was started with (its constraints, and the "
                "version of the code), or choose another name for a release with its own budget"
            )
        return names.index(chosen)

    def choices(
        self,
        call: str,
        queries: LinearQueries,
        question: Question,
        events: Sequence[ExponentialMechanism],
        admissible: Admissible | None = None,
    ) -> list[int]:
        """Positions of the worst-fitting queries or negated queries, one choice per event.

        Position r < `queries.size` means a query whose answer is above the question's reference,
        and `queries.size` + r one whose answer is below. Choice t is drawn with probability
        proportional to exp(epsilon_t misfit / (2 sensitivity)). All are logged as one call: later
        questions depend on earlier choices, which nobody has seen until they are in the log.

        With `admissible`, a choice is among the queries that it leaves. Only earlier choices decide
        which these are, so they are the same for neighbours; and fewer scores have no larger
        sensitivity. So the law of each choice, given the earlier ones, is that of its event. If
        none is left, the choices end, but all are still charged.

        Raises:
            BudgetExceeded, LedgerError: as for `histograms`.
            ValueError: no query is admissible at first.
        """
        terms = [f"{event.epsilon} {event.times} {event.adaptive}" for event in events]
        terms += [queries.digest, question.digest]
        if admissible is not None:
            terms.append(f"admissible {admissible.digest}")
        request = _digest("choices", [str(self.total()), *terms])

        def draw(chosen: list[int]) -> None:
            self._choose_in_turn(queries, question, events, admissible, chosen)

        return self._in_one_call(call, request, events, draw)

    def refreshed(
        self,
        call: str,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
    ) -> list[int]:
        """Queries of every round, each kept from the round before or drawn again.

        Args:
            start: positions, as in `choices`, with which the first refresh begins; public, and
                fixed by the question.
            refreshes: one per round, all for the same number of queries as `start`.

        Returns:
            Positions after each refresh, one round after the other.

        Raises:
            BudgetExceeded, LedgerError: as for `histograms`.
            ValueError: a refresh is charged for a different number of queries from that in `start`.
        """
        if any(refresh.queries != len(start) for refresh in refreshes):
            raise ValueError(f"{len(start)} queries are held, but a refresh is charged for others")
        terms = [repr(refresh) for refresh in refreshes]
        terms += [str(list(start)), queries.digest, question.digest]
        request = _digest("refreshed", [str(self.total()), *terms])
        events = merged(event for refresh in refreshes for event in refresh.events)

        def draw(chosen: list[int]) -> None:
            self._refresh_in_turn(queries, question, start, refreshes, chosen)

        return self._in_one_call(call, request, events, draw)

    def _in_one_call(
        self,
        call: str,
        request: str,
        events: Sequence[Event],
        draw: Callable[[list[Chosen]], None],
    ) -> list[Chosen]:
        """The logged choices of the call, or those that `draw` appends to a list, then logged."""
        logged = self.ledger.lookup(self.release, call, request)
        if logged is None:
            self._check(self.ledger.standing(self.release).charged(events))
            chosen: list[Chosen] = []

            def log() -> bytes:
                return self.ledger.record(
                    self.release, call, request, events, _pack(chosen), self._check
                )

            try:
                draw(chosen)
            except Exception:
                # A failing question reveals something about these choices, so they are charged.
                if chosen:
                    log()
                raise
            logged = log()
        return list(_unpack(logged))

    def _choose_in_turn(
        self,
        queries: LinearQueries,
        question: Question,
        events: Sequence[ExponentialMechanism],
        admissible: Admissible | None,
        chosen: list[int],
    ) -> None:
        """Draw the choices one after the other into `chosen`."""
        answers = queries.answers(self.counter.count(queries.maps))
        sensitivity = SCORE_STEPS * queries.sensitivity(self.adjacency)
        for event in (one for one in events for _ in range(one.times)):
            earlier = tuple(chosen)
            among = admitted(admissible, earlier, queries.size)
            if not len(among):
                if not chosen:
                    raise ValueError("no query is admissible, so there is none to choose")
                return
            scores = signed_misfits(answers, question(earlier))[among]
            position = choose(scores.tolist(), sensitivity=sensitivity, epsilon=event.epsilon)
            chosen.append(int(among[position]))

    def _refresh_in_turn(
        self,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
        chosen: list[int],
    ) -> None:
        """Append the queries of one round after the other to `chosen`."""
        answers = queries.answers(self.counter.count(queries.maps))
        sensitivity = SCORE_STEPS * queries.sensitivity(self.adjacency)
        held = list(start)
        for refresh in refreshes:
            earlier = tuple(chosen)
            scores = signed_misfits(answers, question(earlier)).tolist()
            latest = signed_misfits(answers, question.latest(earlier)).tolist()
            left = refresh.draws
            for place, position in enumerate(held):
                exponent = refresh.exponent(question.most - latest[position], sensitivity)
                if left and not happens(exponent):
                    left -= 1
                    held[place] = choose(
                        scores, sensitivity=sensitivity, epsilon=refresh.draw.epsilon
                    )
            chosen += held

    def _sensitivity(self, candidates: Sequence[Score]) -> int:
        """Of the scores of all candidates: the largest."""
        return max(score.sensitivity(self.adjacency) for score in candidates)

    def _scores(self, candidates: Sequence[Score]) -> list[int]:
        """Exact scores, counting as many tables at once as memory allows."""
        scores: list[int] = []
        for batch in _batches(candidates):
            tables = self.counter.count([score.cells for score in batch])
            scores += [score(table) for score, table in zip(batch, tables, strict=True)]
        return scores

    def _draw(self, queries: Sequence[HistogramQuery]) -> list[Counts]:
        maps = {query.cells.digest: query.cells for query in queries}
        tables = dict(zip(maps, self.counter.count(list(maps.values())), strict=True))
        exact = [query.transform(tables[query.cells.digest]) for query in queries]
        noisy: dict[int, Counts] = {}
        # Tables with the same noise are drawn in one go: many small draws would cost more.
        for noise, same in _positions(query.noise for query in queries).items():
            stacked = np.concatenate([exact[position] for position in same])
            match noise:
                case LaplaceNoise(scale):
                    drawn = add_discrete_laplace(stacked, scale)
                case GaussianNoise(sigma2):
                    drawn = add_discrete_gaussian(stacked, sigma2)
            ends = np.cumsum([len(exact[position]) for position in same])
            noisy |= zip(same, np.split(drawn, ends[:-1]), strict=True)
        return [noisy[position] for position in range(len(queries))]

    def _check(self, standing: Standing) -> None:
        """Check that the release has the expected terms, and fits its reservation."""
        budget, adjacency = standing.reservation.budget, standing.adjacency
        if (budget, adjacency) != (self.budget, self.adjacency):
            raise LedgerError(
                f"release {self.release!r} is reserved with {budget} under {adjacency}, not with "
                f"{self.budget} under {self.adjacency}; another run of the release has changed its "
                "terms, so nothing may be drawn. Run it again"
            )
        if not (standing.within_cost and fits(merged(standing.events), self.budget)):
            raise BudgetExceeded(
                f"release {self.release!r}: the next call would cost more than the reserved "
                f"{self.budget}; plan with more budget, or more noise"
            )


def _names(candidates: Sequence[Score]) -> list[str]:
    """Under which the log knows what was chosen.

    Raises:
        ValueError: two candidates score the same table.
    """
    names = [candidate.cells.digest for candidate in candidates]
    if len(set(names)) < len(names):
        raise ValueError("two candidates score the same table; the log could not tell them")
    return names


def _positions(noises: Iterable[Noise]) -> dict[Noise, list[int]]:
    positions: dict[Noise, list[int]] = {}
    for position, noise in enumerate(noises):
        positions.setdefault(noise, []).append(position)
    return positions


def _batches(candidates: Sequence[Score]) -> Iterator[list[Score]]:
    """The candidates in order, in runs of at most `_CELLS_AT_ONCE` cells or of a single table."""
    batch: list[Score] = []
    cells = 0
    for score in candidates:
        if batch and cells + score.cells.size > _CELLS_AT_ONCE:
            yield batch
            batch, cells = [], 0
        batch.append(score)
        cells += score.cells.size
    if batch:
        yield batch


def _digest(kind: str, parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([kind, *parts]).encode()).hexdigest()


def _pack(outcome: Any) -> bytes:
    return zlib.compress(json.dumps(outcome).encode())


def _unpack(outcome: bytes) -> Any:
    return json.loads(zlib.decompress(outcome))
