"""What the noisy values of several periods say of each of them: a random walk seen through noise.

A component is a vector that every period's table has, such as the main effect of a column. It has a
level, of which each coordinate moves by an independent normal step from one period to the next, and
differs from it by chance, as a sample does from its population. What is measured of it has
independent noise of a known variance. How far it moves and differs is not known, and estimated.

Model.   m_t = m_s + N(0, (t - s) q) per coordinate, x_t = m_t + N(0, u), y_t = x_t + N(0, r_t), and
         nothing is known of the first level. Wanted is x_t, the table's. The last step may be a
         jump, with a variance of its own besides. Steps q and differences u lie on a grid of
         multiples of what samples of independent records would differ by, jumps on one of multiples
         of the noise. How probable each of its points is comes from all components together that
         are told as one kind (empirical Bayes, one round of it, so that all stay possible that the
         values do not exclude): a component with few coordinates and few periods leans on the
         others, and where many jump at once, each is believed to. An estimate is the mean over the
         grid, and its variance has what the grid's points differ by.
Breaks.  Earlier, a component may have jumped for good, as where a law changed; or one period is
         unlike those before and after it. Each is a variance that is added to one step, or to one
         period, and taken if that makes the measured values more probable than its rarity makes it
         improbable.
Claim.   Over components that move like this, estimates have the least mean squared error but for
         what is not known of q, and intervals hold on average over them. Of one component that does
         otherwise, nothing is promised: its own noisy values are the unbiased ones.
Source.  Harvey (1989), "Forecasting, structural time series models and the Kalman filter", 2.3 and
         4.5; Harrison, Stevens (1976), J. R. Stat. Soc. B 38 (steps and outliers as classes of
         models). The matrices are small, so that the model is solved at once and not recursively.
Oracle.  tests/mechanisms/inference/test_random_walk.py: dense normal conditioning; the steady state
         of the Kalman filter; coverage over walks that were drawn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts, Floats

_STEPS = tuple(
    10 ** (n / 2) for n in range(-4, 11)
)  # variances of a step, in multiples of a sample's
_CHANCE = (0.03, 0.1, 0.3, 0.7, 1.0, 1.5, 3.0, 10.0, 100.0)  # of a difference by chance, likewise
_LAST = (0.0, 4.0, 30.0, 300.0)  # of a jump besides the last step, in multiples of the noise
_JUMPS = (10.0, 100.0, 1000.0)  # of breaks before, likewise
_RARITY = np.log(1e-2)  # of a break before the values are seen: one step, or period, in a hundred
_PSEUDO = 1.0  # components that lie evenly on the grid, lest few decide for all


@dataclass(frozen=True, eq=False)
class _Grid:
    """Points of the grid, each of shape (points,).

    Attributes:
        steps, chance, last: variances, in multiples of a sample's and, the last, of the noise.
        even: how probable they are before anything is seen.
    """

    steps: Floats
    chance: Floats
    last: Floats
    even: Floats

    @classmethod
    def of(cls, steps: Sequence[float], chance: Sequence[float], last: Sequence[float]) -> "_Grid":
        """All combinations."""
        step, by_chance, jump = (a.ravel() for a in np.meshgrid(steps, chance, last, indexing="ij"))
        even = np.where(jump == 0, 0.97, 0.01)
        return cls(step, by_chance, jump, even / even.sum())


_GRID = _Grid.of(_STEPS, _CHANCE, _LAST)
_COARSE = _Grid.of(_STEPS[::2], _CHANCE[::3], _LAST[::2])  # to look for breaks


@dataclass(frozen=True, eq=False)
class Track:
    """What was measured of one component.

    Attributes:
        periods: numbers of the periods, ascending, shape (periods,).
        values: measured, shape (periods, coordinates).
        variances: of the noise in each coordinate, shape (periods,).
        scale: variance of a coordinate from one sample of independent records to another, roughly.
    """

    periods: Counts
    values: Floats
    variances: Floats
    scale: float

    @cached_property
    def noise(self) -> float:
        """A typical variance of the noise."""
        return float(np.median(self.variances))

    @cached_property
    def _moved(self) -> Floats:
        """Inner products of the differences between neighbouring periods."""
        differences = np.diff(self.values, axis=0)
        return differences @ differences.T

    def evidence(self, breaks: "Breaks", grid: _Grid = _GRID) -> Floats:
        """Log density of the differences between periods at every point of the grid, but for a
        constant; shape (points,)."""
        if len(self.periods) < 2:
            return np.zeros(len(grid.even))
        covariance = self._differing(breaks, grid)
        inverse = np.linalg.inv(covariance)
        _, determinant = np.linalg.slogdet(covariance)
        misfit = np.einsum("kij,ij->k", inverse, self._moved)
        return np.asarray(-(self.values.shape[1] * determinant + misfit) / 2)

    def walked(self, breaks: "Breaks", grid: _Grid = _GRID) -> Floats:
        """Variances of the steps between neighbouring periods, shape (points, periods - 1)."""
        even = grid.steps[:, None] * np.diff(self.periods) * self.scale
        even[:, -1:] += grid.last[:, None] * self.noise
        return np.asarray(even + breaks.steps * self.noise)

    def chance(self, breaks: "Breaks", grid: _Grid = _GRID) -> Floats:
        """Variances of what periods differ from the level by, shape (points, periods)."""
        return np.asarray(grid.chance[:, None] * self.scale + breaks.periods * self.noise)

    def _differing(self, breaks: "Breaks", grid: _Grid) -> Floats:
        """Covariances of the differences, shape (points, periods - 1, periods - 1)."""
        noise = self.variances + self.chance(breaks, grid)
        differing = np.diff(np.eye(len(self.periods)), axis=0)
        own = self.walked(breaks, grid)[:, :, None] * np.eye(len(self.periods) - 1)
        return np.asarray(own + (differing * noise[:, None]) @ differing.T)


@dataclass(frozen=True, eq=False)
class Breaks:
    """Variances that breaks add, in multiples of the noise.

    Attributes:
        steps: to each step, shape (periods - 1,).
        periods: to each period, shape (periods,).
    """

    steps: Floats
    periods: Floats

    @classmethod
    def none(cls, periods: int) -> "Breaks":
        """No breaks."""
        return cls(np.zeros(max(periods - 1, 0)), np.zeros(periods))

    def one_more(self) -> Iterator[tuple["Breaks", ...]]:
        """All ways in which one step, or one period, but the last breaks besides: of each size."""
        for name in ("steps", "periods"):
            added = getattr(self, name)
            for place in np.flatnonzero(added[:-1] == 0):
                unit = np.zeros(len(added))
                unit[place] = 1.0
                yield tuple(replace(self, **{name: added + jump * unit}) for jump in _JUMPS)


@dataclass(frozen=True, eq=False)
class Joint:
    """Estimates of a component in several periods, as weighted sums of its measured values.

    Attributes:
        weights: of the measured periods, shape (estimated periods, measured periods).
        covariance: of the errors in one coordinate, shape (estimated periods, estimated periods).
    """

    weights: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Walk:
    """A component as a random walk with an unknown step.

    Attributes:
        track: what was measured.
        breaks: that were found before the last period.
        probabilities: of the points of the grid, shape (points,).
    """

    track: Track
    breaks: Breaks
    probabilities: Floats

    @property
    def jumped(self) -> float:
        """How probable it is that the last step is a jump."""
        return float(self.probabilities[_GRID.last > 0].sum())

    @property
    def broken(self) -> tuple[int, ...]:
        """Periods in which the component is not what those before made probable."""
        after = self.track.periods[1:][self.breaks.steps > 0].tolist()
        last = self.track.periods[-1:].tolist() if self.jumped > 1 / 2 else []
        return tuple(sorted({*after, *self.passing, *last}))

    @property
    def passing(self) -> tuple[int, ...]:
        """Those of them that those after do not resemble either."""
        return tuple(self.track.periods[self.breaks.periods > 0].tolist())

    @cached_property
    def smoothed(self) -> Joint:
        """Every period, from all periods."""
        return self._solved(np.ones(len(self.track.periods), dtype=bool))

    @cached_property
    def foretold(self) -> Joint:
        """The last period, from all before it; it must not be the only one."""
        joint = self._solved(np.arange(len(self.track.periods)) < len(self.track.periods) - 1)
        return Joint(joint.weights[-1:], joint.covariance[-1:, -1:])

    def _solved(self, seen: NDArray[np.bool_]) -> Joint:
        """All periods from those that are seen, over the grid."""
        noise, steps = self.track.variances, 1 / self.track.walked(self.breaks)
        chance = self.track.chance(self.breaks)
        precision = seen / (noise + chance)
        differing = np.diff(np.eye(len(noise)), axis=0)
        information = (differing.T * steps[:, None]) @ differing + _diagonals(precision)
        levels = np.linalg.inv(information)
        of_level = levels * precision[:, None]
        # A table is its level and the part of what was measured besides that is no noise.
        kept = seen * chance / (noise + chance)
        weights = of_level * (1 - kept[:, :, None]) + _diagonals(kept)
        less = 1 - kept
        covariances = less[:, :, None] * levels * less[:, None]
        covariances += _diagonals(np.where(seen, kept * noise, chance))
        mean = np.tensordot(self.probabilities, weights, axes=1)
        apart = (weights - mean) @ self.track.values
        between = np.einsum("k,kic,kjc->ij", self.probabilities, apart, apart)
        within = np.tensordot(self.probabilities, covariances, axes=1)
        return Joint(mean, within + between / self.track.values.shape[1])


def _diagonals(numbers: Floats) -> Floats:
    """A diagonal matrix of every row."""
    return np.asarray(numbers[..., None] * np.eye(numbers.shape[-1]))


def walks(tracks: Sequence[Track]) -> list[Walk]:
    """Each of several components of one kind, with what all of them say of the steps."""
    unbroken = [Breaks.none(len(track.periods)) for track in tracks]
    evidence = [t.evidence(b, _COARSE) for t, b in zip(tracks, unbroken, strict=True)]
    common = _common(evidence, _COARSE.even)
    found = [_breaks(track, common) for track in tracks]
    evidence = [t.evidence(b) for t, b in zip(tracks, found, strict=True)]
    common = _common(evidence, _GRID.even)
    return [
        Walk(track, breaks, _posterior(own, common))
        for track, breaks, own in zip(tracks, found, evidence, strict=True)
    ]


def _common(evidence: Sequence[Floats], even: Floats) -> Floats:
    """How probable the points of the grid are, from the evidence of all components."""
    counted = sum((_posterior(own, even) for own in evidence), _PSEUDO * even)
    return np.asarray(counted / counted.sum())


def _posterior(evidence: Floats, common: Floats) -> Floats:
    odds = np.exp(evidence - evidence.max()) * common
    return np.asarray(odds / odds.sum())


def _breaks(track: Track, common: Floats) -> Breaks:
    """The breaks of a component, the clearest first, while they are clear.

    Args:
        common: how probable the points of the coarse grid are.
    """

    def likelihood(breaks: Breaks) -> float:
        evidence = track.evidence(breaks, _COARSE)
        return float(evidence.max() + np.log(np.exp(evidence - evidence.max()) @ common))

    found = Breaks.none(len(track.periods))
    known = likelihood(found)
    for _ in range(len(track.periods) // 2):
        more = [(likelihood(one), one) for sizes in found.one_more() for one in sizes]
        best, breaks = max(more, key=lambda pair: pair[0], default=(known, found))
        if best + _RARITY <= known:
            break
        found, known = breaks, best
    return found
