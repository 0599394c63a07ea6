"""From a statistic and its replicates to an interval."""

from dataclasses import replace

import numpy as np
from scipy.special import stdtrit

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.estimates import UNKNOWN, Interval


def from_replicates(estimate: float, again: Floats, confidence: float) -> Interval:
    """The interval of a statistic that came out as `again` with the replicates.

    The variance is the mean squared difference, about the estimate and not about the replicates'
    own mean, so that a bias which they show widens the interval; the law is Student's, with as many
    degrees as there are replicates. Without replicates, or where one has no value, nothing is
    known.
    """
    deviation = float(np.sqrt(np.mean((again - estimate) ** 2))) if len(again) else np.inf
    if not np.isfinite(deviation):
        return replace(UNKNOWN, estimate=estimate)
    half = -float(stdtrit(len(again), (1 - confidence) / 2)) * deviation
    return Interval(estimate, estimate - half, estimate + half, deviation)
