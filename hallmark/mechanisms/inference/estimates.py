"""Estimates of several linear queries at once, with the joint law of their errors.

An error is `estimate - answer`: noise alone, with mean 0 and a law that is known exactly. Answers
are those of the private table as it was counted: coded, clamped, and with at most so many records
of a person as the release counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from scipy.optimize import brentq

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.blue import Weights
from hallmark.mechanisms.inference.law import half_width


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval.

    Attributes:
        low, high: infinite where the answers do not bound it.
        deviation: standard deviation of the error; of a ratio, to first order.
    """

    estimate: float
    low: float
    high: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of linear queries, shape (queries,), and the weights that gave them.

    Attributes:
        weights: of the noisy answers.
        total: the number of records, if public; else 0, since all constants are.
    """

    weights: Weights
    total: int

    @property
    def values(self) -> Floats:
        """The estimates."""
        pairs = zip(self.weights.tables, self.weights.by_table, strict=True)
        noisy = (w.T @ one.answers for one, w in pairs)
        return np.asarray(sum(noisy, start=self.weights.constant * self.total))

    @property
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
        deviation = float(combination @ self.covariance @ combination) ** 0.5
        return Interval(estimate, estimate - half, estimate + half, deviation)

    def half_width(self, combination: Floats, confidence: float) -> float:
        """Half of the interval of a weighted sum of the queries."""
        noises = [one.noise for one in self.weights.tables]
        return half_width([w @ combination for w in self.weights.by_table], noises, confidence)

    def ratio(self, above: Floats, below: Floats, confidence: float) -> Interval:
        """The ratio of two weighted sums: all r for which `above - r below` may be 0 (Fieller).

        The interval has the confidence exactly, whatever the sums are. It is the whole line where
        0 lies in the interval of `below`.

        Source.  Fieller (1954), "Some problems in interval estimation", J. R. Stat. Soc. B 16.
        """
        up, down = float(above @ self.values), float(below @ self.values)
        estimate = up / down if down else inf
        whole = Interval(estimate, -inf, inf, inf)
        if abs(down) <= self.half_width(below, confidence):
            return whole
        combination = (above - estimate * below) / down
        deviation = float(combination @ self.covariance @ combination) ** 0.5

        def excess(r: float) -> float:
            rest = above - r * below
            return abs(float(rest @ self.values)) - self.half_width(rest, confidence)

        low, high = (_outward(excess, estimate, side * deviation) for side in (-1, 1))
        return Interval(estimate, low, high, deviation)


def _outward(excess: Callable[[float], float], start: float, step: float) -> float:
    """The first zero of `excess` on the side of `step`, which is negative at the start."""
    if step == 0:
        return start
    end = start + step
    while excess(end) < 0:
        step *= 2
        end = start + step
        if not isfinite(end):
            return end
    return float(brentq(excess, start, end, rtol=1e-12))
