"""Quantile bins of a noisy histogram: runs of neighbouring cells that hold nearly equal masses.

Claim.   `quantile_starts` cuts the cells into exactly as many bins as asked, each of one cell at
         least. No other such cut has a smaller sum of squared masses, the masses being those of
         `nearest_shares` in whole multiples of 2^-19; of cuts that have the same, none has a
         smaller sum of squared numbers of cells. A cell that holds much is a bin of its own, and
         the others share the rest evenly; without any counts, bins are equally many cells.
Proof.   Dynamic programming over the last cut. Its cost is convex in the sum over an interval, so
         the best last cut does not move left where the interval or the number of bins grows:
         Yao (1980), Efficient dynamic programming using quadrangle inequalities. Costs are whole
         numbers below 2^63, so nothing is rounded and every machine finds the same cut.
Oracle.  tests/mechanisms/marginals/binning/test_quantiles.py tries all cuts of small histograms.
"""

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.geometry.projection import project_on_path

MOST_CELLS = 2**12  # of a column: squares of more would not fit beside those of the masses
_UNIT = 2**19  # of a share


def nearest_shares(counts: Counts) -> Floats:
    """Shares of the cells in the probability distribution nearest to noisy counts.

    Nearest in transport along the cells, so noise in empty stretches cancels instead of adding up.
    Where the counts have no positive sum, all cells share alike. Shape (cells,).
    """
    total = int(counts.sum())
    if total <= 0 or len(counts) == 1:
        return np.full(len(counts), 1 / len(counts))
    return project_on_path(np.ones(len(counts) - 1), counts / total)


def quantile_starts(shares: Floats, bins: int) -> tuple[int, ...]:
    """First cell of every bin, ascending from 0.

    Args:
        shares: nonnegative, summing to 1, shape (cells,).
        bins: how many, from 1 to the number of cells.
    Raises:
        ValueError: there are fewer cells than bins, or more cells than can be cut.
    """
    if not 1 <= bins <= len(shares) <= MOST_CELLS:
        raise ValueError(
            f"{bins} bins of {len(shares)} cells: give 1 at least, as many as there are cells at "
            f"most, and at most {MOST_CELLS} cells"
        )
    cumulative = np.rint(np.append(0.0, np.cumsum(shares)) * _UNIT).astype(np.int64)
    return tuple(int(start) for start in _most_even(cumulative, bins))


@compiled()
def _most_even(cumulative: Counts, bins: int) -> Counts:
    """First cells of the bins with the least sum of squares; ties go to the left."""
    cells = len(cumulative) - 1
    scale = np.int64(MOST_CELLS) ** 2
    least = np.empty(cells + 1, dtype=np.int64)
    for end in range(1, cells + 1):
        least[end] = scale * cumulative[end] ** 2 + end**2
    cuts = np.zeros((bins + 1, cells + 2), dtype=np.int64)
    for number in range(2, bins + 1):
        before = least.copy()
        cuts[number, cells + 1] = cells - 1
        for end in range(cells, number - 1, -1):
            best = np.int64(-1)
            furthest = min(cuts[number, end + 1], end - 1)
            for cut in range(max(cuts[number - 1, end], number - 1), furthest + 1):
                mass, width = cumulative[end] - cumulative[cut], end - cut
                cost = before[cut] + scale * mass**2 + width**2
                if best < 0 or cost < best:
                    best = cost
                    cuts[number, end] = cut
            least[end] = best
    starts = np.zeros(bins, dtype=np.int64)
    end = cells
    for number in range(bins, 1, -1):
        end = cuts[number, end]
        starts[number - 1] = end
    return starts
