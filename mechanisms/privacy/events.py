"""Privacy events: the draws of noise that are charged, in exact rationals.

An event describes one draw of noise, and how much one privacy unit can change the quantity that the
noise was added to. It says nothing about epsilon: `accountant` turns events into costs, so that a
better accountant can evaluate the same ledger later. Every field is public.

Adaptive events. The *question* (which marginal, which candidates) may always depend on earlier
answers. If a parameter of the event itself (its noise, its sensitivity), or whether it happens at
all, was chosen after seeing answers, the event is `adaptive`: fewer theorems hold for it, and the
accountant uses only those (`accountant`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
    """Integer Laplace noise, P(z) proportional to exp(-|z| / scale), on an integer vector."""

    l1: int  # L1 sensitivity of the vector
    scale: Fraction  # same unit as the vector
    adaptive: bool = False  # a parameter, or that it happens, was chosen after seeing answers
    times: int = 1  # how many such draws, adaptively composed


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian:
    """Integer Gaussian noise, P(z) proportional to exp(-z^2 / (2 sigma2)), on an integer vector."""

    l2_squared: int  # squared L2 sensitivity of the vector
    sigma2: Fraction  # noise parameter of every coordinate, squared unit of the vector
    unit_moves: int | None = None  # coordinates that change, each by exactly one; None: unknown
    adaptive: bool = False  # as above
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism:
    """Private selection, P(r) proportional to exp(epsilon u_r / (2 sensitivity of u))."""

    epsilon: Fraction
    adaptive: bool = False  # as above
    times: int = 1


Event = DiscreteLaplace | DiscreteGaussian | ExponentialMechanism

_KINDS: dict[str, type[Event]] = {
    "discrete_laplace": DiscreteLaplace,
    "discrete_gaussian": DiscreteGaussian,
    "exponential_mechanism": ExponentialMechanism,
}
_RATIONALS = ("scale", "sigma2", "epsilon")


def merged(events: Iterable[Event]) -> tuple[Event, ...]:
    """The composition with equal events merged into one, in order of first appearance."""
    times: dict[Event, int] = {}
    for event in events:
        once = replace(event, times=1)
        times[once] = times.get(once, 0) + event.times
    return tuple(replace(event, times=n) for event, n in times.items())


def is_adaptive(events: Iterable[Event]) -> bool:
    """Whether the list of events is itself an outcome, so that only sums of costs bound it."""
    return any(event.adaptive for event in events)


def events_to_json(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Plain JSON of `events`; rationals are strings such as "7/2", so that nothing is lost.

    `adaptive` is written only if it is true: rows of other events keep their original form.
    """
    names = {cls: name for name, cls in _KINDS.items()}
    return [
        {"event": names[type(event)]}
        | {
            k: str(v) if k in _RATIONALS else v
            for k, v in vars(event).items()
            if k != "adaptive" or v
        }
        for event in events
    ]


def events_from_json(rows: Iterable[dict[str, Any]]) -> tuple[Event, ...]:
    """Inverse of `events_to_json`.

    Raises:
        ValueError: a row names an event that this version does not know; it must not be ignored,
            since an ignored event would be an uncharged one; or `adaptive` is neither true nor
            false.
    """
    events = []
    for row in rows:
        fields = dict(row)
        kind = fields.pop("event")
        if kind not in _KINDS:
            raise ValueError(f"unknown privacy event {kind!r}: use the version that recorded it")
        if not isinstance(fields.get("adaptive", False), bool):
            raise ValueError(f"privacy event {kind!r}: `adaptive` must be true or false")
        values: dict[str, Any] = {
            k: Fraction(v) if k in _RATIONALS else v for k, v in fields.items()
        }
        events.append(_KINDS[kind](**values))
    return tuple(events)
