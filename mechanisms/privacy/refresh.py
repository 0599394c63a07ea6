"""Drawn queries that are kept from one round to the next, or redrawn, by rejection sampling.

Queries of a round are drawn with probability proportional to w = exp(step U / (2S)), where U are
their misfits summed over all rounds so far, and S is the sensitivity of a misfit. In the next
round, whose own misfits are u, the target probability is proportional to w exp(step u / (2S)). So
each is kept with probability exp(-exponent), exponent = slack + step (most - u) / (2S) with a
public bound `most` on u, or else redrawn: then it has the target law.

Claim.   A refresh costs at most its `events`, under the neighbouring relation of S.
Proof.   Between neighbours an exponent a >= slack moves by at most tau = step / 2. So the log
         probability of keeping moves by at most tau, and that of not keeping the other way by at
         most tau / (exp(slack) - 1), since log(1 - exp(-a)) has the slope 1 / (exp(a) - 1). Log
         odds move by at most tau (1 + 1 / (exp(slack) - 1)), and that is the epsilon of an
         exponential mechanism between two candidates; exp(slack) - 1 >= slack + slack^2 / 2.
         Without slack, a query that is certain to be kept for only one of two neighbours would
         reveal which one it is. A draw after t rounds is an exponential mechanism with t times the
         step. The coins decide whether it happens; draws that do not happen are still charged.
Source.  Vietri, Tian, Bun, Steinke, Wu (2020), New oracle-efficient algorithms for private
         synthetic data release, ICML, DQRS, for the idea. Weights are used instead of
         probabilities, whose norm would be private, and make the coin exp(-x) for a rational x.
Oracle.  tests/mechanisms/privacy/test_refresh.py: all odds, and the law of what is held.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.queries import Question


class StepQuestion(Question, Protocol):
    """A question about all rounds so far, and the latest round's own part of it."""

    def latest(self, chosen: Sequence[int]) -> Counts:
        """The reference for the answers in the latest round alone, in the form of `__call__`."""
        ...

    @property
    def most(self) -> int:
        """Public bound on misfits of the latest round, in units of 1/(`SCORE_STEPS` unit) records.

        Privacy does not depend on it: larger misfits are cut to it.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Refresh:
    """One round. Every field is public.

    Attributes:
        rounds: t, the number of earlier rounds, at least 1.
        step: epsilon of a draw by the misfits of one round alone.
        slack: positive.
        queries: number of queries held, each of which is kept or redrawn.
        draws: most queries that are redrawn; after that, the others are kept, whatever their law.
    """

    rounds: int
    step: Fraction
    slack: Fraction
    queries: int
    draws: int

    def __post_init__(self) -> None:
        if not self.slack > 0:
            raise ValueError(f"slack must be positive, not {self.slack}: it hides the coins")

    @property
    def coin(self) -> ExponentialMechanism:
        """The event of the coins that decide which queries are kept."""
        moved = self.step / 2 * (1 + 1 / (self.slack + self.slack**2 / 2))
        return ExponentialMechanism(epsilon=moved, times=self.queries)

    @property
    def draw(self) -> ExponentialMechanism:
        """The event of the queries that are redrawn."""
        return ExponentialMechanism(epsilon=self.rounds * self.step, times=self.draws)

    @property
    def events(self) -> tuple[ExponentialMechanism, ...]:
        return self.coin, self.draw

    def exponent(self, lacking: int, sensitivity: int) -> Fraction:
        """Exponent of the probability to keep a query whose latest misfit is below the bound.

        Args:
            lacking: distance from the bound, in units of misfits, like their sensitivity.
        """
        return self.slack + self.step * max(lacking, 0) / (2 * sensitivity)
