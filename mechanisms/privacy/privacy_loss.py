"""Numerical composition by privacy loss distributions (PLDs), through dp-accounting.

Claim.   `epsilon_at_most` is an upper bound on the epsilon of the adaptive composition of the
         events, `deltas_at_most` one on its deltas, `epsilon_at_least` a lower bound on the
         largest epsilon among mechanisms that the events describe.
Source.  A pair of laws that dominates a mechanism may replace it in any adaptive composition: Zhu,
         Dong, Wang (2022), arXiv:2106.08567, Theorem 10. Upper bounds are discretised by
         connecting the dots (Doroshenko et al., 2022, arXiv:2207.04380), which on a grid of mesh h
         is too large by a term of order h^2; lower bounds by rounding losses down.

Dominating pairs, and why they are valid:
- Discrete Gaussian, m coordinates that move by one: the product of m pairs (N, N + 1). A
  neighbour that moves fewer coordinates loses nothing on the others. If the moves are unknown, no
  pair is proved here (the continuous Gaussian does not dominate the discrete one), so there is no
  PLD, and zCDP is used.
- Laplace on a vector: binary randomised response of the same pure epsilon, which dominates every
  epsilon-DP mechanism (Kairouz, Oh, Viswanath, 2015, arXiv:1311.0776). We know no proof that noise
  in one coordinate is the worst case of all vectors with one L1 sensitivity, and do not use it.
- Exponential mechanism: its losses lie in an interval of length epsilon that holds 0, [t - epsilon,
  t] for some t (bounded range: Durfee, Rogers, 2019, arXiv:1905.04273; Dong, Durfee, Rogers, 2020,
  arXiv:1909.13830). Of all mechanisms with that range, the response with only the losses t and
  t - epsilon has the largest divergence; at a loss g in [-epsilon, epsilon] the worst t is
  (epsilon + g) / 2, which gives `choice_divergence`. A maximum of convex functions of exp(g) is
  convex, so it is the curve of some pair (as Zhu, Dong, Wang show), which dominates all of them.
For lower bounds: one of the mechanisms that the event describes. For Gaussians m unit moves, where
m is the squared L2 sensitivity; for Laplace one coordinate that moves by the L1 sensitivity; for a
choice two candidates whose log odds move from -epsilon/2 to epsilon/2, a randomised response.

dp-accounting's accountant class is not used: it drops the count of some events and doubles
sensitivities under replace-one (tests/mechanisms/privacy/test_accountant.py checks that it does).
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
)
from hallmark.mechanisms.privacy.rounding import float_above, float_below, sqrt_above, sqrt_below

_Distribution = Any  # a `PrivacyLossDistribution`; dp-accounting ships no types

# Grid points to a standard deviation of the total loss. Finer grids cost time, and below about
# 2**-16 the rounding errors of connecting the dots show.
_POINTS_ABOVE, _POINTS_BELOW = 2**13, 2**16
_LARGEST_SIGMA = 20_000  # records; dp-accounting loops over some 20 sigma in Python

# dp-accounting computes deltas in floats: composition by Fourier transform has a total error of
# about 1e-14. Bounds are therefore stated for a delta that differs by this much, on the safe side.
_SLACK, _RELATIVE_SLACK = 1e-12, 1e-6


@lru_cache(maxsize=1024)
def epsilon_at_most(composition: tuple[Event, ...], delta: Fraction) -> float:
    """Upper bound on epsilon at this delta; infinite if no dominating pair is known."""
    usable = float_below(delta) * (1 - _RELATIVE_SLACK) - _SLACK
    if usable <= 0 or not all(map(_has_pair, composition)):
        return inf
    return float(_dominating(composition).get_epsilon_for_delta(usable)) * (1 + _SLACK)


@lru_cache(maxsize=256)
def deltas_at_most(
    composition: tuple[Event, ...], epsilons: tuple[float, ...]
) -> tuple[float, ...] | None:
    """Upper bounds on delta at each epsilon, none below 0; None if no dominating pair is known."""
    if not all(map(_has_pair, composition)):
        return None
    ordered = sorted(set(epsilons))
    found = _dominating(composition).get_delta_for_epsilon(ordered) if ordered else ()
    least = dict(zip(ordered, found, strict=True))
    return tuple(float(least[one]) * (1 + _RELATIVE_SLACK) + _SLACK for one in epsilons)


@lru_cache(maxsize=2)  # megabytes each; whoever asks for epsilon then asks for deltas
def _dominating(composition: tuple[Event, ...]) -> _Distribution:
    """Loss distribution of a pair that dominates the composition."""
    return _compose(list(_pessimistic(composition, _mesh(composition, _POINTS_ABOVE))))


@lru_cache(maxsize=1024)
def epsilon_at_least(composition: tuple[Event, ...], delta: Fraction) -> float:
    """Lower bound on the epsilon that any accountant can prove from the events, at delta > 0."""
    usable = float_above(delta) * (1 + _RELATIVE_SLACK) + _SLACK
    if any(isinstance(e, DiscreteGaussian) and _too_wide(e) for e in composition):
        return 0.0
    parts = list(_optimistic(composition, _mesh(composition, _POINTS_BELOW)))
    return float(_compose(parts).get_epsilon_for_delta(usable)) * (1 - _SLACK)


def _has_pair(event: Event) -> bool:
    if isinstance(event, DiscreteGaussian):
        return event.unit_moves is not None and not _too_wide(event)
    return True


def _too_wide(event: DiscreteGaussian) -> bool:
    return event.sigma2 > _LARGEST_SIGMA**2


def _mesh(composition: tuple[Event, ...], points: int) -> float:
    """Mesh of the grid, fitted to the spread of the total loss; divides the pure epsilons."""
    responses, choices = _responses(composition), _choices(composition)
    moves = _moves(composition)
    variance = sum(
        [times * epsilon**2 for epsilon, times in responses.items()]
        + [times * epsilon**2 / 3 for epsilon, times in choices.items()]
        + [count / sigma2 for sigma2, count in moves.items()],
        Fraction(0),
    )
    mesh = sqrt(variance) / points
    if (responses or choices) and mesh:
        # Losses of randomised response are all +-epsilon: on the grid they need no rounding.
        least = float_above(min([*responses, *choices]))
        mesh = least / ceil(least / mesh) * (1 + _SLACK)
    return mesh


def _responses(composition: tuple[Event, ...]) -> Counter[Fraction]:
    """The number of times that each pure epsilon is spent."""
    responses: Counter[Fraction] = Counter()
    for event in composition:
        if isinstance(event, DiscreteLaplace) and event.l1:
            responses[event.l1 / Fraction(event.scale)] += event.times
    return responses


def _choices(composition: tuple[Event, ...]) -> Counter[Fraction]:
    """The number of choices of each epsilon."""
    choices: Counter[Fraction] = Counter()
    for event in composition:
        if isinstance(event, ExponentialMechanism):
            choices[Fraction(event.epsilon)] += event.times
    return choices


def _moves(composition: tuple[Event, ...]) -> Counter[Fraction]:
    """The number of coordinates that move by one, for each noise parameter sigma2."""
    moves: Counter[Fraction] = Counter()
    for event in composition:
        if isinstance(event, DiscreteGaussian) and event.l2_squared:
            moves[Fraction(event.sigma2)] += event.times * event.l2_squared
    return moves


def _pessimistic(composition: tuple[Event, ...], mesh: float) -> Iterator[_Distribution]:
    for sigma2, moves in _moves(composition).items():
        yield _gaussian(sqrt_below(sigma2), mesh).self_compose(moves)
    for epsilon, times in _responses(composition).items():
        steps = ceil(float_above(epsilon) / mesh)
        yield _response(steps, mesh, pessimistic=True).self_compose(times)
    for epsilon, times in _choices(composition).items():
        yield _choice(float_above(epsilon), mesh).self_compose(times)


def _gaussian(sigma: float, mesh: float) -> _Distribution:
    """Loss distribution of the pair (N, N + 1) of discrete Gaussians.

    What dp-accounting's `from_discrete_gaussian_mechanism(..., use_connect_dots=True)` gives, to
    the last bit; that loops in Python over the noise and over the grid.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_mechanism

    law = privacy_loss_mechanism.DiscreteGaussianPrivacyLoss(sigma, sensitivity=1)
    ends = law.connect_dots_bounds()
    noise = np.arange(ends.upper_x, ends.lower_x - 1, -1)
    losses = (-0.5 - noise) / sigma**2 / mesh
    steps = np.union1d(np.floor(losses), np.ceil(losses)).astype(np.int64)
    epsilons = steps * mesh
    # The loss is at least epsilon where the noise is at most `most`.
    most = np.floor(np.clip(-0.5 - epsilons * sigma**2, ends.lower_x - 1, ends.upper_x))
    beyond = law.mu_upper_cdf(most) - np.exp(epsilons + law.mu_lower_log_cdf(most))
    return _pld().PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(mesh, steps, np.clip(beyond, 0, 1))
    )


def choice_divergence(epsilon: float, loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest hockey-stick divergence of a choice with this epsilon, at e to the power of `loss`.

    Raises:
        ValueError: epsilon is not positive.
    """
    if not epsilon > 0:
        raise ValueError(f"the epsilon of a choice must be positive, not {epsilon}")
    inside = np.expm1((np.clip(loss, -epsilon, epsilon) - epsilon) / 2) ** 2 / -expm1(-epsilon)
    return np.where(loss <= -epsilon, -np.expm1(np.minimum(loss, 0.0)), inside)


def _choice(epsilon: float, mesh: float) -> _Distribution:
    """Loss distribution of the pair that dominates all choices with this epsilon."""
    reach = ceil(epsilon / mesh)
    steps = np.arange(-reach, reach + 1)
    curve = choice_divergence(epsilon, mesh * steps.astype(np.float64))
    from dp_accounting.pld import pld_pmf

    return _pld().PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(mesh, steps, curve)
    )


def _optimistic(composition: tuple[Event, ...], mesh: float) -> Iterator[_Distribution]:
    for sigma2, moves in _moves(composition).items():
        yield (
            _pld()
            .from_discrete_gaussian_mechanism(
                sqrt_above(sigma2),
                sensitivity=1,
                value_discretization_interval=mesh,
                pessimistic_estimate=False,
            )
            .self_compose(moves)
        )
    for event in composition:
        match event:
            case DiscreteLaplace() if event.l1:
                yield (
                    _pld()
                    .from_discrete_laplace_mechanism(
                        1 / float_above(Fraction(event.scale)),
                        sensitivity=event.l1,
                        value_discretization_interval=mesh,
                        pessimistic_estimate=False,
                    )
                    .self_compose(event.times)
                )
            case ExponentialMechanism():
                steps = floor(float_below(Fraction(event.epsilon)) / 2 / mesh)
                yield _response(steps, mesh, pessimistic=False).self_compose(event.times)


def _response(steps: int, mesh: float, *, pessimistic: bool) -> _Distribution:
    """Loss distribution of binary randomised response whose epsilon is `steps` meshes."""
    odds = exp(steps * mesh)
    losses = {steps: odds / (1 + odds), -steps: 1 / (1 + odds)} if steps else {0: 1.0}
    return _pld().PrivacyLossDistribution.create_from_rounded_probability(
        losses, 0.0, mesh, pessimistic_estimate=pessimistic
    )


def _pld() -> Any:
    """dp-accounting's module, imported at its first use, since that takes long."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def _compose(parts: list[_Distribution]) -> _Distribution:
    if not parts:
        return _pld().identity()
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole
