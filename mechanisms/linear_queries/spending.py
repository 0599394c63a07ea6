"""What a budget buys of choices among linear queries, and of numbers measured beside them.

Claim.   Events bought with the parts of an `Amount` cost at most that amount together, exactly in
         pure epsilon, and in zCDP up to 1e-5 of it.
Source.  Choices: epsilons add up, or epsilon^2 / 8 in zCDP (Cesar, Rogers, 2021, arXiv:2004.07223).
         Gaussian noise: Canonne, Kamath, Steinke (2020), arXiv:2004.00010, Theorem 14.
Oracle.  tests/mechanisms/linear_queries/test_spending.py: the accountant, and a published table.

Which is better depends on the number of draws: at epsilon 1 and delta 1e-5, up to 4 choices have a
larger epsilon each where epsilons add up, and more choices in zCDP.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt

from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.marginals.selection.spending import choice_epsilon, rho_of
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.transforms import Transform


@dataclass(frozen=True)
class Amount:
    """An amount of privacy. Public.

    Attributes:
        value: epsilon where `pure`, else rho.
        pure: whether it is spent where epsilons add up, or in zCDP.
    """

    value: Fraction
    pure: bool

    def part(self, share: Fraction) -> "Amount":
        """A share of it."""
        return Amount(share * self.value, self.pure)

    def choice(self, choices: int | Fraction) -> Fraction:
        """Epsilon of each of so many choices that cost the amount together."""
        return self.value / choices if self.pure else choice_epsilon(self.value, choices)

    def noise(self, transform: Transform, adjacency: Adjacency, draws: int = 1) -> Noise:
        """Noise of each of so many answers that cost the amount together.

        What cannot change is answered with the noise of a sensitivity of one, and costs nothing.
        """
        if self.pure:
            return LaplaceNoise(max(transform.l1(adjacency), 1) * draws / self.value)
        return GaussianNoise(max(transform.l2_squared(adjacency), 1) * draws / (2 * self.value))


def best_amount(budget: Budget, choice: Callable[[Amount], Fraction]) -> Amount:
    """The budget in pure epsilon or in zCDP, whichever gives a choice the larger epsilon.

    Args:
        choice: epsilon of a choice, by the amount that the whole may cost.
    """
    pure = Amount(budget.epsilon, pure=True)
    if budget.is_pure:
        return pure
    return max(pure, Amount(rho_of(budget), pure=False), key=choice)


def choice_line(
    event: ExponentialMechanism, what: str, queries: LinearQueries, adjacency: Adjacency
) -> NoiseLine:
    """The line of `event.times` choices: noisy maxima of misfits with Gumbel noise."""
    sensitivity = Fraction(queries.sensitivity(adjacency), queries.unit)
    return NoiseLine(
        query=what,
        cells=event.times,
        family="exponential mechanism",
        parameter=f"epsilon = {event.epsilon} each",
        standard_deviation=pi / sqrt(6) * float(2 * sensitivity / event.epsilon),
        sensitivity=f"{float(sensitivity):g} records of misfit",
        source="mechanisms/privacy/linear_queries.py, LinearQueries.sensitivity",
    )
