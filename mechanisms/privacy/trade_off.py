"""What an attack on a release can reach at most, from the whole privacy loss of its draws.

One (epsilon, delta) says little of Gaussian noise: at epsilon 1 and delta 1e-9 it allows that an
attacker guesses right in 73 % of cases, where 64 draws of such noise allow 54 %. So a release is
judged by all pairs that hold of it at once.

Claim.   For events as `events` state them, adaptively composed, and a budget that holds of them:
         `trade_off` gives pairs of which the whole is (epsilon, delta)-DP for each; `power` and
         `best_guess` bound every attack that looks at the answers, whatever else it knows.
Source.  Trade-off curves: Dong, Roth, Su (2022), arXiv:1905.02383, Propositions 4 and 6 (a curve is
         the largest of those of the pairs). The curve of one pair, and the best guess: Kairouz, Oh,
         Viswanath (2015), arXiv:1311.0776, Theorem 2.1. Groups: Vadhan (2017), "The complexity of
         differential privacy", Lemma 2.2. Where no dominating pair is known, zCDP: Pinsker's
         inequality (the divergence of order 1 is at most rho), and `costs.zcdp_epsilon`.
Limits.  Of adaptive events only the budget is used, for which the curator checked them.
Oracle.  tests/mechanisms/privacy/test_trade_off.py: the exact law of small mechanisms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, inf, isfinite, sqrt

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import checked, rho, zcdp_epsilon
from hallmark.mechanisms.privacy.events import Event, is_adaptive, merged
from hallmark.mechanisms.privacy.privacy_loss import deltas_at_most
from hallmark.mechanisms.privacy.rounding import decimal_above, float_above

_STEPS = 16  # epsilons below the budget's, each smaller by the root of two
_DIGITS = 6  # of a delta, rounded up: it is written down
_LET_PASS, _LEAST = 1e-4, 1e-11  # share of a delta, and delta, that no contradiction is seen in
_LARGEST_LOSS = 700.0  # beyond it exp overflows, and nothing is promised


@dataclass(frozen=True)
class TradeOff:
    """Pairs (epsilon, delta) that hold of one release at once, by epsilon. Public."""

    points: tuple[tuple[float, float], ...]

    def power(self, chance: float, units: int = 1) -> float:
        """The most often that something happens with a table, if by a neighbour's it has `chance`.

        Args:
            chance: probability without the unit's own data, such as that of a right guess.
            units: that the tables differ in; a household has as many as it has members.
        """
        return min((_power(*pair, chance) for pair in self._of_group(units)), default=1.0)

    def best_guess(self, units: int = 1) -> float:
        """How often at most somebody tells two neighbouring tables apart, both equally likely."""
        right = (1 - (1 - delta) / (1 + exp(epsilon)) for epsilon, delta in self._of_group(units))
        return min((1.0, *right))

    def _of_group(self, units: int) -> Iterable[tuple[float, float]]:
        for epsilon, delta in self.points:
            if units * epsilon <= _LARGEST_LOSS:
                factor = fsum(exp(step * epsilon) for step in range(units))
                yield units * epsilon, min(1.0, delta * factor * (1 + 1e-9))


def trade_off(events: Iterable[Event], budget: Budget) -> TradeOff:
    """What is known of a composition of events that costs at most `budget`."""
    composition, claimed = merged(checked(events)), _pair(budget)
    if is_adaptive(composition):
        return TradeOff((claimed,))
    epsilons = (0.0, *(claimed[0] / 2 ** (step / 2) for step in range(_STEPS, -1, -1)))
    found = zip(epsilons, map(_written, _deltas(composition, epsilons)), strict=True)
    return TradeOff(tuple(sorted({claimed, *(pair for pair in found if pair[1] < 1)})))


def unproved(
    points: Sequence[tuple[float, float]], events: Iterable[Event], budget: Budget
) -> list[tuple[float, float]]:
    """The pairs that do not follow from the events, nor from the budget that they keep to.

    Floats of another machine differ by far less than the share of delta that is let pass.
    """
    composition, claimed = merged(checked(events)), _pair(budget)
    left = [one for one in points if not (one[0] >= claimed[0] and one[1] >= claimed[1])]
    if is_adaptive(composition):
        return left
    numbers = tuple(epsilon for epsilon, _ in left if isfinite(epsilon))
    proved = dict(zip(numbers, _deltas(composition, numbers), strict=True))
    return [
        (epsilon, delta)
        for epsilon, delta in left
        if not delta >= proved.get(epsilon, inf) * (1 - _LET_PASS) - _LEAST
    ]


def _pair(budget: Budget) -> tuple[float, float]:
    return float_above(budget.epsilon), float_above(budget.delta)


def _deltas(composition: tuple[Event, ...], epsilons: tuple[float, ...]) -> tuple[float, ...]:
    found = deltas_at_most(composition, epsilons)
    if found is not None:
        return found
    cost = rho(composition)
    return tuple(_concentrated(cost, epsilon) for epsilon in epsilons)


def _concentrated(cost: Fraction, epsilon: float) -> float:
    """A delta at which rho-zCDP implies epsilon; at epsilon 0 it is half the L1 distance."""
    low, high = -1000, 0  # halvings of 1
    while high - low > 1:
        middle = (low + high) // 2
        passes = zcdp_epsilon(cost, Fraction(2) ** middle) <= epsilon
        low, high = (low, middle) if passes else (middle, high)
    apart = sqrt(float_above(cost) / 2) * (1 + 1e-12)
    return min(1.0, apart, 2.0**high)


def _power(epsilon: float, delta: float, chance: float) -> float:
    return max(
        chance, min(1.0, exp(epsilon) * chance + delta, 1 - exp(-epsilon) * (1 - delta - chance))
    )


def _written(delta: float) -> float:
    """A few digits that are not below it."""
    if not 0 < delta < inf:
        return delta
    return float_above(decimal_above(Fraction(delta), _DIGITS))
