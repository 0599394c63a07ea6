"""The accountant: the cost of a composition of events, in every currency that Hallmark uses.

Claim.   For draws as `events` state them, adaptively composed: the whole is
         (`epsilon(events, delta)`, delta)-DP for every delta. Floats are rounded towards more cost.
Source.  Sums of pure epsilons and of rho, and the conversion of rho: `costs`.
         Privacy loss distributions: `privacy_loss`.
Oracle.  tests/mechanisms/privacy/test_accountant.py: closed forms, and the exact law of a sum.

Adaptive events. A list of fixed events may be composed by all three routes, however the questions
         depended on answers. If an event is `adaptive`, the list is itself an outcome, and the
         claim is about a budget fixed beforehand, for which `fits` is checked before each draw, as
         the curator does (a privacy filter). Only sums are used for it, never privacy losses:
         pure, since on every path the loss is at most the sum of the epsilons; and zCDP, since for
         every order a > 1 the product of (P_i / Q_i)^(a-1) exp(-(a-1) a rho_i) over the draws is a
         supermartingale under P whenever rho_i is known before draw i, so that the whole is
         rho-zCDP if no path sums to more than rho. `fits` takes either of the two: a path that
         passed the rho of the budget loses at most epsilon and adds nothing to delta, and the other
         paths are those of the mechanism that stops instead of passing it.
         `epsilon` and `bracket` of such a list give its sum; the claim is the budget.
Source.  Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294, for pure epsilons; Feldman, Zrnic
         (2021), arXiv:2008.11193, for one Renyi order; Whitehouse, Ramdas, Rogers, Wu (2023),
         arXiv:2203.05481, for zCDP. We know no such proof for privacy loss distributions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, sqrt

from opendp.combinators import make_zCDP_to_approxDP

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import (
    SLACK,
    checked,
    pure_epsilon,
    rho,
    zcdp_epsilon,
)
from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
    is_adaptive,
    merged,
)
from hallmark.mechanisms.privacy.noise import (
    gaussian_measurement,
    laplace_measurement,
    selection_measurement,
)
from hallmark.mechanisms.privacy.privacy_loss import epsilon_at_least, epsilon_at_most
from hallmark.mechanisms.privacy.rounding import float_above, float_below, sqrt_above

__all__ = [
    "AccountantDisagreement",
    "Bracket",
    "BudgetExceeded",
    "bracket",
    "epsilon",
    "fits",
    "pure_epsilon",
    "rho",
    "zcdp_epsilon",
]

PURE = "pure composition, where epsilons add up"
ZCDP = "zero-concentrated DP with the optimal conversion"
PLD = "the privacy loss distribution (dp-accounting)"


class BudgetExceeded(Exception):
    """The next draw would cost more than the budget allows; nothing was drawn."""


class AccountantDisagreement(Exception):
    """Two accountants contradict each other, so at least one is wrong; nothing may be claimed."""


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """Lower and upper bounds on the smallest true epsilon of a composition. Public.

    Attributes:
        lower: no accountant that knows only the events can prove less.
        upper: the epsilon that Hallmark claims.
        second: the epsilon that an independent library proves: OpenDP's maps of the measurements.
        method: the method that gave `upper`.
        second_method: the method that gave `second`.
    """

    lower: float
    upper: float
    second: float
    method: str
    second_method: str


def epsilon(events: Iterable[Event], delta: Fraction) -> float:
    """Upper bound on epsilon at this delta: the best that Hallmark can prove.

    Infinite if nothing can be proved, such as for Gaussian noise at delta = 0.
    """
    return min(_upper_bounds(_composition(events), delta).values())


def fits(events: Iterable[Event], budget: Budget) -> bool:
    """Whether the composition provably costs at most `budget`; cheap exact proofs come first."""
    return _fits(_composition(events), budget)


def bracket(events: Iterable[Event], delta: Fraction) -> Bracket:
    """The claim with a lower bound, and an upper bound by other software, for reports.

    The latter is looser: it catches gross mistakes of one of the two, and confirms no digit.

    Raises:
        ValueError: delta is 0 and an event is not pure.
        AccountantDisagreement: an upper bound is below the lower bound.
    """
    composition = _composition(events)
    pure = pure_epsilon(composition)
    if delta == 0 and pure is None:
        raise ValueError("delta: 0, but Gaussian noise is never purely private; state delta > 0")
    bounds = _upper_bounds(composition, delta)
    method = min(bounds, key=bounds.__getitem__)
    lower = float_below(pure or Fraction(0)) if delta == 0 else epsilon_at_least(composition, delta)
    second, second_method = _second_opinion(composition, delta)
    found = Bracket(
        lower=lower,
        upper=bounds[method],
        second=second,
        method=method,
        second_method=second_method,
    )
    if lower > min(found.upper, second):
        raise AccountantDisagreement(
            f"an epsilon below {lower} is impossible, but {method} claims {found.upper} and "
            f"{second_method} claims {second}; do not release, and report this"
        )
    return found


def _composition(events: Iterable[Event]) -> tuple[Event, ...]:
    return merged(checked(events))


@lru_cache(maxsize=4096)
def _fits(composition: tuple[Event, ...], budget: Budget) -> bool:
    pure = pure_epsilon(composition)
    if pure is not None and pure <= budget.epsilon:
        return True
    if budget.is_pure:
        return False
    if _within(zcdp_epsilon(rho(composition), budget.delta), budget):
        return True
    if is_adaptive(composition):
        return False
    return _within(epsilon_at_most(composition, budget.delta), budget)


def _within(cost: float, budget: Budget) -> bool:
    return cost < inf and Fraction(cost) <= budget.epsilon


def _upper_bounds(composition: tuple[Event, ...], delta: Fraction) -> dict[str, float]:
    pure = pure_epsilon(composition)
    bounds = {
        PURE: inf if pure is None else float_above(pure),
        ZCDP: zcdp_epsilon(rho(composition), delta),
    }
    if not is_adaptive(composition):
        bounds[PLD] = epsilon_at_most(composition, delta)
    return bounds


def _second_opinion(composition: tuple[Event, ...], delta: Fraction) -> tuple[float, str]:
    """Upper bound by OpenDP: its maps of the measurements that are drawn, and its conversion."""
    pure, concentrated = 0.0, 0.0
    for event in composition:
        match event:
            case DiscreteLaplace():
                cost = laplace_measurement(event.scale).map(event.l1)  # type: ignore[no-untyped-call]  # OpenDP
                squared = cost**2 / 2
            case ExponentialMechanism():
                squared = selection_measurement(2 / event.epsilon).map(1)  # type: ignore[no-untyped-call]  # OpenDP
                cost = sqrt(8 * squared)  # of a choice, rho is epsilon^2 / 8
            case DiscreteGaussian():
                l2 = sqrt_above(Fraction(event.l2_squared))
                squared = gaussian_measurement(event.sigma2).map(l2)  # type: ignore[no-untyped-call]  # OpenDP
                cost = inf if l2 else 0.0
        pure += event.times * cost
        concentrated += event.times * squared
    pure, concentrated = pure * (1 + SLACK), concentrated * (1 + SLACK)
    if concentrated == 0:
        return 0.0, "OpenDP's privacy maps"
    converted = inf
    if delta > 0:
        unit = make_zCDP_to_approxDP(gaussian_measurement(Fraction(1)))
        curve = unit.map(sqrt(2 * concentrated) * (1 + SLACK))  # type: ignore[no-untyped-call]  # OpenDP
        converted = float(curve.epsilon(float_below(delta)))
    if pure <= converted:
        return pure, "OpenDP's privacy maps, epsilons added up"
    return converted, "OpenDP's privacy maps and its conversion from zCDP"
