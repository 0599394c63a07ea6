"""Change between two tables: differences and quotients of what noisy tables tell of each.

Both tables' queries stand in one `Estimates`, which knows the joint law of all errors. Two releases
with noise of their own are `stacked`; estimates whose errors depend on each other, such as those
that a model smoothed over periods, come through the same door.

Claim.   `difference` and `quotient` of two weighted sums hold with the confidence exactly (Fieller
         for the quotient). Of two ratios they hold with about the confidence: each ratio's Fieller
         interval is exact, and the two are joined by squaring and adding (MOVER).
Source.  Fieller (1954), "Some problems in interval estimation", J. R. Stat. Soc. B 16. Zou, Donner
         (2008), "Construction of confidence limits about effect measures: a general approach",
         Statistics in Medicine 27; Donner, Zou (2012), "Closed-form confidence intervals for
         functions of the normal mean and standard deviation", Stat. Methods Med. Res. 21, for the
         quotient.
Oracle.  tests/mechanisms/inference/test_change.py: closed forms, and simulated noise.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, sqrt

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.blue import Weights
from hallmark.mechanisms.inference.estimates import UNKNOWN, Estimates, Interval, outward


def stacked(before: Estimates, after: Estimates) -> Estimates:
    """The queries of two releases whose noise is independent, those of `before` first."""
    first, second = len(before.weights.constant), len(after.weights.constant)
    one = (np.pad(w, ((0, 0), (0, second))) for w in before.weights.by_table)
    other = (np.pad(w, ((0, 0), (first, 0))) for w in after.weights.by_table)
    constants = (found.weights.constant * found.total for found in (before, after))
    weights = Weights(
        (*before.weights.tables, *after.weights.tables),
        (*one, *other),
        np.hstack([*constants]),
    )
    # Constants are in records already.
    return _Stacked(weights, total=1, before=before, after=after)


@dataclass(frozen=True, eq=False)
class _Stacked(Estimates):
    """Estimates of two releases, whose values and errors are those of each by itself."""

    before: Estimates
    after: Estimates

    @cached_property
    def values(self) -> Floats:
        """The estimates."""
        return np.concatenate([self.before.values, self.after.values])

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the errors, shape (queries, queries)."""
        first, second = len(self.before.values), len(self.after.values)
        return np.block(
            [
                [self.before.covariance, np.zeros((first, second))],
                [np.zeros((second, first)), self.after.covariance],
            ]
        )


@dataclass(frozen=True, eq=False)
class Statistic:
    """A number of one table: a weighted sum of queries, or the ratio of two.

    Attributes:
        above: weights of all queries of both tables, shape (queries,).
        below: what it is divided by; None for a sum.
    """

    above: Floats
    below: Floats | None = None

    def interval(self, estimates: Estimates, confidence: float) -> Interval:
        """The statistic with its exact interval."""
        if self.below is None:
            return estimates.interval(self.above, confidence)
        return estimates.ratio(self.above, self.below, confidence)

    def slope(self, estimates: Estimates) -> Floats:
        """How the statistic moves with the queries, shape (queries,)."""
        if self.below is None:
            return self.above
        below = float(self.below @ estimates.values)
        value = float(self.above @ estimates.values) / below
        return (self.above - value * self.below) / below


def difference(
    estimates: Estimates, before: Statistic, after: Statistic, confidence: float
) -> Interval:
    """How much larger a statistic is after than before."""
    if before.below is None and after.below is None:
        return estimates.interval(after.above - before.above, confidence)
    one, two = (of.interval(estimates, confidence) for of in (before, after))
    if one is UNKNOWN or two is UNKNOWN:
        return UNKNOWN
    return squared_and_added(one, two, _correlation(estimates, before, after))


def quotient(
    estimates: Estimates, before: Statistic, after: Statistic, confidence: float
) -> Interval:
    """How many times as large a statistic is after as before; unknown where it may have been 0 or
    less."""
    one, two = (of.interval(estimates, confidence) for of in (before, after))
    if one is UNKNOWN or two is UNKNOWN or one.low <= 0:
        return UNKNOWN
    if before.below is None and after.below is None:
        return estimates.ratio(after.above, before.above, confidence)
    correlation = _correlation(estimates, before, after)
    times = two.estimate / one.estimate

    def excess(r: float) -> float:
        rest = squared_and_added(_times(one, r), two, correlation)
        return max(rest.low, -rest.high)

    slope = (after.slope(estimates) - times * before.slope(estimates)) / one.estimate
    deviation = estimates.deviation(slope)
    low, high = (outward(excess, times, side * deviation) for side in (-1, 1))
    return Interval(times, low, high, deviation)


def squared_and_added(before: Interval, after: Interval, correlation: float = 0.0) -> Interval:
    """The difference of two numbers from their intervals (MOVER).

    Args:
        correlation: of their errors.
    """
    down, up = after.estimate - after.low, after.high - after.estimate
    below, above = before.estimate - before.low, before.high - before.estimate
    estimate = after.estimate - before.estimate
    deviation = None
    if before.deviation is not None and after.deviation is not None:
        deviation = _norm(before.deviation, after.deviation, correlation)
    return Interval(
        estimate,
        estimate - _norm(down, above, correlation),
        estimate + _norm(up, below, correlation),
        deviation,
    )


def in_cells(
    before: tuple[float, float, Interval], after: tuple[float, float, Interval]
) -> Interval:
    """The difference of two numbers that are known to lie somewhere in cells.

    Noise is squared and added; where a number lies in its cell is not random, and is added whole.

    Args:
        before, after: the least and the greatest value of the cell that the estimate is in, and the
            interval, which goes from the least value of some cell to the greatest of another.
    """
    (least, greatest, one), (its_least, its_greatest, two) = before, after
    return Interval(
        two.estimate - one.estimate,
        its_least - greatest - _norm(its_least - two.low, one.high - greatest, 0.0),
        its_greatest - least + _norm(two.high - its_greatest, least - one.low, 0.0),
        None,
    )


def _times(one: Interval, factor: float) -> Interval:
    low, high = sorted((factor * one.low, factor * one.high))
    return Interval(factor * one.estimate, low, high, one.deviation)


def _norm(one: float, other: float, correlation: float) -> float:
    """The length of the difference of two errors of these lengths."""
    if not (isfinite(one) and isfinite(other)):
        return inf
    return sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def _correlation(estimates: Estimates, before: Statistic, after: Statistic) -> float:
    """The correlation of two statistics' errors, to first order; 0 where one has none."""
    one, two = (of.slope(estimates) for of in (before, after))
    spread = estimates.deviation(one) * estimates.deviation(two)
    return float(one @ estimates.covariance @ two) / spread if spread else 0.0
