"""Upper quantiles that several functions of the noise stay under together.

Claim.   If the batches hold independent fresh draws from the law of the release's own noise, then
         with probability at least `confidence` over the noise and the draws together, every
         statistic of the release's noise is at most its entry of `values`.
Proof.   The first `PILOT` draws give one scale per statistic. Given them, the largest ratio of a
         statistic to its scale is a real number that the release's noise and the remaining draws
         give exchangeably, so its r-th smallest draw, r = ceil(confidence * (draws + 1)), is an
         upper bound with probability at least r / (draws + 1). No ratio of the release exceeds a
         bound exactly if no statistic exceeds bound times scale.
Source.  The rank rule is split conformal prediction: Vovk, Gammerman, Shafer (2005), Algorithmic
         learning in a random world. Taking the empirical quantile instead covers too little.
Oracle.  tests/mechanisms/certificates/test_simultaneous.py counts misses.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.certificates.quantiles import conditional_rank
from hallmark.mechanisms.privacy.simulation import conformal_rank

PILOT = 100  # draws that only set the scales
_SLACK = 3.0  # standard deviations above the mean: about where the upper quantiles lie
_FLOOR = 1e-3  # no scale is below this share of the largest, so that rare noise cannot blow it up


@dataclass(frozen=True, eq=False, kw_only=True)
class SimultaneousQuantiles:
    """Upper quantiles and how they were found. Public.

    Attributes:
        values: shape (statistics,), in the statistics' own unit.
        draws: fresh draws that were ranked, the pilot not counted.
        rank: which of them, counted from the smallest, was taken.
    """

    values: NDArray[np.float64]
    draws: int
    rank: int


def draws_needed(confidence: float, *, affordable: int = 1_000_000) -> int:
    """Fresh draws, the pilot included, for a good quantile at this confidence.

    To rank: 999 draws, or ten beyond the quantile where the confidence is very high. Where only
    `affordable` draws can be ranked it is those, but at least two beyond the quantile; fewer draws
    make the bound wider on average, never invalid.
    """
    good, least = max(999, ceil(10 / (1 - confidence))), ceil(2 / (1 - confidence))
    return PILOT + max(least, min(good, affordable))


def simultaneous_quantiles(
    batches: Iterable[NDArray[np.float64]],
    *,
    confidence: float,
    pilot: int = PILOT,
    reused: bool = False,
) -> SimultaneousQuantiles:
    """Bounds that hold for all statistics at once with the given probability.

    Args:
        batches: statistics of independent fresh draws of the noise, each of shape
            (draws of this batch, statistics), nonnegative or not.
        confidence: in (0, 1).
        pilot: how many draws only set the scales.
        reused: whether the draws serve several releases, each of which is to be right
            (`quantiles.conditional_rank`).
    Raises:
        ValueError: there are not enough draws for this confidence.
    """
    statistics = np.concatenate(list(batches))
    first, ranked = statistics[:pilot], statistics[pilot:]
    rank = (conditional_rank if reused else conformal_rank)(len(ranked), confidence)
    scales = first.mean(axis=0) + _SLACK * first.std(axis=0)
    largest = float(scales.max(initial=0.0))
    scales = np.maximum(scales, _FLOOR * largest) if largest > 0 else np.ones_like(scales)
    ratios = (ranked / scales).max(axis=1, initial=0.0)
    bound = float(np.partition(ratios, rank - 1)[rank - 1])
    return SimultaneousQuantiles(values=bound * scales, draws=len(ranked), rank=rank)
