"""`mwem`: rounds that choose the query that fits worst, measure it, and reweigh all cells.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   After the number of records, where that is private, T rounds have equal parts: half of one
         for a choice among all queries and half for the chosen query's answer, with noise in
         proportion to that query's own sensitivity (`WeightedSum`). Where queries differ in it,
         the noise depends on answers, and the events say so (`adaptive`); the cost does not.
Source.  Hardt, Ligett, McSherry (2012), A simple and practical algorithm for differentially private
         data release, NeurIPS, Figure 1, accounted in zCDP where that is better, with their
         improvement of replaying measurements; the last distribution is released, which was 1.3
         to 3.5 times better than the mean from 1,000 records times epsilon on.
Oracle.  tests/mechanisms/linear_queries/peers/test_mwem.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.linear_queries import bounds, settings
from hallmark.mechanisms.linear_queries.marginals import marginals
from hallmark.mechanisms.linear_queries.method import as_positions, as_table
from hallmark.mechanisms.linear_queries.questions import (
    FixedQuestion,
    question_digest,
    reference,
    signed,
)
from hallmark.mechanisms.linear_queries.spending import Amount, best_amount, choice_line
from hallmark.mechanisms.linear_queries.total import CountsRecords, Records, records, shared
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import Weights
from hallmark.mechanisms.privacy.calls import QueryRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.privacy.transforms import WeightedSum
from hallmark.mechanisms.request import Request, Requested

CHOICE_SHARE = Fraction(1, 2)  # of a round; the answer has the rest
REPLAYS = 20  # of all measurements, after every round
_BYTES = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Mwem(CountsRecords, Requested):
    """A plan. Every field is public.

    Attributes:
        amount: what the rounds cost together.
        count: how the number of records is learnt.
    """

    universe: Universe
    rounds: int
    amount: Amount
    count: Records

    @property
    def source(self) -> str:
        return (
            "Hardt, Ligett, McSherry (2012), A simple and practical algorithm for differentially "
            "private data release, NeurIPS, Figure 1, with measurements replayed and the last "
            "distribution released"
        )

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of each choice."""
        return self.amount.part(CHOICE_SHARE).choice(self.rounds)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "rounds": self.rounds,
            "replays": REPLAYS,
            "choice_share": str(CHOICE_SHARE),
            "choice_epsilon": str(self.epsilon),
        }

    @property
    def events(self) -> tuple[Event, ...]:
        """Answers as if each were to a query of the largest sensitivity: all cost the same."""
        answer = self.measurement(self._widest).event(self.adjacency)
        return (
            *self.count.events,
            ExponentialMechanism(epsilon=self.epsilon, times=self.rounds),
            replace(answer, times=self.rounds),
        )

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        queries = self.universe.queries
        event = ExponentialMechanism(epsilon=self.epsilon, times=self.rounds)
        return (
            *self.count.lines,
            choice_line(event, f"which query fits worst, in {self.rounds} rounds", queries,
                        self.adjacency),
            NoiseLine.of(
                self.measurement(self._widest),
                f"the queries chosen in {self.rounds} rounds (noise: at most)",
                self.rounds,
                adjacency=self.adjacency,
                unit="records" if queries.unit == 1 else f"records / {queries.unit}",
                times=self.rounds,
            ),
        )  # fmt: skip

    @property
    def memory_bytes(self) -> int:
        return _BYTES * (8 * self.universe.size + 8 * self.universe.queries.size)

    def expected_error(self) -> tuple[float, str]:
        queries = self.universe.queries
        span = queries.sensitivity(self.adjacency) / queries.unit
        deviation = sqrt(self.measurement(self._widest).noise.variance) / queries.unit
        bound = bounds.mwem(
            self.rounds,
            2 * span / (float(self.epsilon) * self.expected_records),
            deviation / self.expected_records,
            2 * queries.size,
            self.universe.log_cells,
        )
        return min(bound, queries.width), (
            "an estimate from theory, by far too large as a rule: Theorem 2.2 of Hardt et al., for "
            "the mean of the rounds, with the noise that is drawn; at most the queries' range"
        )

    def measurement(self, query: int) -> HistogramQuery:
        """How a chosen query is asked."""
        queries = self.universe.queries
        block, row = queries.located(query)
        transform = WeightedSum(queries.blocks[block].rows.row(row))
        noise = self.amount.part(1 - CHOICE_SHARE).noise(transform, self.adjacency, self.rounds)
        cells = queries.blocks[block].cells
        return HistogramQuery(cells, noise, transform, adaptive=self._uneven)

    def ask(self, curator: QueryRounds) -> TablesByCall:
        """The number of records where it is private; positions of choices; noisy answers."""
        asked = dict(self.count.ask(curator))
        number = self.count.number(asked, curator.total())
        queries, event = self.universe.queries, ExponentialMechanism(epsilon=self.epsilon)
        chosen, noisy, shares = list[int](), list[int](), self.universe.uniform
        for turn in range(1, self.rounds + 1):
            question = FixedQuestion(
                reference(self.universe, number, self.universe.answers(shares)),
                question_digest(self.universe, number, f"mwem after {chosen} {noisy}"),
            )
            (position,) = curator.choices(_choice(turn), queries, question, (event,))
            query, _ = signed(position, queries.size)
            (answer,) = curator.histograms(_answer(turn), [self.measurement(query)])
            chosen.append(position)
            noisy.append(int(answer[0]))
            asked[_choice(turn)] = as_table([position])
            asked[_answer(turn)] = (answer,)
            shares = self._reweighed(shares, chosen, noisy, number)
        return asked

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Weights:
        """The last round's."""
        number = self.count.number(answers, total)
        turns = range(1, self.rounds + 1)
        chosen = [at for turn in turns for at in as_positions(answers[_choice(turn)])]
        noisy = [int(answers[_answer(turn)][0][0]) for turn in turns]
        shares = self.universe.uniform
        for turn in turns:
            shares = self._reweighed(shares, chosen[:turn], noisy[:turn], number)
            progress(turn / self.rounds, "reweighing the universe")
        return Weights(self.universe, shares)

    def _reweighed(
        self, shares: Floats, chosen: Sequence[int], noisy: Sequence[int], number: int
    ) -> Floats:
        """Every measurement's update, newest first, `REPLAYS` times over."""
        universe, shape = self.universe, self.universe.shape
        asked = [universe.on_clique(signed(p, universe.queries.size)[0]) for p in chosen]
        table = shares.reshape(shape).copy()
        for _ in range(REPLAYS):
            for (clique, values), answer in zip(reversed(asked), reversed(noisy), strict=True):
                marginal = marginals(table.ravel(), shape, [clique])[clique]
                misfit = answer / (universe.queries.unit * number) - values @ marginal
                # A noisy answer may lie beyond what shares can reach: then a step is all.
                factor = np.exp(values * np.clip(misfit, -2, 2) / 2)
                factor /= factor @ marginal
                table *= factor.reshape([k if a in clique else 1 for a, k in enumerate(shape)])
        return table.ravel() / table.sum()

    @property
    def _spans(self) -> Counts:
        queries = self.universe.queries
        pairs, which = np.unique(
            np.stack([queries.least, queries.greatest], axis=1), axis=0, return_inverse=True
        )
        spans = np.array([self.adjacency.weighted_sum(int(a), int(b)) for a, b in pairs])
        return spans[which.ravel()]

    @property
    def _widest(self) -> int:
        """A query of the largest sensitivity."""
        return int(np.argmax(self._spans))

    @property
    def _uneven(self) -> bool:
        """Whether queries differ in sensitivity."""
        return len(np.unique(self._spans)) > 1


def _choice(turn: int) -> str:
    return f"round-{turn}-choice"


def _answer(turn: int) -> str:
    return f"round-{turn}-answer"


def plan_mwem(universe: Universe, request: Request) -> Mwem:
    """MWEM of `rounds` rounds: 30, and 10 up to 1,000 records times epsilon, where not set.

    Raises:
        ValueError: a wrong parameter, or a universe that is too large.
    """
    budget, adjacency = request.budget, request.adjacency
    settings.refuse("mwem-queries", universe, request, ("rounds",))
    settings.refuse_large("mwem-queries", universe)
    scale = request.expected_records * float(budget.epsilon)
    rounds = settings.rounds(request.parameters, "rounds", 10 if scale <= 1000 else 30)
    amount = best_amount(
        budget, lambda whole: shared(whole, adjacency).part(CHOICE_SHARE).choice(rounds)
    )
    return Mwem(
        universe=universe,
        request=request,
        rounds=rounds,
        amount=shared(amount, adjacency),
        count=records(universe, amount, adjacency),
    )
