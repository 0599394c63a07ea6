"""What rho buys: noise of marginals and of choices, in exact rationals.

Claim.   A marginal with noise `marginal_sigma2(rho, adjacency)` costs exactly rho, a choice with
         `choice_epsilon(rho)` at most rho and at least (1 - 1e-5) rho, in zCDP.
Source.  As the accountant: Canonne, Kamath, Steinke (2020), arXiv:2004.00010, Theorem 14; Cesar,
         Rogers (2021), arXiv:2004.07223.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Protocol

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.selection.settings import WHERE
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import largest_rho
from hallmark.mechanisms.privacy.events import DiscreteGaussian, Event

CHOICE_SHARE = Fraction(1, 10)
"""Of the rho of a round that chooses a marginal and measures it; the measurement has the rest."""

_DIGITS = 10**6


def marginal_sigma2(rho: Fraction, adjacency: Adjacency, marginals: int = 1) -> Fraction:
    """Noise parameter of each of so many marginals that together cost `rho`, records^2."""
    return Fraction(marginals * adjacency.l2_squared) / (2 * rho)


def choice_epsilon(rho: Fraction, choices: int | Fraction = 1) -> Fraction:
    """Largest epsilon of six decimal digits at which so many choices cost at most `rho`."""
    square = 8 * rho / choices  # epsilon^2 / 8 a choice
    scale = Fraction(_DIGITS)
    while square * scale**2 < _DIGITS**2:
        scale *= 10
    return isqrt(int(square * scale**2)) / scale


def gaussian_event(sigma2: Fraction, adjacency: Adjacency, *, times: int = 1) -> DiscreteGaussian:
    """What measuring marginals with this noise is charged as, where it was fixed beforehand."""
    return DiscreteGaussian(
        l2_squared=adjacency.l2_squared,
        sigma2=sigma2,
        unit_moves=adjacency.unit_moves,
        times=times,
    )


class Split(Protocol):
    """A way to spend rho; hashable."""

    def events(self, rho: Fraction, adjacency: Adjacency) -> tuple[Event, ...]:
        """What a run charges."""
        ...


@lru_cache(maxsize=64)
def rho_for(split: Split, budget: Budget, adjacency: Adjacency) -> Fraction:
    """The largest rho whose events fit the budget, where they are all fixed beforehand."""
    return largest_rho(lambda rho: split.events(rho, adjacency), budget).value


@lru_cache(maxsize=64)
def rho_of(budget: Budget) -> Fraction:
    """What the budget is worth in zCDP, on a decimal grid: for parameters that answers decide."""

    def events_at(rho: Fraction) -> tuple[Event, ...]:
        return (DiscreteGaussian(l2_squared=1, sigma2=1 / (2 * rho), adaptive=True),)

    return largest_rho(events_at, budget).value


def refuse_unservable(budget: Budget, domain: Domain) -> None:
    """What no selection can do: without delta, or without a column.

    Raises:
        ValueError: the budget has no delta, or the domain no column.
    """
    if not len(domain):
        raise ValueError("columns: there is none; marginals need one at least")
    if budget.is_pure:
        raise ValueError(
            f"privacy.delta: 0, but {WHERE} measures marginals with Gaussian noise, which needs "
            "delta > 0; set one well below 1/records (such as 1e-5), or choose mechanism pmm"
        )
