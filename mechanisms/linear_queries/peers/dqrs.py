"""`dqrs`: DualQuery that keeps most queries of the round before, by rejection sampling.

As `dual-query`, but for the queries of a round: weights change little from one round to the next,
so each query of the round before is kept with a probability in proportion to its change of weight,
and drawn anew otherwise. A query that is kept costs much less privacy than one that is drawn.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   Every round is a `Refresh`, whose parameters are fixed beforehand, after a noisy number of
         records where that is private. Records follow from queries.
Source.  Vietri, Tian, Bun, Steinke, Wu (2020), New oracle-efficient algorithms for private
         synthetic data release, ICML, algorithm DQRS. Slack near t^(-2/3) after t rounds balances
         what coins and draws cost; how queries are kept exactly: mechanisms/privacy/refresh.py.
Oracle.  tests/mechanisms/linear_queries/peers/test_dqrs.py.

The number of draws in a round is bounded beforehand, a standard deviation above what is expected;
beyond it queries are kept, which changes their law, and not what a run costs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, expm1, log2, sqrt
from typing import Any

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.linear_queries import settings
from hallmark.mechanisms.linear_queries.method import CHOICES_CALL, as_table
from hallmark.mechanisms.linear_queries.peers.dual_query import (
    DualPath,
    DualQuery,
    default_samples,
    drawn_evenly,
    rounds_with_data,
)
from hallmark.mechanisms.linear_queries.questions import PathQuestion, reference
from hallmark.mechanisms.linear_queries.spending import Amount, best_amount, choice_line
from hallmark.mechanisms.linear_queries.total import records, shared
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.calls import RefreshedRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import SCORE_STEPS
from hallmark.mechanisms.privacy.refresh import Refresh
from hallmark.mechanisms.request import Request

_HALVINGS = 14  # of the interval that the learning rate is sought in


class StepsQuestion(PathQuestion[DualPath]):
    """Compares answers with the records so far, and with the latest one."""

    def latest(self, chosen: Sequence[int]) -> Counts:
        return reference(self._universe, self._records, self.at(chosen).latest())

    @property
    def most(self) -> int:
        queries = self._universe.queries
        return SCORE_STEPS * self._records * int((queries.greatest - queries.least).max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Dqrs(DualQuery):
    """A plan. Every field is public.

    Attributes:
        draws: how many queries may be drawn anew in each of rounds 2 to T.
    """

    draws: tuple[int, ...]

    @property
    def source(self) -> str:
        return (
            "Vietri, Tian, Bun, Steinke, Wu (2020), New oracle-efficient algorithms for private "
            "synthetic data release, ICML, algorithm DQRS"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {**super().parameters, "drawn_anew_at_most": sum(self.draws)}

    @property
    def refreshes(self) -> tuple[Refresh, ...]:
        """The refreshes of rounds 2 to T."""
        return tuple(refreshes(self.epsilon, self.samples, self.draws))

    @property
    def events(self) -> tuple[Event, ...]:
        return (*self.count.events, *(e for refresh in self.refreshes for e in refresh.events))

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        rounds, last = f"rounds 2 to {self.rounds}", self.refreshes[-1]
        what = f"queries that fit badly, drawn anew in {rounds}"
        drawn = choice_line(last.draw, what, self.universe.queries, self.adjacency)
        told = f"epsilon = {self.epsilon} (t - 1) each in round t"
        return (
            *self.count.lines,
            NoiseLine(
                query=f"which of {self.samples} queries are kept, in each of {rounds}",
                cells=self.samples * len(self.draws),
                family="coin, kept with probability exp(-x)",
                parameter=f"x at least {last.slack} in the last round, and more before",
                standard_deviation=0.5,
                sensitivity=f"log odds move by {float(last.coin.epsilon):.3g} at most",
                source="mechanisms/privacy/refresh.py",
                unit="of 0 or 1",
            ),
            replace(drawn, cells=sum(self.draws), parameter=told),
        )

    def ask(self, curator: RefreshedRounds) -> TablesByCall:
        """The number of records where it is private, and the queries of rounds 2 to T."""
        counted = self.count.ask(curator)
        number = self.count.number(counted, curator.total())
        queries, samples = self.universe.queries, self.samples
        question = StepsQuestion(self.universe, number, self._path, f"dqrs {samples}")
        start = drawn_evenly(self.universe, samples)
        held = curator.refreshed(CHOICES_CALL, queries, question, start, self.refreshes)
        return {**counted, CHOICES_CALL: as_table(held)}


def plan_dqrs(universe: Universe, request: Request) -> Dqrs:
    """DQRS of `rounds` rounds with `samples` queries each; epsilon uses the budget up.

    Raises:
        ValueError: a wrong parameter, or a universe that is too large.
    """
    budget, adjacency = request.budget, request.adjacency
    expected_records, parameters = request.expected_records, request.parameters
    settings.refuse("dqrs", universe, request, ("rounds", "samples"))
    settings.refuse_large("dqrs", universe)
    scale = expected_records * float(budget.epsilon)
    long, many = (0.4, 20) if budget.is_pure else (1.2, default_samples(scale))
    rounds = rounds_with_data(parameters, round(min(240.0, max(20.0, long * scale**0.5))))
    samples = settings.rounds(parameters, "samples", many)
    queries = universe.queries
    rate = expected_records * queries.unit / (2 * queries.sensitivity(adjacency))  # at epsilon 1

    def epsilon(whole: Amount, draws: Sequence[int]) -> Fraction:
        cost = Fraction(0)
        for refresh in refreshes(Fraction(1), samples, draws):
            for event in refresh.events:
                cost += event.times * event.epsilon ** (1 if whole.pure else 2)
        return shared(whole, adjacency).choice(cost)

    def draws(whole: Amount) -> tuple[int, ...]:
        """The numbers of draws at the largest learning rate that they leave."""
        low, high = 0.0, rate * float(epsilon(whole, [1] * (rounds - 1)))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            likely = _likely_draws(rounds, samples, middle * queries.width)
            fits = rate * float(epsilon(whole, likely)) >= middle
            low, high = (middle, high) if fits else (low, middle)
        return _likely_draws(rounds, samples, low * queries.width)

    amount = best_amount(budget, lambda whole: epsilon(whole, draws(whole)))
    most = draws(amount)
    return Dqrs(
        universe=universe,
        request=request,
        rounds=rounds,
        samples=samples,
        epsilon=epsilon(amount, most),
        draws=most,
        count=records(universe, amount, adjacency),
    )


def refreshes(epsilon: Fraction, samples: int, draws: Sequence[int]) -> Iterator[Refresh]:
    """Rounds 2 to T, of which each draws so many queries anew at most."""
    for earlier, most in enumerate(draws, start=1):
        yield Refresh(
            rounds=earlier, step=epsilon, slack=slack(earlier), queries=samples, draws=most
        )


def slack(earlier: int) -> Fraction:
    """The power of 1/2 that is nearest to t^(-2/3) after t records: few different coins."""
    return Fraction(1, 2 ** round(2 / 3 * log2(earlier)))


def _likely_draws(rounds: int, samples: int, exponent: float) -> tuple[int, ...]:
    """A standard deviation above the expected draws of rounds 2 to T.

    Args:
        exponent: what a coin has beside its slack, about, found on invented tables: the learning
            rate times the queries' width, as of queries that fit neither well nor badly.
    """
    draws = []
    for earlier in range(1, rounds):
        anew = -expm1(-float(slack(earlier)) - exponent)
        likely = samples * anew + sqrt(samples * anew * (1 - anew))
        draws.append(min(samples, ceil(likely)))
    return tuple(draws)
