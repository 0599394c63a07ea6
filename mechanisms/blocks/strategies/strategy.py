"""What all strategies have in common: queries, an unbiased linear estimate, and its error's law."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)

PARTS = 10_000  # a budget is shared in about this many equal parts


class Strategy(Protocol):
    """How the histogram h over the points of one space is measured. Public; pickles."""

    @property
    def name(self) -> str:
        """Short name, as a spec may give it."""
        ...

    @property
    def size(self) -> int:
        """Number of points."""
        ...

    @property
    def noise(self) -> tuple[tuple[Noise, int], ...]:
        """For every query: its noise, and how many numbers its answer has."""
        ...

    def queries(self, cells: CellMap) -> tuple[HistogramQuery, ...]:
        """What the curator is asked, each with its noise."""
        ...

    def estimate(self, answers: Sequence[NDArray[np.number]], total: int | None) -> Floats:
        """Unbiased linear estimate of h from the answers to `queries`, shape (..., size).

        `total` is the number of records where that is public (the estimate then sums to it), else
        None. Leading axes of the answers are a batch. Linear in (answers, total): from pure noise
        and total 0 (or None) it gives its own error.
        """
        ...

    def simulate(self, draws: int, rng: np.random.Generator, *, total_is_public: bool) -> Floats:
        """Errors of the estimate from fresh draws of the noise alone, shape (draws, size)."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 over all that shapes the law of the error."""
        ...


def simulate_errors(
    strategy: Strategy, draws: int, rng: np.random.Generator, *, total_is_public: bool
) -> Floats:
    """`Strategy.simulate`: the estimate of nothing but noise."""
    if not strategy.noise:  # nothing needs to be asked, so nothing is wrong
        return np.zeros((draws, strategy.size))
    answers = [_draw(noise, (draws, entries), rng) for noise, entries in strategy.noise]
    return strategy.estimate(answers, 0 if total_is_public else None)


def shares(weights: Sequence[float], whole: Fraction) -> tuple[Fraction, ...]:
    """Positive parts of `whole`, nearly proportional to `weights`, that sum to it exactly."""
    relative = np.asarray(weights) / np.sum(weights)
    parts = [max(1, int(part)) for part in np.rint(PARTS * relative)]
    return tuple(whole * part / sum(parts) for part in parts)


def _draw(noise: Noise, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    match noise:
        case LaplaceNoise(scale):
            return simulate_discrete_laplace(rng, scale, shape)
        case GaussianNoise(sigma2):
            return simulate_discrete_gaussian(rng, sigma2, shape)
