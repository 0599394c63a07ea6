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
         are told as one kind: their steps are log-normal, and so are their differences, whose means
         and spreads are unknown as well, and of their jumps the share is. So what noise hides in
         each component by itself is told by all of them: one with few coordinates and few periods
         leans on the others, and where many jump at once, each is believed to. Where even all of
         them do not tell, differences are like those of samples. An estimate is the mean over the
         grid, and its variance has what the grid's points differ by.
Breaks.  Earlier, a component may have jumped for good, as where a law changed; or one period is
         unlike those before and after it. Each is a variance that is added to one step, or to one
         period, and taken if that makes the measured values more probable than its rarity makes it
         improbable. How rare it is at each step is told by all components: where many break, those
         are believed to that show it less.
Claim.   Over components that move like this, estimates have the least mean squared error but for
         what is not known of q, and intervals hold on average over them. Of one component that does
         otherwise, nothing is promised: its own noisy values are the unbiased ones.
Source.  Harvey (1989), "Forecasting, structural time series models and the Kalman filter", 2.3 and
         4.5; Harrison, Stevens (1976), J. R. Stat. Soc. B 38 (steps and outliers as classes of
         models). The matrices are small, so that the model is solved at once and not recursively.
Oracle.  tests/mechanisms/inference/test_random_walk.py: dense normal conditioning; the steady state
         of the Kalman filter; coverage over walks that were drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts, Floats

_STEPS = tuple(
    10 ** (n / 2) for n in range(-4, 11)
)  # variances of a step, in multiples of a sample's
_CHANCE = (0.003, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 30.0, 100.0)  # of chance
_LAST = (0.0, 4.0, 30.0, 300.0)  # of a jump besides the last step, in multiples of the noise
_JUMPS = (10.0, 100.0, 1000.0)  # of breaks before, likewise
_BROKEN = 0.01  # share of components that break at one step, or period, before values are seen
_COUNTS = 5.0  # components for which that counts
_CLEAR = 50.0  # gain in logarithms that is as clear as any
_ROUNDS = 20  # to estimate it
_STEP_SPREADS = (0.5, 1.5, 3.0)  # of logarithms between components of a kind
_CHANCE_SPREADS = (0.3, 1.0)
_LIKE_SAMPLES = 0.7  # how far from a sample's differences are before the values are seen, likewise
_JUMPING = (0.003, 0.03, 0.3, 0.9)  # shares of components whose last step is a jump
_UNLIKE = 0.03  # share of components that are like no other


@dataclass(frozen=True, eq=False)
class _Grid:
    """All combinations of steps, chance and jumps, each of shape (points,) in C order.

    Attributes:
        steps, chance, last: variances, in multiples of a sample's and, the last, of the noise.
        step_laws, chance_laws, last_laws: how probable each value of them is in components of one
            kind, in every way that this may be, shape (laws, values).
        credible: how probable the ways of chance are before anything is seen, shape (laws,).
    """

    steps: Floats
    chance: Floats
    last: Floats
    step_laws: Floats
    chance_laws: Floats
    last_laws: Floats
    credible: Floats

    @classmethod
    def of(cls, steps: Sequence[float], chance: Sequence[float], last: Sequence[float]) -> "_Grid":
        """All combinations."""
        step, by_chance, jump = (a.ravel() for a in np.meshgrid(steps, chance, last, indexing="ij"))
        credible = np.exp(-((np.log(chance) / _LIKE_SAMPLES) ** 2) / 2) * _widths(chance)
        return cls(
            step,
            by_chance,
            jump,
            _log_normal(steps, _STEP_SPREADS),
            _log_normal(chance, _CHANCE_SPREADS),
            _jumping(len(last) - 1),
            np.tile(credible / credible.sum(), len(_CHANCE_SPREADS)),
        )

    def posteriors(self, evidence: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
        """How probable the points are in another component of the kind, and in each of these.

        Args:
            evidence: of every component, shape (points,).
        """
        shape = tuple(laws.shape[1] for laws in self._laws)
        densities = [np.exp(one - one.max()).reshape(shape) for one in evidence]
        laws = np.log(np.broadcast_to(self.credible[:, None], [len(law) for law in self._laws]))
        laws = laws + sum(np.log(self._under(one)) for one in densities)
        weights = np.exp(laws - laws.max())
        weights /= weights.sum()
        own = [one * self._mixed(weights / self._under(one)) for one in densities]
        return self._mixed(weights).ravel(), [one.ravel() / one.sum() for one in own]

    @property
    def _laws(self) -> tuple[Floats, Floats, Floats]:
        return self.step_laws, self.chance_laws, self.last_laws

    def _under(self, density: Floats) -> Floats:
        """The density under every law, shape (laws of steps, of chance, of jumps)."""
        return np.asarray(np.einsum("scl,as,bc,dl->abd", density, *self._laws, optimize=True))

    def _mixed(self, weights: Floats) -> Floats:
        """The mean of the laws, shape (steps, chance, jumps)."""
        return np.asarray(np.einsum("abd,as,bc,dl->scl", weights, *self._laws, optimize=True))


def _log_normal(values: Sequence[float], spreads: Sequence[float]) -> Floats:
    """Log-normal laws about each of the values, and some of what lies anywhere; by spread."""
    logs, widths = np.log(values), _widths(values)
    laws = []
    for spread in spreads:
        law = np.exp(-(((logs - logs[:, None]) / spread) ** 2) / 2) * widths
        law /= law.sum(axis=1, keepdims=True)
        laws.append((1 - _UNLIKE) * law + _UNLIKE * widths / widths.sum())
    return np.concatenate(laws)


def _widths(values: Sequence[float]) -> Floats:
    """What each value of a grid stands for, in logarithms."""
    return np.asarray(np.gradient(np.log(values)))


def _jumping(sizes: int) -> Floats:
    """Some components jump, by one of these sizes."""
    return np.array(
        [
            [1 - share, *(share * (np.eye(sizes)[size] + _UNLIKE) / (1 + sizes * _UNLIKE))]
            for share in _JUMPING
            for size in range(sizes)
        ]
    )


_GRID = _Grid.of(_STEPS, _CHANCE, _LAST)
_COARSE = _Grid.of(_STEPS[::2], _CHANCE[::2], _LAST[::2])  # to look for breaks


@dataclass(frozen=True, eq=False)
class Track:
    """What was measured of one component.

    Attributes:
        periods: numbers of the periods, ascending, shape (periods,).
        values: measured, shape (periods, coordinates).
        variances: of the noise in each coordinate, shape (periods,).
        scales: variance of a coordinate from one sample of independent records to another,
            roughly, of as many as each period has, shape (periods,).
    """

    periods: Counts
    values: Floats
    variances: Floats
    scales: Floats

    @cached_property
    def noise(self) -> float:
        """A typical variance of the noise."""
        return float(np.median(self.variances))

    @cached_property
    def scale(self) -> float:
        """A typical variance from one sample to another."""
        return float(np.median(self.scales))

    @cached_property
    def _moved(self) -> Floats:
        """Inner products of the differences between neighbouring periods."""
        differences = np.diff(self.values, axis=0)
        return differences @ differences.T

    def evidence(self, breaks: "Breaks", grid: _Grid = _GRID) -> Floats:
        """Log density of the differences between periods at every point of the grid, but for a
        constant; shape (points,)."""
        if len(self.periods) < 2:
            return np.zeros(len(grid.steps))
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
        return np.asarray(grid.chance[:, None] * self.scales + breaks.periods * self.noise)

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

    def one_more(self) -> Iterator[tuple[str, int, "Breaks"]]:
        """All ways in which one step, or one period, but the last breaks besides: the attribute,
        the place in it, and the breaks."""
        for name in ("steps", "periods"):
            added = getattr(self, name)
            for place in np.flatnonzero(added[:-1] == 0).tolist():
                unit = np.zeros(len(added))
                unit[place] = 1.0
                for jump in _JUMPS:
                    yield name, place, replace(self, **{name: added + jump * unit})


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
    common, _ = _COARSE.posteriors(
        [t.evidence(b, _COARSE) for t, b in zip(tracks, unbroken, strict=True)]
    )
    first = [_gains(*one, common) for one in zip(tracks, unbroken, strict=True)]
    odds = _odds(first)
    found = [_breaks(*one, common, odds) for one in zip(tracks, unbroken, first, strict=True)]
    _, own = _GRID.posteriors([t.evidence(b) for t, b in zip(tracks, found, strict=True)])
    return [Walk(*one) for one in zip(tracks, found, own, strict=True)]


_Place = tuple[str, int]
"""An attribute of `Breaks`, and the number of the period, or of the one that a step leads to."""
_Gains = Mapping[_Place, list[tuple[float, Breaks]]]
"""How much more probable one break more makes the values, in logarithms, by its size."""


def _gains(track: Track, breaks: Breaks, common: Floats) -> _Gains:
    """What one break more would gain.

    Args:
        common: how probable the points of the coarse grid are.
    """

    def likelihood(breaks: Breaks) -> float:
        evidence = track.evidence(breaks, _COARSE)
        return float(evidence.max() + np.log(np.exp(evidence - evidence.max()) @ common))

    known = likelihood(breaks)
    gains: dict[_Place, list[tuple[float, Breaks]]] = {}
    for name, place, more in breaks.one_more():
        period = int(track.periods[place + (name == "steps")])
        gains.setdefault((name, period), []).append((likelihood(more) - known, more))
    return gains


def _odds(gains: Sequence[_Gains]) -> dict[_Place, float]:
    """Of a break at each place, in logarithms, from what all components would gain by it."""
    found = {}
    for place in {place for one in gains for place in one}:
        sizes = np.array([[gain for gain, _ in one[place]] for one in gains if place in one])
        each = np.logaddexp.reduce(sizes, axis=1) - np.log(len(_JUMPS))
        each = np.clip(each, -_CLEAR, _CLEAR)
        share = _BROKEN
        for _ in range(_ROUNDS):
            broken = share / (share + (1 - share) * np.exp(-each))
            share = (broken.sum() + _COUNTS * _BROKEN) / (len(each) + _COUNTS)
        found[place] = float(np.log(share / (1 - share)))
    return found


def _breaks(
    track: Track, breaks: Breaks, gains: _Gains, common: Floats, odds: Mapping[_Place, float]
) -> Breaks:
    """The breaks of a component, the clearest first, while they are clear.

    Args:
        gains: by the first.
    """
    for _ in range(len(track.periods) // 2):
        more = [(gain + odds[place], one) for place in gains for gain, one in gains[place]]
        best, one = max(more, key=lambda pair: pair[0], default=(0.0, breaks))
        if best <= 0:
            break
        breaks = one
        gains = _gains(track, breaks, common)
    return breaks
