"""Costs of events in the two currencies that add up exactly: pure epsilon, and rho of zCDP.

Claim.   For draws as `events` state them, adaptively composed: the whole is `pure_epsilon`-DP if
         that is a number, and `rho`-zCDP; rho-zCDP implies (`zcdp_epsilon`, delta)-DP.
         Fractions are exact; floats are rounded towards more cost.
Source.  Pure: epsilons add up; integer Laplace noise of scale b on a vector of L1 sensitivity
         Delta is Delta/b-DP. zCDP: Bun, Steinke (2016), arXiv:1605.02065 (pure epsilon is
         epsilon^2/2); Canonne, Kamath, Steinke (2020), arXiv:2004.00010, Theorem 14 (the discrete
         Gaussian is L2^2 / (2 sigma2), like the continuous one) and Proposition 12 (the
         conversion at one order); Cesar, Rogers (2021), arXiv:2004.07223 (the exponential
         mechanism is epsilon^2/8).
Oracle.  tests/mechanisms/privacy/test_accountant.py.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, log1p, sqrt

from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
)
from hallmark.mechanisms.privacy.rounding import float_above, float_below

SLACK = 1e-12  # relative, and absolute: far above the rounding of the few operations it covers
_GOLDEN = (sqrt(5) - 1) / 2
_SECTIONS = 40  # a valley of width 16 becomes one of 1e-7, and its floor is flat


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Exact cost of a composition of events.

    Attributes:
        pure: epsilon of pure differential privacy; None if an event is not pure.
        rho: rho of zero-concentrated differential privacy.
    """

    pure: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)

    def __add__(self, other: "Cost") -> "Cost":
        whole = None if self.pure is None or other.pure is None else self.pure + other.pure
        return Cost(pure=whole, rho=self.rho + other.rho)

    def covers(self, other: "Cost") -> bool:
        """Whether `other` costs at most as much in each currency in which this cost is stated."""
        if self.pure is not None and (other.pure is None or other.pure > self.pure):
            return False
        return other.rho <= self.rho


def cost(events: Iterable[Event]) -> Cost:
    """Cost of a composition in both currencies."""
    composition = checked(events)
    return Cost(pure=pure_epsilon(composition), rho=rho(composition))


def pure_epsilon(events: Iterable[Event]) -> Fraction | None:
    """Epsilon of pure differential privacy, exact; None if an event is not pure."""
    costs = [(event.times, _pure(event)) for event in checked(events)]
    total = Fraction(0)
    for times, own in costs:
        if own is None:
            return None
        total += times * own
    return total


def rho(events: Iterable[Event]) -> Fraction:
    """Cost in zero-concentrated differential privacy, exact."""
    return sum((event.times * _rho(event) for event in checked(events)), Fraction(0))


def conversion(above: float, delta: Fraction) -> float:
    """The epsilon that converting a Renyi divergence of one order to (epsilon, delta)-DP adds.

    Args:
        above: the order less one, positive.
        delta: positive.
    """
    log_delta = log(float_below(delta))
    return -(log_delta + log(1 + above)) / above - log1p(1 / above)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> float:
    """Epsilon at which rho-zCDP implies (epsilon, delta)-DP; infinite for delta = 0.

    Every order gives a valid bound, so the search for the best needs no proof.
    """
    if rho == 0:
        return 0.0
    if delta == 0:
        return inf
    concentrated = float_above(rho)

    def bound(log_above: float) -> float:
        above = exp(log_above)
        return concentrated * (1 + above) + conversion(above, delta)

    centre = log(max(-log(float_below(delta)), 1e-3) / concentrated) / 2
    best = bound(lowest_at(bound, centre - 8, centre + 8))
    return max(0.0, best) * (1 + SLACK) + SLACK


def lowest_at(function: Callable[[float], float], low: float, high: float) -> float:
    """Minimiser of a function with one valley between `low` and `high`, by golden sections.

    Used only if every argument gives a valid bound. (Importing scipy's search takes longer than the
    command line may take to answer.)
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_SECTIONS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2


def checked(events: Iterable[Event]) -> list[Event]:
    """The events, after checking that all are of a known kind and have valid parameters.

    Raises:
        TypeError, ValueError: an event is unknown (which does not make it free) or invalid.
    """
    known = list(events)
    for event in known:
        match event:
            case DiscreteLaplace():
                noise, sensitivity = event.scale, event.l1
            case DiscreteGaussian():
                noise, sensitivity = event.sigma2, event.l2_squared
                if event.unit_moves not in (None, event.l2_squared):
                    raise ValueError(
                        f"{event}: {event.unit_moves} coordinates that move by one make a squared "
                        f"L2 sensitivity of {event.unit_moves}, not {event.l2_squared}"
                    )
            case ExponentialMechanism():
                noise, sensitivity = event.epsilon, 0
            case _:
                raise TypeError(
                    f"the accountant has no proof for {event!r}; an unknown event is not free"
                )
        if not isinstance(noise, int | Fraction):
            raise TypeError(f"{event}: its parameter must be an exact rational")
        if not isinstance(event.adaptive, bool):
            raise TypeError(f"{event}: `adaptive` must be True or False")
        if not (noise > 0 and sensitivity >= 0 and event.times >= 1):
            raise ValueError(
                f"{event}: needs a positive parameter, a sensitivity of at least 0 and at least "
                "one draw"
            )
    return known


def _pure(event: Event) -> Fraction | None:
    match event:
        case DiscreteLaplace():
            return event.l1 / Fraction(event.scale)
        case ExponentialMechanism():
            return Fraction(event.epsilon)
        case DiscreteGaussian():
            return Fraction(0) if event.l2_squared == 0 else None


def _rho(event: Event) -> Fraction:
    match event:
        case DiscreteLaplace():
            return (event.l1 / Fraction(event.scale)) ** 2 / 2
        case ExponentialMechanism():
            return Fraction(event.epsilon) ** 2 / 8
        case DiscreteGaussian():
            return event.l2_squared / (2 * Fraction(event.sigma2))
