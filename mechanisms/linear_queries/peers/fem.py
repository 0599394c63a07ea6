"""`fem` and `sep-fem`: choices of queries against records that follow the perturbed leader.

In every round the query is chosen that fits the round's records worst. Its records are drawn by
public randomness: each is the best for the sum of all queries chosen before, plus a perturbation of
its own (`perturbation`). The records of all rounds are the synthetic data.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   T choices with one epsilon that is fixed beforehand, after a noisy number of records where
         that is private. Records follow from the choices and a public seed.
Source.  Vietri, Tian, Bun, Steinke, Wu (2020), New oracle-efficient algorithms for private
         synthetic data release, ICML, Algorithms FEM and sepFEM. The best record is found by
         looking at all cells, where they call an integer program. (Their DQRS: `dqrs`.)
Oracle.  tests/mechanisms/linear_queries/peers/test_fem.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.linear_queries import bounds, settings
from hallmark.mechanisms.linear_queries.method import CHOICES_CALL, as_positions, as_table
from hallmark.mechanisms.linear_queries.peers.perturbation import (
    ByCoordinate,
    BySeparator,
    Perturbation,
    separator,
)
from hallmark.mechanisms.linear_queries.questions import PathQuestion
from hallmark.mechanisms.linear_queries.spending import best_amount, choice_line
from hallmark.mechanisms.linear_queries.total import CountsRecords, Records, records, shared
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import Weights
from hallmark.mechanisms.privacy.calls import QueryRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.request import Request, Requested

_SEED = 2007_05453  # of all public draws
_SCALES = {"fem": 2.0, "sep-fem": 0.5}  # of perturbations, as good as any on invented tables
_BYTES = 8
_AT_ONCE = 2**22  # payoffs of cells that are drawn together: 32 MiB


class LeaderPath:
    """The payoff of every cell so far, and the records of this round and of all before."""

    def __init__(
        self, universe: Universe, perturbation: Perturbation, samples: int, scale: float
    ) -> None:
        self._universe, self._perturbation = universe, perturbation
        self._samples, self._scale = samples, scale
        self._payoffs = np.where(universe.possible, 0.0, -np.inf)
        self._counts = np.zeros(universe.size)
        self._rng = np.random.default_rng(_SEED)
        self._round = self._leaders()

    def move(self, query: int, sign: int) -> None:
        """A query's payoff to all cells, and the next round's records."""
        self._counts += self._round
        self._universe.add(self._payoffs, query, float(sign))
        self._round = self._leaders()

    def answers(self) -> Floats:
        return self._universe.answers(self._round / self._samples)

    def shares(self) -> Floats:
        """The records of all rounds but the one that was not asked about."""
        return self._counts / self._counts.sum()

    def _leaders(self) -> Floats:
        size = self._universe.size
        at_once = max(1, _AT_ONCE // size)
        best = []
        for start in range(0, self._samples, at_once):
            draws = min(at_once, self._samples - start)
            payoffs = self._perturbation.draw(draws, self._scale, self._rng)
            payoffs += self._payoffs
            best.append(payoffs.argmax(axis=1))
        return np.bincount(np.concatenate(best), minlength=size).astype(np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fem(CountsRecords, Requested):
    """A plan. Every field is public.

    Attributes:
        rounds: choices, T.
        samples: records of a round, s.
        scale: of the perturbation's numbers.
        epsilon: of each choice.
        count: how the number of records is learnt.
    """

    universe: Universe
    perturbation: Perturbation
    rounds: int
    samples: int
    scale: float
    epsilon: Fraction
    count: Records

    @property
    def name(self) -> str:
        return "sep-fem" if isinstance(self.perturbation, BySeparator) else "fem"

    @property
    def source(self) -> str:
        return (
            "Vietri, Tian, Bun, Steinke, Wu (2020), New oracle-efficient algorithms for private "
            f"synthetic data release, ICML, algorithm {self.name}"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "rounds": self.rounds,
            "samples": self.samples,
            "scale": self.scale,
            "coordinates": self.perturbation.coordinates,
            "choice_epsilon": str(self.epsilon),
        }

    @property
    def choices(self) -> ExponentialMechanism:
        """All choices as one event."""
        return ExponentialMechanism(epsilon=self.epsilon, times=self.rounds)

    @property
    def events(self) -> tuple[Event, ...]:
        return (*self.count.events, self.choices)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        what = f"which query fits worst, in {self.rounds} rounds"
        line = choice_line(self.choices, what, self.universe.queries, self.adjacency)
        return (*self.count.lines, line)

    @property
    def memory_bytes(self) -> int:
        rows = self.perturbation.coordinates if self.name == "sep-fem" else 0
        cells = (10 + rows) * self.universe.size + 2 * _AT_ONCE
        return _BYTES * (cells + 8 * self.universe.queries.size)

    def expected_error(self) -> tuple[float, str]:
        queries = self.universe.queries
        span = queries.sensitivity(self.adjacency) / queries.unit
        bound = bounds.perturbed_leader(
            self.rounds,
            self.samples,
            2 * span / (float(self.epsilon) * self.expected_records),
            self.perturbation.coordinates,
            2 * queries.size,
        )
        return min(bound, queries.width), (
            "an estimate from theory, by far too large as a rule: regret of a perturbed leader, "
            "sampling and noise of choices, constants set to 1; at most the queries' range"
        )

    def ask(self, curator: QueryRounds) -> TablesByCall:
        """The number of records where it is private, and the positions of all choices."""
        counted = self.count.ask(curator)
        number = self.count.number(counted, curator.total())
        described = f"{self.name} {self.samples} {self.scale!r} {_SEED}"
        question = PathQuestion(self.universe, number, self._path, described)
        chosen = curator.choices(CHOICES_CALL, self.universe.queries, question, (self.choices,))
        return {**counted, CHOICES_CALL: as_table(chosen)}

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Weights:
        """The records of all rounds."""
        question = PathQuestion(self.universe, 1, self._path, "")
        return Weights(self.universe, question.at(as_positions(answers[CHOICES_CALL])).shares())

    def _path(self) -> LeaderPath:
        return LeaderPath(self.universe, self.perturbation, self.samples, self.scale)


def plan_fem(universe: Universe, request: Request) -> Fem:
    """FEM of `rounds` rounds with `samples` records each, perturbed at `scale`.

    Raises:
        ValueError: a wrong parameter, or a universe that is too large.
    """
    return _plan("fem", universe, request)


def plan_sep_fem(universe: Universe, request: Request) -> Fem:
    """The plan of FEM with payoffs perturbed on a separator.

    Raises:
        ValueError: also where the workload has no separator.
    """
    return _plan("sep-fem", universe, request)


def _plan(name: str, universe: Universe, request: Request) -> Fem:
    budget, adjacency, parameters = request.budget, request.adjacency, request.parameters
    known = ("rounds", "samples", "scale")
    settings.refuse(name, universe, request, known)
    settings.refuse_large(name, universe)
    perturbation = separator(universe) if name == "sep-fem" else ByCoordinate(universe)
    expected = request.expected_records * float(budget.epsilon)
    rounds = settings.rounds(parameters, "rounds", _default_rounds(expected, budget.is_pure))
    amount = best_amount(budget, lambda whole: shared(whole, adjacency).choice(rounds))
    return Fem(
        universe=universe,
        request=request,
        perturbation=perturbation,
        rounds=rounds,
        samples=settings.rounds(parameters, "samples", 20),
        scale=settings.positive(parameters, "scale", _SCALES[name]),
        epsilon=shared(amount, adjacency).choice(rounds),
        count=records(universe, amount, adjacency),
    )


def _default_rounds(expected: float, pure: bool) -> int:
    """Found on invented tables; `expected` is records times epsilon."""
    return round(min(200.0, max(8.0, expected**0.5))) if pure else 300
