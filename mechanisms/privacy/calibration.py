"""Calibration: the least noise that the accountant admits for a budget.

Claim.   At `Calibration.value` the events cost at most the budget. One step of the grid further,
         less than 1e-4 of the value, the accountant cannot prove that; both evaluations are kept.
Source.  The search starts from the analytic Gaussian mechanism: Balle, Wang (2018),
         arXiv:1805.06530, to which the discrete one is close.
Oracle.  tests/mechanisms/privacy/test_calibration.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor, inf, log, log10

from hallmark.mechanisms.privacy.accountant import epsilon, fits
from hallmark.mechanisms.privacy.accountant import rho as cost
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteGaussian, Event

EventsAt = Callable[[Fraction], tuple[Event, ...]]
"""A family of compositions, by its parameter."""

_STEPS = 10**4  # of the grid to the root, at least
_LEAST = Fraction(1, 10**4)  # share of a budget that is worth searching for


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A noise parameter with the proof that it is on the safe side of the root. Public.

    Attributes:
        value: the parameter; its cost is at most the budget.
        epsilon: upper bound on the cost at `value`, at the budget's delta.
        beyond: the next parameter on the grid, with less noise.
        epsilon_beyond: upper bound on the cost there, more than the budget.
    """

    value: Fraction
    epsilon: float
    beyond: Fraction
    epsilon_beyond: float

    @property
    def proof(self) -> tuple[float, float]:
        """Costs just beyond the root (above the budget) and at the value (within it)."""
        return self.epsilon_beyond, self.epsilon


@lru_cache(maxsize=256)
def gaussian_sigma2(
    budget: Budget,
    *,
    l2_squared: int,
    unit_moves: int | None,
    count: int,
    beside: tuple[Event, ...] = (),
) -> Calibration:
    """Smallest sigma2 on a decimal grid at which `count` Gaussian draws fit the budget.

    Args:
        l2_squared: squared L2 sensitivity of each draw, records^2.
        unit_moves: as in `DiscreteGaussian`; None costs about 17 % more, since only zCDP applies.
        count: the number of draws of that sensitivity.
        beside: further events that the budget pays for.
    Raises:
        ValueError: delta is 0, there is nothing to protect, or the further events leave nothing of
            the budget that could be proved.
    """
    _needs_delta(budget)
    if l2_squared < 1 or count < 1:
        raise ValueError(
            f"{count} draws of squared sensitivity {l2_squared}: both must be at least 1, since "
            "what cannot change needs no noise"
        )

    def events_at(sigma2: Fraction) -> tuple[Event, ...]:
        return (
            DiscreteGaussian(
                l2_squared=l2_squared, sigma2=sigma2, unit_moves=unit_moves, times=count
            ),
            *beside,
        )

    # Approximately, in zCDP: the value of the budget, and how much of it is left.
    worth = 1 / (2 * unit_sigma(budget) ** 2)
    left = max(worth - float(cost(beside)), _LEAST * worth)
    guess = count * l2_squared / (2 * left)
    if beside and not fits(events_at(Fraction(guess) / _LEAST), budget):
        raise ValueError(f"{budget}: what else is asked leaves nothing of it; ask for less")

    def least(step: Fraction, guess: int) -> int:
        near = _nearer(lambda n: epsilon(events_at(n * step), budget.delta), budget, guess, -0.6)
        return _smallest(lambda n: fits(events_at(n * step), budget), near)

    step = _step(guess)
    steps = least(step, ceil(Fraction(guess) / step))
    while beside and steps < _STEPS:  # the guess was too large for a fine grid
        step /= 10
        steps = least(step, 10 * steps)
    value, beyond = steps * step, (steps - 1) * step
    return Calibration(
        value=value,
        epsilon=epsilon(events_at(value), budget.delta),
        beyond=beyond,
        epsilon_beyond=epsilon(events_at(beyond), budget.delta) if beyond else inf,
    )


def largest_rho(events_at: EventsAt, budget: Budget) -> Calibration:
    """Largest rho on a decimal grid at which a family of compositions fits the budget.

    Args:
        events_at: the events at a positive rho, whose cost grows with rho. The search is short
            because they cost about rho in zCDP, but the claim does not depend on that.
    Raises:
        ValueError: delta is 0, or no rho of any use fits.
    """
    _needs_delta(budget)

    def by_sums(step: Fraction, guess: int) -> int:
        """Most steps that cheap sums of costs alone can prove to fit."""

        def passes(steps: int) -> bool:
            return fits((replace(e, adaptive=True) for e in events_at(steps * step)), budget)

        return _largest(passes, guess)

    guess = 1 / (2 * unit_sigma(budget) ** 2)
    step = _step(guess)
    steps = by_sums(step, floor(Fraction(guess) / step))
    while steps < _STEPS:
        step /= 10
        if step < Fraction(guess) / 10**12:
            raise ValueError(f"{budget}: the least that is asked costs more; ask for more budget")
        steps = by_sums(step, 10 * steps)
    # Privacy losses of Gaussian noise come close to the guess; of other events, to the sums.
    summed = events_at(steps * step)
    whole = cost(summed)
    gaussian = cost(event for event in summed if isinstance(event, DiscreteGaussian)) / whole
    start = floor(steps * (guess / float(whole)) ** float(gaussian))
    near = _nearer(lambda n: epsilon(events_at(n * step), budget.delta), budget, start, 0.6)
    steps = _largest(lambda n: fits(events_at(n * step), budget), near)
    value, beyond = steps * step, (steps + 1) * step
    return Calibration(
        value=value,
        epsilon=epsilon(events_at(value), budget.delta),
        beyond=beyond,
        epsilon_beyond=epsilon(events_at(beyond), budget.delta),
    )


def _needs_delta(budget: Budget) -> None:
    if budget.is_pure:
        raise ValueError("delta: 0, but Gaussian noise is never purely private; state delta > 0")


def unit_sigma(budget: Budget) -> float:
    """Standard deviation of the analytic Gaussian mechanism's noise for a sensitivity of 1; needs
    delta above 0."""
    from dp_accounting import gaussian_mechanism  # here, as it takes long to import

    sigma: float = gaussian_mechanism.get_sigma_gaussian(float(budget.epsilon), float(budget.delta))
    return sigma


def _step(guess: float) -> Fraction:
    """Step of a decimal grid on which `guess` is 10^4 to 10^5 steps."""
    return Fraction(10) ** (floor(log10(guess)) - 4)


def _nearer(cost: Callable[[int], float], budget: Budget, guess: int, slope: float) -> int:
    """The guess moved to where the cost is about the budget's epsilon, by secants of logarithms.

    Every step of the search that follows composes privacy losses, which takes long; from here it
    has few. What it finds depends on the guess no more than before.

    Args:
        slope: of the logarithm of the cost over that of n, roughly.
    """
    missed: dict[int, float] = {}  # logarithm of cost over budget, where it was evaluated
    at = max(1, guess)
    while at not in missed and len(missed) < 6 and 0 < (found := cost(at)) < inf:
        error = log(found / float(budget.epsilon))
        if missed:
            last = next(reversed(missed))
            slope = (error - missed[last]) / log(at / last) or slope
        missed[at] = error
        at = max(1, round(at * exp(min(1.0, max(-1.0, -error / slope)))))
    return min(missed, key=lambda n: abs(missed[n]), default=guess)


def _smallest(passes: Callable[[int], bool], guess: int) -> int:
    """Smallest n >= 1 that passes, next to one that does not; 0 never passes. Gallops, bisects."""
    fails, good, stride = guess, guess, 1
    if passes(guess):
        while fails > 0 and passes(fails):
            good, fails, stride = fails, max(0, fails - stride), 2 * stride
    else:
        while not passes(good):
            fails, good, stride = good, good + stride, 2 * stride
    while good - fails > 1:
        middle = (good + fails) // 2
        if passes(middle):
            good = middle
        else:
            fails = middle
    return good


def _largest(passes: Callable[[int], bool], guess: int) -> int:
    """Largest n >= 0 that passes, next to one that does not; 0 always passes."""
    return _smallest(lambda n: not passes(n), max(1, guess)) - 1
