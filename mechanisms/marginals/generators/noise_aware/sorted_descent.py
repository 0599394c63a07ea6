"""Particle descent: move embedded records until all their pairs look like the targets.

Loss.    The sum over pairs of the squared sliced 2-Wasserstein distance between particles and
         target, on a fixed bank of directions. Along one direction the optimal coupling is the
         sorted one, so the gradient is closed: each particle's projection less its quantile.
Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML, section 3.
Where we leave the paper: the target is quantised to counts and sorted once for ever, directions
come from a bank of equally spaced ones, Adam is dense with a large epsilon and a cosine schedule,
and no gradient entry is masked. A small Adam epsilon would turn rounding residuals into full
steps, so that a perfect table would not stay put.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_sorted_descent.py takes finite
         differences, and starts at the solution.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.marginals.generators.embedding import Positions, embedded, nearest_codes
from hallmark.mechanisms.marginals.generators.rounding import quantised

Pair = tuple[int, ...]

BANK = 32
_ANGLES = np.arange(BANK) * (math.pi / BANK)
DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1).astype(np.float32)
"""Unit vectors, shape (BANK, 2), equally spaced on the half circle."""

_GRADIENT_SCALE = 100.0  # Adam's epsilon is stated for gradients without 1/particles, times this
_FINAL_RATE = 0.02  # the cosine schedule ends at this share of the learning rate
_MOMENTS = (0.9, 0.999)


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Constants of the descent.

    Attributes:
        epochs: 0 leaves the descent out; 60 are enough without a polish.
        directions: per pair and step, out of a bank of 32.
        batch: pairs per step.
        learning_rate: of Adam, as a share of a column's range.
        adam_epsilon: on the scale of `_GRADIENT_SCALE`.
    """

    epochs: int = 0
    directions: int = 4
    batch: int = 5
    learning_rate: float = 0.02
    adam_epsilon: float = 0.03

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("directions", 1), ("batch", 1)):
            if getattr(self, name) < least:
                raise ValueError(
                    f"{name}: {getattr(self, name)}; use a whole number of at least {least}"
                )
        if self.directions > BANK:
            raise ValueError(f"directions: {self.directions}; there are {BANK} to draw from")
        for name in ("learning_rate", "adam_epsilon"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)}; use a positive number")


@dataclass(frozen=True, eq=False)
class SortedTarget:
    """One pair's target as run lengths, sorted along every direction of the bank."""

    pair: Pair
    places: NDArray[np.float32]  # (bank, occupied cells), ascending in each row
    counts: NDArray[np.int64]  # likewise; each row sums to the number of particles

    def quantiles(self, direction: int) -> NDArray[np.float32]:
        """Sorted projections of the target's atoms, one for each particle."""
        return np.repeat(self.places[direction], self.counts[direction])


def sorted_target(pair: Pair, table: Table, size: int) -> SortedTarget:
    """`table`, shape (k_a, k_b) in probability, as `size` atoms at cell centres."""
    counts = quantised(table, size)
    occupied = np.flatnonzero(counts)
    cells = np.stack(np.unravel_index(occupied, table.shape), axis=1).astype(np.int32)
    places = DIRECTIONS @ embedded(cells, table.shape)
    order = np.argsort(places, axis=1)
    return SortedTarget(pair, np.take_along_axis(places, order, axis=1), counts[occupied][order])


def pull(
    x: Positions, y: Positions, target: SortedTarget, direction: int
) -> tuple[float, NDArray[np.float32]]:
    """Squared 2-Wasserstein distance along one direction, and each particle's excess.

    Args:
        x, y: coordinates of the particles, shape (particles,).
    Returns:
        The mean over particles of the squared excess, and the excess, shape (particles,): the
        projection less the quantile it is coupled to. The gradient of the distance in x is
        2 cos(angle) excess / particles, and likewise in y with the sine.
    """
    cosine, sine = DIRECTIONS[direction]
    places = x * cosine + y * sine
    order = np.argsort(places)
    excess = np.empty_like(places)
    excess[order] = places[order] - target.quantiles(direction)
    return float(np.dot(excess, excess)) / len(excess), excess


def descend(
    codes: Codes,
    pairs: Mapping[Pair, Table],
    shape: Sequence[int],
    *,
    descent: Descent,
    rng: np.random.Generator,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[Codes, list[float]]:
    """Codes after the descent from `codes`, and the mean loss of every epoch.

    Args:
        codes: shape (particles, attributes); where the particles start.
        pairs: target probability tables.
        report: called with the share done after every epoch.
    """
    positions = embedded(codes, shape)
    targets = [sorted_target(pair, table, len(codes)) for pair, table in pairs.items()]
    first, second = np.zeros_like(positions), np.zeros_like(positions)
    history: list[float] = []
    step = 0
    for epoch in range(descent.epochs):
        cosine = (1 + math.cos(math.pi * epoch / descent.epochs)) / 2
        rate = descent.learning_rate * (_FINAL_RATE + (1 - _FINAL_RATE) * cosine)
        order = rng.permutation(len(targets))
        losses = []
        for start in range(0, len(targets), descent.batch):
            chosen = [targets[i] for i in order[start : start + descent.batch]]
            loss, gradient = _gradient(positions, chosen, descent.directions, rng)
            losses.append(loss)
            step += 1
            _adam(positions, first, second, gradient, step, rate, descent.adam_epsilon)
        history.append(float(np.mean(losses)))
        report((epoch + 1) / descent.epochs)
    return nearest_codes(positions, shape), history


def _gradient(
    positions: Positions, targets: Sequence[SortedTarget], directions: int, rng: np.random.Generator
) -> tuple[float, Positions]:
    """Mean loss of a batch, and the scaled gradient of its sum."""
    scale = np.float32(2 * _GRADIENT_SCALE / directions)
    gradient = np.zeros_like(positions)
    losses = []
    for target in targets:
        a, b = target.pair
        for direction in rng.choice(BANK, size=directions, replace=False):
            loss, excess = pull(positions[a], positions[b], target, int(direction))
            cosine, sine = DIRECTIONS[direction]
            gradient[a] += scale * cosine * excess
            gradient[b] += scale * sine * excess
            losses.append(loss)
    return float(np.mean(losses)), gradient


def _adam(
    positions: Positions,
    first: Positions,
    second: Positions,
    gradient: Positions,
    step: int,
    rate: float,
    epsilon: float,
) -> None:
    """One step of Adam (Kingma, Ba 2015, Algorithm 1) in place, then back into the unit box."""
    beta1, beta2 = _MOMENTS
    first += (1 - beta1) * (gradient - first)
    second += (1 - beta2) * (gradient * gradient - second)
    root = np.sqrt(second / (1 - beta2**step)) + epsilon
    positions -= rate / (1 - beta1**step) * first / root
    np.clip(positions, 0.0, 1.0, out=positions)
