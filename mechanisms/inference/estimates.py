"""Estimates of several linear queries at once, with the joint law of their errors.

An error is `estimate - answer`: noise alone, with mean 0 and a law that is known exactly. Answers
are those of the private table as it was counted: coded, clamped, and with at most so many records
of a person as the release counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, nan

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.blue import Weights
from hallmark.mechanisms.inference.law import half_width, normal_half_width
from hallmark.mechanisms.privacy.queries import LaplaceNoise


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval.

    Attributes:
        low, high: infinite where the answers do not bound it.
        deviation: standard deviation of the error; of a ratio, to first order; None of a quantile.
    """

    estimate: float
    low: float
    high: float
    deviation: float | None


UNKNOWN = Interval(nan, -inf, inf, inf)


@dataclass(frozen=True)
class Crossing:
    """Where a sequence of sums first is not negative: a position, and its interval.

    Attributes:
        within: how far in [0, 1] between the position before and this one, if it rises evenly.
    """

    estimate: int
    low: int
    high: int
    within: float


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of linear queries, shape (queries,), and the weights that gave them.

    Attributes:
        weights: of the noisy answers.
        total: the number of records, if public; else 0, since all constants are.
    """

    weights: Weights
    total: int

    @cached_property
    def values(self) -> Floats:
        """The estimates."""
        pairs = zip(self.weights.tables, self.weights.by_table, strict=True)
        noisy = (w.T @ one.answers for one, w in pairs)
        return np.asarray(sum(noisy, start=self.weights.constant * self.total))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the errors, shape (queries, queries)."""
        pairs = zip(self.weights.tables, self.weights.by_table, strict=True)
        size = len(self.weights.constant)
        return np.asarray(sum((one.sigma**2 * w.T @ w for one, w in pairs), np.zeros((size, size))))

    @property
    def is_conditional(self) -> bool:
        """Whether some answers were asked for because of others, so that intervals hold nominally
        rather than exactly."""
        return any(one.conditional for one in self.weights.tables)

    def interval(self, combination: Floats, confidence: float) -> Interval:
        """A weighted sum of the queries, shape (queries,)."""
        estimate = float(combination @ self.values)
        half = self.half_width(combination, confidence)
        return Interval(estimate, estimate - half, estimate + half, self.deviation(combination))

    def deviation(self, combination: Floats) -> float:
        """Standard deviation of the error in a weighted sum of the queries."""
        return max(0.0, float(combination @ self.covariance @ combination)) ** 0.5

    @cached_property
    def _is_gaussian(self) -> bool:
        return not any(isinstance(one.noise, LaplaceNoise) for one in self.weights.tables)

    def half_width(self, combination: Floats, confidence: float) -> float:
        """Half of the interval of a weighted sum of the queries."""
        if self._is_gaussian:  # known by its deviation, with no need to look at all answers
            return self.deviation(combination) * normal_half_width(confidence)
        noises = [one.noise for one in self.weights.tables]
        return half_width([w @ combination for w in self.weights.by_table], noises, confidence)

    def ratio(self, above: Floats, below: Floats, confidence: float) -> Interval:
        """The ratio of two weighted sums: all r for which `above - r below` may be 0 (Fieller).

        The interval has the confidence exactly, whatever the sums are. Where 0 lies in the interval
        of `below`, nothing is known.

        Source.  Fieller (1954), "Some problems in interval estimation", J. R. Stat. Soc. B 16.
        """
        up, down = float(above @ self.values), float(below @ self.values)
        if abs(down) <= self.half_width(below, confidence):
            return UNKNOWN
        estimate = up / down
        deviation = self.deviation((above - estimate * below) / down)

        def excess(r: float) -> float:
            rest = above - r * below
            return abs(float(rest @ self.values)) - self.half_width(rest, confidence)

        low, high = (outward(excess, estimate, side * deviation) for side in (-1, 1))
        return Interval(estimate, low, high, deviation)

    def crossing(self, sums: Sequence[Floats], confidence: float) -> Crossing:
        """The first of some weighted sums of the queries that is not negative.

        With the confidence, the true one lies in the interval: none before it is known to be
        reached, and the one before it is not known to be reached earlier (Woodruff 1952, for
        quantiles, "Confidence intervals for medians and other position measures", J. Am. Stat.
        Assoc. 47). Where none is reached, it is the last.
        """
        values = np.array([float(row @ self.values) for row in sums])
        halves = np.array([self.half_width(row, confidence) for row in sums])
        last = len(values) - 1
        at = int(np.flatnonzero(values >= 0)[0]) if (values >= 0).any() else last
        possible = np.flatnonzero(values + halves >= 0)
        not_before = np.flatnonzero(np.append(-inf, (values - halves)[:-1]) <= 0)
        rise = values[at] - values[at - 1] if at else 0.0
        within = float(np.clip(-values[at - 1] / rise, 0, 1)) if rise > 0 else 0.5
        low = int(possible[0]) if len(possible) else last
        return Crossing(at, min(low, at), max(int(not_before[-1]), at), within)


def outward(excess: Callable[[float], float], start: float, step: float) -> float:
    """The first zero of `excess` on the side of `step`, which is negative at the start."""
    from scipy.optimize import brentq  # here, as it takes long to import

    if step == 0:
        return start
    end = start + step
    while excess(end) < 0:
        step *= 2
        end = start + step
        if not isfinite(end):
            return end
    return float(brentq(excess, start, end, rtol=1e-12))
