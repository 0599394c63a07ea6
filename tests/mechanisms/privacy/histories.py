"""The worst that releases chosen in view of answers can do, exactly but for floats.

Releases have privacy losses on a lattice, so that dynamic programming over all histories finds the
choice of releases with the largest delta.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.privacy.costs import Cost

MESH = 256  # losses are multiples of 1/MESH
REACH = 2 * MESH  # of one release's loss, in meshes; beyond it lies less than 1e-12
WIDEST = 5 * MESH

Counts = tuple[int, ...]
"""How many releases of each kind of a menu have been drawn."""


@dataclass(frozen=True)
class Release:
    """A release with the law of its privacy loss, P(loss = (i - REACH) / MESH) under P."""

    cost: Cost
    losses: tuple[float, ...]


def gaussian(sigma2: int) -> Release:
    """One count with discrete Gaussian noise; the neighbour has one record more."""
    z = np.arange(-12 * sigma2, 12 * sigma2 + 1)
    mass = np.exp(-(z**2) / (2 * sigma2))
    return Release(
        Cost(pure=None, rho=Fraction(1, 2 * sigma2)),
        laws((1 - 2 * z) * (MESH // (2 * sigma2)), mass / mass.sum()),
    )


def response(steps: int) -> Release:
    """Randomised response: the loss is `steps` meshes up or down."""
    odds = exp(steps / MESH)
    epsilon = Fraction(steps, MESH)
    return Release(
        Cost(pure=epsilon, rho=epsilon**2 / 2),
        laws(np.array([steps, -steps]), np.array([odds, 1]) / (1 + odds)),
    )


def laws(steps: NDArray[np.int64], mass: Floats) -> tuple[float, ...]:
    inside = np.abs(steps) <= REACH
    assert mass[~inside].sum() < 1e-12
    table = np.bincount(steps[inside] + REACH, weights=mass[inside], minlength=2 * REACH + 1)
    return tuple(table.tolist())


def worst_delta(epsilon: float, menu: Sequence[Release], admits: Callable[[Counts], bool]) -> float:
    """Largest hockey-stick divergence of whole histories, over all ways to choose from the menu.

    Losses are kept up to `WIDEST`; what lies beyond is counted as if it told everything.
    """
    loss = np.arange(-WIDEST, WIDEST + 1) / MESH
    stopped = np.maximum(0.0, 1 - np.exp(np.minimum(0.0, epsilon - loss)))

    @cache
    def value(counts: Counts) -> Floats:
        """What histories that come this far lead to at worst, by their loss so far."""
        best = stopped
        for place, release in enumerate(menu):
            further = tuple(n + (place == i) for i, n in enumerate(counts))
            if admits(further):
                then = value(further)
                padded = np.concatenate([np.full(REACH, then[0]), then, np.ones(REACH)])
                best = np.maximum(best, np.correlate(padded, release.losses, mode="valid"))
        return best

    return float(value((0,) * len(menu))[WIDEST])
