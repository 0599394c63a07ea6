"""`dual-query`: a player draws queries by how badly earlier records fit, another answers them.

In round t, s queries are drawn with probability proportional to exp(eta misfit), where the misfit
is summed over the t - 1 records so far; then the record is added on which the drawn queries are
largest. The records of all rounds are the synthetic data.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   Drawing a query in round t is a choice by the misfit of the mean of the records so far,
         with an epsilon in proportion to t - 1 (2 eta (t - 1) sensitivity / n), which is fixed
         beforehand, and none in round 1, where queries are drawn evenly without looking at data.
         Records follow from queries.
Source.  Gaboardi, Gallego Arias, Hsu, Roth, Wu (2014), Dual Query: practical private query release
         for high dimensional data, ICML, Algorithm 1; accounted in zCDP where that is better.
Oracle.  tests/mechanisms/linear_queries/peers/test_dual_query.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.linear_queries import bounds, settings
from hallmark.mechanisms.linear_queries.method import CHOICES_CALL, as_positions, as_table
from hallmark.mechanisms.linear_queries.questions import PathQuestion, signed
from hallmark.mechanisms.linear_queries.spending import Amount, best_amount, choice_line
from hallmark.mechanisms.linear_queries.total import CountsRecords, Records, records, shared
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import Weights
from hallmark.mechanisms.privacy.calls import RefreshedRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.request import Request, Requested

_SEED = 1402_1526  # of the public draws of round 1
_BYTES = 8


class DualPath:
    """The records so far, and the queries drawn since the last one."""

    def __init__(self, universe: Universe, samples: int) -> None:
        self._universe, self._samples = universe, samples
        self._counts = np.zeros(universe.size)
        self._sums, self._latest = np.zeros((2, universe.queries.size))
        self._drawn, self._waiting = np.zeros(universe.queries.size), 0
        for position in drawn_evenly(universe, samples):
            self.move(*signed(position, universe.queries.size))

    def move(self, query: int, sign: int) -> None:
        """One more query; the last of a round adds a record."""
        self._drawn[query] += sign
        self._waiting += 1
        if self._waiting == self._samples:
            payoffs = self._universe.adjoint(self._drawn)
            record = np.zeros_like(self._counts)
            record[int(np.argmax(np.where(self._universe.possible, payoffs, -np.inf)))] = 1
            self._counts += record
            self._latest = self._universe.answers(record)
            self._sums += self._latest
            self._drawn, self._waiting = np.zeros_like(self._drawn), 0

    def shares(self) -> Floats:
        """The records so far as a distribution, shape (universe.size,)."""
        return self._counts / self._counts.sum()

    def answers(self) -> Floats:
        return self._sums / self._counts.sum()

    def latest(self) -> Floats:
        """Answers to all queries on the latest record."""
        return self._latest


def drawn_evenly(universe: Universe, samples: int) -> tuple[int, ...]:
    """Positions of the queries of round 1, which look at no data."""
    rng, queries = np.random.default_rng(_SEED), universe.queries.size
    drawn = rng.integers(0, queries, samples)
    return tuple(int(query) + queries * bool(rng.choice([-1, 1]) < 0) for query in drawn)


@dataclass(frozen=True, eq=False, kw_only=True)
class DualQuery(CountsRecords, Requested):
    """A plan. Every field is public.

    Attributes:
        rounds: records, T.
        samples: queries drawn for each, s.
        epsilon: of a draw in round 2; in round t, t - 1 times that.
        count: how the number of records is learnt.
    """

    universe: Universe
    rounds: int
    samples: int
    epsilon: Fraction
    count: Records

    @property
    def source(self) -> str:
        return (
            "Gaboardi, Gallego Arias, Hsu, Roth, Wu (2014), Dual Query: practical private query "
            "release for high dimensional data, ICML, Algorithm 1"
        )

    @property
    def learning_rate(self) -> float:
        """eta, of a misfit as a share of the records."""
        queries = self.universe.queries
        span = queries.sensitivity(self.adjacency) / queries.unit
        return float(self.epsilon) * self.expected_records / (2 * span)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "rounds": self.rounds,
            "samples": self.samples,
            "learning_rate": self.learning_rate,
            "choice_epsilon_in_round_2": str(self.epsilon),
        }

    @property
    def choices(self) -> tuple[ExponentialMechanism, ...]:
        """Events of the choices in rounds 2 to T."""
        return tuple(
            ExponentialMechanism(epsilon=earlier * self.epsilon, times=self.samples)
            for earlier in range(1, self.rounds)
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return (*self.count.events, *self.choices)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        what = f"{self.samples} queries that fit badly, in each of rounds 2 to {self.rounds}"
        line = choice_line(self.choices[-1], what, self.universe.queries, self.adjacency)
        told = f"epsilon = {self.epsilon} (t - 1) each in round t"
        drawn = self.samples * (self.rounds - 1)
        return (*self.count.lines, replace(line, cells=drawn, parameter=told))

    @property
    def memory_bytes(self) -> int:
        return _BYTES * (8 * self.universe.size + 8 * self.universe.queries.size)

    def expected_error(self) -> tuple[float, str]:
        queries = self.universe.queries
        bound = bounds.dual_query(
            self.rounds,
            self.samples,
            self.learning_rate,
            2 * queries.size,
            self.universe.log_cells,
        )
        return min(bound, queries.width), (
            "an estimate from theory, by far too large as a rule: the terms of Gaboardi et al., "
            "Theorem 4.2, at these parameters; at most the queries' range"
        )

    def ask(self, curator: RefreshedRounds) -> TablesByCall:
        """The number of records where it is private, and the positions of all choices."""
        counted = self.count.ask(curator)
        number = self.count.number(counted, curator.total())
        described = f"dual-query {self.samples} {_SEED}"
        question = PathQuestion(self.universe, number, self._path, described)
        chosen = curator.choices(CHOICES_CALL, self.universe.queries, question, self.choices)
        return {**counted, CHOICES_CALL: as_table(chosen)}

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Weights:
        """The records of all rounds."""
        question = PathQuestion(self.universe, 1, self._path, "")
        return Weights(self.universe, question.at(as_positions(answers[CHOICES_CALL])).shares())

    def _path(self) -> DualPath:
        return DualPath(self.universe, self.samples)


def plan_dual_query(universe: Universe, request: Request) -> DualQuery:
    """DualQuery of `rounds` rounds with `samples` queries each; epsilon uses the budget up.

    Raises:
        ValueError: a wrong parameter, or a universe that is too large.
    """
    budget, adjacency, parameters = request.budget, request.adjacency, request.parameters
    known = ("rounds", "samples")
    settings.refuse("dual-query", universe, request, known)
    settings.refuse_large("dual-query", universe)
    scale = request.expected_records * float(budget.epsilon)
    rounds = rounds_with_data(parameters, round(min(200.0, max(20.0, 0.6 * scale**0.5))))
    samples = settings.rounds(parameters, "samples", default_samples(scale))

    def choice(whole: Amount) -> Fraction:
        power = 1 if whole.pure else 2  # a draw in round t costs (t - 1) to this power
        draws = samples * sum(earlier**power for earlier in range(1, rounds))
        return shared(whole, adjacency).choice(draws)

    amount = best_amount(budget, choice)
    return DualQuery(
        universe=universe,
        request=request,
        rounds=rounds,
        samples=samples,
        epsilon=choice(amount),
        count=records(universe, amount, adjacency),
    )


def rounds_with_data(parameters: Mapping[str, Any], default: int) -> int:
    """The number of rounds, the first of which looks at no data.

    Raises:
        ValueError: it is no number of rounds, or 1.
    """
    rounds = settings.rounds(parameters, "rounds", default)
    if rounds < 2:
        raise ValueError(
            "mechanism.rounds: 1, but round 1 looks at no data; give a whole number of at least 2"
        )
    return rounds


def default_samples(scale: float) -> int:
    """Queries of a round; found on invented tables, as are the rounds. `scale` is records times
    epsilon."""
    return round(min(100.0, max(20.0, 0.6 * scale**0.5)))
