"""The filter of an account: adaptively chosen releases, composed at one Renyi order.

Claim.   Let an account's cap be (epsilon, delta). Releases that were admitted before the filter
         opened sum to (e, d). Each later one is admitted, before it sees data, with an upper bound
         on its `Cost`. If after every admission
             (1) e + sum of min(pure, order * rho) + `conversion` <= epsilon,   or
             (2) every later release is pure, and e + the sum of their epsilons <= epsilon,
         and d + `Filter.delta` <= delta, then all releases together are (epsilon, delta)-DP, no
         matter how the next one, its size and its data depend on earlier answers.
Proof.   account_filter.md, beside this file.
Source.  Feldman, Zrnic (2021), arXiv:2008.11193, Theorem 4.3 (filters at one Renyi order);
         Whitehouse, Ramdas, Rogers, Wu (2023), arXiv:2203.05481 (filters in zCDP at the rate of
         composition that is fixed beforehand); Canonne, Kamath, Steinke (2020), arXiv:2004.00010,
         Proposition 12 (`costs.conversion`).
Oracle.  tests/mechanisms/privacy/test_account_filter.py: the worst adaptive choice of releases, by
         dynamic programming over all histories; with a broken twin.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, erfc, exp, floor, log, sqrt

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost, conversion, lowest_at, zcdp_epsilon
from hallmark.mechanisms.privacy.rounding import float_below

_MARGIN = 1e-9  # of the recorded conversion: larger than all float errors
_GRID = Fraction(1, 10**6)  # of orders and of forecasts: entries stay short
_FINE = 10**12  # of a cap in rho
_BISECTIONS = 50
_GAUSSIAN = Fraction(999, 1000)  # of a forecast, which the discrete Gaussian nearly reaches


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Terms on which later releases of an account are admitted. Public, exact, and recorded.

    Attributes:
        order: of the Renyi divergence, more than 1; fixed when the filter opens, since a proof at
            one order says nothing about an order chosen after seeing answers.
        delta: part of the cap's delta that the conversion to (epsilon, delta)-DP uses.
        conversion: part of the cap's epsilon that the conversion uses.
    Raises:
        ValueError: the conversion uses more than is recorded.
    """

    order: Fraction
    delta: Fraction
    conversion: Fraction

    def __post_init__(self) -> None:
        if not (self.order > 1 and 0 < self.delta < 1):
            raise ValueError(f"a filter of order {self.order} at delta {self.delta}")
        if self.conversion < conversion(float(self.order - 1), self.delta):
            raise ValueError(
                f"the conversion at order {float(self.order):g} takes more than "
                f"{float(self.conversion):g} of epsilon"
            )

    @classmethod
    def opened(cls, left: Budget) -> "Filter":
        """The filter that admits the most rho within what is left of a cap, with delta > 0."""

        def passes_not(log_above: float) -> float:
            above = exp(log_above)
            return (conversion(above, left.delta) - float(left.epsilon)) / (1 + above)

        centre = log(max(-2 * log(float_below(left.delta)), 1e-3) / float(left.epsilon))
        best = exp(lowest_at(passes_not, centre - 8, centre + 8))
        above = max(_GRID, Fraction(best).limit_denominator(10**6))
        return cls.at(1 + above, left)

    @classmethod
    def at(cls, order: Fraction, left: Budget) -> "Filter":
        """The filter of this order for what is left of a cap."""
        taken = conversion(float(order - 1), left.delta)
        recorded = Fraction(ceil((taken + abs(taken) * _MARGIN + _MARGIN) * 10**10), 10**10)
        return cls(order=order, delta=left.delta, conversion=recorded)

    def divergence(self, cost: Cost) -> Fraction:
        """Upper bound on a release's Renyi divergence of this order."""
        concentrated = self.order * cost.rho
        return concentrated if cost.pure is None else min(cost.pure, concentrated)

    def admits(self, taken: "Taken", epsilon: Fraction) -> bool:
        """Whether these releases fit within `epsilon`, which earlier ones left of the cap."""
        by_order = taken.divergence + self.conversion <= epsilon
        return by_order or (not taken.impure and taken.pure <= epsilon)

    def rho_left(self, taken: "Taken", epsilon: Fraction) -> Fraction:
        """The rho that still fits in addition to these releases."""
        return max(Fraction(0), epsilon - self.conversion - taken.divergence) / self.order


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Sums of the costs of the releases that a filter has admitted.

    Attributes:
        divergence: sum of the Renyi divergences of the filter's order.
        rho: sum of the costs in zCDP.
        pure: sum of the epsilons of pure releases.
        impure: number of releases that are not pure.
        releases: number of all releases.
    """

    divergence: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)
    impure: int = 0
    releases: int = 0

    def changed(self, cost: Cost, divergence: Fraction, *, by: int = 1) -> "Taken":
        """The sums with one release more, or one less if `by` is -1."""
        return Taken(
            divergence=self.divergence + by * divergence,
            rho=self.rho + by * cost.rho,
            pure=self.pure + by * (cost.pure or 0),
            impure=self.impure + by * (cost.pure is None),
            releases=self.releases + by,
        )


def implied_budget(rho: Fraction, delta: Fraction) -> Budget:
    """The budget that rho-zCDP implies at a positive delta; epsilon is rounded up."""
    return Budget(epsilon=ceil(Fraction(zcdp_epsilon(rho, delta)) / _GRID) * _GRID, delta=delta)


def implied_rho(cap: Budget) -> Fraction:
    """The most rho whose zCDP implies a budget with delta; rounded down."""
    low, high = Fraction(0), Fraction(1)
    while zcdp_epsilon(high, cap.delta) <= cap.epsilon:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        passes = zcdp_epsilon(middle, cap.delta) <= cap.epsilon
        low, high = (middle, high) if passes else (low, middle)
    return floor(low * _FINE) / Fraction(_FINE)


def gaussian_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Approximate epsilon, at this delta, of a Gaussian release that costs `rho`; rounded down.

    Source: Balle, Wang (2018), arXiv:1805.06530, Theorem 8 (the analytic Gaussian mechanism).
    """
    if not rho:
        return Fraction(0)
    half, wanted = sqrt(rho / 2), float_below(delta)  # half of the inverse of sigma

    def passes(epsilon: float) -> bool:
        near, far = (erfc((epsilon / (2 * half) + by * half) / sqrt(2)) / 2 for by in (-1, 1))
        return near - (exp(epsilon + log(far)) if far else 0.0) > wanted

    low, high = 0.0, zcdp_epsilon(rho, delta)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return floor(_GAUSSIAN * Fraction(low) / _GRID) * _GRID
