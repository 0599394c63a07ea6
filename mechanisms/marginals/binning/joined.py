"""Estimates of columns on their own cells, from their histograms and what was measured on bins.

Claim.   `on_cells` is linear in both, and unbiased where both are; its weights are public.
Method.  A histogram tells the sum of a bin with the noise of all its cells, and the tables of bins
         tell it, too. Where the bins are public, take the mean weighted by inverse variances, and
         let the cells of a bin share what that changes; then bins share what is missing to the
         number of records, by their variances. (Tables may have groups of bins besides, whose part
         in the variance is left out of the weights; that costs accuracy, not truth.) Private bins
         depend on the histogram's noise, so nothing on them joins it: the cells share alike what is
         missing to the number of records.
Oracle.  tests/mechanisms/marginals/binning/test_joined.py takes the matrix of the map.
"""

from collections.abc import Mapping, Sequence
from math import prod

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.selection.design import Asked


def on_cells(
    on_bins: Sequence[Floats],
    own: Mapping[int, Floats],
    total: Floats,
    *,
    public: Mapping[int, Bins],
    own_variance: float,
    bin_variances: Mapping[int, float],
) -> tuple[Floats, ...]:
    """The counts with those of own cells in the columns that have bins, adjusted to `total`.

    Args:
        on_bins: of every column, shape (..., bins or cells), each summing to `total`.
        own: histograms of the columns with bins, shape (..., cells).
        total: shape (...).
        public: the bins of columns whose bins are public.
        own_variance: of a count in `own`, records^2.
        bin_variances: of a count of such a column in `on_bins`, about.
    """
    counts = list(on_bins)
    for column, cells in own.items():
        if column not in public:
            missing = (total - cells.sum(axis=-1)) / cells.shape[-1]
            counts[column] = cells + missing[..., None]
            continue
        bins = public[column]
        sums = bins.merged(cells, -1)
        summed, told = own_variance * bins.sizes, bin_variances[column]
        agreed = sums + summed / (summed + told) * (on_bins[column] - sums)
        loose = told * summed / (told + summed)
        agreed += (total - agreed.sum(axis=-1))[..., None] * loose / loose.sum()
        counts[column] = cells + ((agreed - sums) / bins.sizes)[..., bins.table]
    return tuple(counts)


def bin_variance(asked: Sequence[Asked], shape: Sequence[int], column: int) -> float:
    """Variance of a bin's count, from the tables that have the column's bins, records^2."""
    precision = sum(
        shape[column] / (float(one.sigma2) * prod(one.sizes(shape)))
        for one in asked
        if column in one.clique and one.groups is None
    )
    return 1 / precision
