"""A curator's answers without a ledger: the law of a release's noise, drawn by simulation.

Its answers protect nobody. They may be published where the records are public already, which
released records are; on any other records it serves to measure the quality of mechanisms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.privacy.accountant import BudgetExceeded, fits
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter, CellMap
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism, merged
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.privacy.queries import (
    SCORE_STEPS,
    Admissible,
    GaussianNoise,
    HistogramQuery,
    LaplaceNoise,
    Question,
    Score,
    admitted,
    signed_misfits,
)
from hallmark.mechanisms.privacy.refresh import Refresh, StepQuestion
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedCurator:
    """Answers queries on `codes`, shape (n, attributes), as often as it is asked.

    Attributes:
        events: what a ledger would have been charged so far.
        counted: tables that were counted before, by the digest of their map; curators of the same
            records can share them.
    """

    codes: AnyCodes
    adjacency: Adjacency
    rng: np.random.Generator
    events: list[Event] = field(default_factory=list)
    counted: dict[str, Counts] = field(default_factory=dict)

    def total(self) -> int | None:
        """Number of records where it is public."""
        return len(self.codes) if self.adjacency.total_is_public else None

    def drawn(self) -> Mapping[str, tuple[Event, ...]]:
        """Nothing: a simulated run begins anew."""
        return {}

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        """Noisy answers, one int64 array a query."""
        self.events.extend(query.event(self.adjacency) for query in queries)
        counts = self._count([query.cells for query in queries])
        return [self._noisy(query, table) for query, table in zip(queries, counts, strict=True)]

    def choose(self, call: str, candidates: Sequence[Score], event: ExponentialMechanism) -> int:
        """Position of a candidate, drawn with probability proportional to
        exp(epsilon * score / (2 sensitivity)); the sensitivity is the largest of all candidates.
        """
        return self.choose_several(call, candidates, event)[0]

    def choose_several(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> list[int]:
        """The `event.times` largest of the scores with Gumbel noise: of the law of
        `Curator.choose_several` (Durfee, Rogers 2019, arXiv:1905.04273, Lemma 4.2).
        """
        self.events.append(event)
        tables = self._count([candidate.cells for candidate in candidates])
        scores = [one(table) for one, table in zip(candidates, tables, strict=True)]
        sensitivity = max(candidate.sensitivity(self.adjacency) for candidate in candidates)
        best = max(scores)  # whole numbers of any size: only their differences become floats
        misses = np.array([float(score - best) for score in scores])
        noise = self.rng.gumbel(size=len(scores))
        noisy = float(event.epsilon) / (2 * sensitivity) * misses + noise
        return [int(index) for index in np.argsort(-noisy)[: event.times]]

    def choices(
        self,
        call: str,
        queries: LinearQueries,
        question: Question,
        events: Sequence[ExponentialMechanism],
        admissible: Admissible | None = None,
    ) -> list[int]:
        """Which of the queries, or of their negations, fit worst: see `Curator.choices`."""
        self.events.extend(events)
        answers = queries.answers(self._count(queries.maps))
        sensitivity = SCORE_STEPS * queries.sensitivity(self.adjacency)
        chosen: list[int] = []
        for event in (one for one in events for _ in range(one.times)):
            earlier = tuple(chosen)
            among = admitted(admissible, earlier, queries.size)
            if not len(among):
                break
            misfits = signed_misfits(answers, question(earlier))[among]
            noise = self.rng.gumbel(size=len(among))
            best = np.argmax(float(event.epsilon) / (2 * sensitivity) * misfits + noise)
            chosen.append(int(among[best]))
        return chosen

    def refreshed(
        self,
        call: str,
        queries: LinearQueries,
        question: StepQuestion,
        start: Sequence[int],
        refreshes: Sequence[Refresh],
    ) -> list[int]:
        """Queries of every round, kept or drawn anew: see `Curator.refreshed`."""
        self.events.extend(event for refresh in refreshes for event in refresh.events)
        answers = queries.answers(self._count(queries.maps))
        sensitivity = SCORE_STEPS * queries.sensitivity(self.adjacency)
        held, chosen = np.array(start), list[int]()
        for refresh in refreshes:
            earlier = tuple(chosen)
            lacking = question.most - signed_misfits(answers, question.latest(earlier))[held]
            exponents = [refresh.exponent(int(lack), sensitivity) for lack in lacking]
            kept = self.rng.random(len(held)) < np.exp(-np.array(exponents, dtype=np.float64))
            anew = np.flatnonzero(~kept)[: refresh.draws]
            misfits = signed_misfits(answers, question(earlier))
            weights = float(refresh.draw.epsilon) / (2 * sensitivity) * (misfits - misfits.max())
            shares = np.exp(weights)
            held[anew] = self.rng.choice(len(shares), len(anew), p=shares / shares.sum())
            chosen += held.tolist()
        return chosen

    def check(self, budget: Budget) -> None:
        """Whether all that was asked costs at most the budget, as the ledger would have seen to.

        Raises:
            BudgetExceeded: it costs more.
        """
        if not fits(merged(self.events), budget):
            raise BudgetExceeded(
                f"what was asked of the simulated curator costs more than {budget}"
            )

    def _count(self, maps: Sequence[CellMap]) -> list[Counts]:
        new = {one.digest: one for one in maps if one.digest not in self.counted}
        counts = ArrayCounter(self.codes).count(list(new.values()))
        self.counted.update(zip(new, counts, strict=True))
        return [self.counted[one.digest] for one in maps]

    def _noisy(self, query: HistogramQuery, counts: Counts) -> Counts:
        exact = query.transform(counts)
        match query.noise:
            case LaplaceNoise(scale):
                return exact + simulate_discrete_laplace(self.rng, scale, len(exact))
            case GaussianNoise(sigma2):
                return exact + simulate_discrete_gaussian(self.rng, sigma2, len(exact))
