"""Calibration: the least noise that the accountant lets a budget pay for.

Claim.   At `Calibration.value` the events cost at most the budget. One step of the grid lower,
         less than 1e-4 of the value, the accountant cannot prove that; both evaluations are kept.
Source.  The search starts from the analytic Gaussian mechanism: Balle, Wang (2018),
         arXiv:1805.06530, which the discrete one comes close to.
Oracle.  tests/mechanisms/privacy/test_calibration.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, log10

from dp_accounting import gaussian_mechanism

from mechanisms.privacy.accountant import epsilon, fits
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.events import DiscreteGaussian


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A noise parameter and the proof on which side of the root it lies. Public.

    Attributes:
        value: the noise parameter; its cost is at most the budget.
        epsilon: upper bound on the cost at `value`, at the budget's delta.
        below: the next smaller parameter on the grid.
        epsilon_below: upper bound on the cost there, more than the budget.
    """

    value: Fraction
    epsilon: float
    below: Fraction
    epsilon_below: float

    @property
    def proof(self) -> tuple[float, float]:
        """Costs just below the root, too high, and at the value, within the budget."""
        return self.epsilon_below, self.epsilon


@lru_cache(maxsize=256)
def gaussian_sigma2(
    budget: Budget, *, l2_squared: int, unit_moves: int | None, count: int
) -> Calibration:
    """Smallest sigma2 on a decimal grid at which `count` Gaussian draws fit the budget.

    Args:
        l2_squared: squared L2 sensitivity of each draw, records^2.
        unit_moves: as in `DiscreteGaussian`; None is about 17 % dearer, since only zCDP applies.
        count: how many draws of that sensitivity the budget is for.
    Raises:
        ValueError: delta is 0, or there is nothing to protect.
    """
    if budget.is_pure:
        raise ValueError("delta: 0, but Gaussian noise is never purely private; state delta > 0")
    if l2_squared < 1 or count < 1:
        raise ValueError(
            f"{count} draws of squared sensitivity {l2_squared}: both must be at least 1, since "
            "what cannot change needs no noise"
        )
    draws = DiscreteGaussian(
        l2_squared=l2_squared, sigma2=Fraction(1), unit_moves=unit_moves, times=count
    )
    unit = gaussian_mechanism.get_sigma_gaussian(float(budget.epsilon), float(budget.delta))
    guess = count * l2_squared * unit**2
    step = Fraction(10) ** (floor(log10(guess)) - 4)
    steps = _smallest(lambda n: _fits(draws, n * step, budget), ceil(Fraction(guess) / step))
    value, below = steps * step, (steps - 1) * step
    return Calibration(
        value=value,
        epsilon=_cost(draws, value, budget),
        below=below,
        epsilon_below=_cost(draws, below, budget),
    )


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


def _fits(draws: DiscreteGaussian, sigma2: Fraction, budget: Budget) -> bool:
    return fits((replace(draws, sigma2=sigma2),), budget)


def _cost(draws: DiscreteGaussian, sigma2: Fraction, budget: Budget) -> float:
    return epsilon((replace(draws, sigma2=sigma2),), budget.delta) if sigma2 else inf
