"""From bins back to cells: records get cells in their bins as the noisy histogram has them.

Which cell a record gets depends on its bin alone, so what a column tells about others within a bin
is not kept.
"""

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.generators.rounding import rounded_sample


def refined(codes: AnyCodes, bins: Bins, shares: Floats, rng: np.random.Generator) -> Counts:
    """Cells for the bins of one column, shape (records,).

    In every bin, cells occur in proportion to their shares, each count rounded up or down; evenly
    where the bin has no share.

    Args:
        codes: bin of every record; the null cell's comes last.
        shares: of the cells that hold values, nonnegative, shape (levels,).
    """
    cells = np.full(len(codes), bins.levels, dtype=np.int64)
    for number, (start, stop) in enumerate(zip(bins.starts, bins.stops, strict=True)):
        rows = np.flatnonzero(codes == number)
        weights = shares[start:stop]
        if not weights.any():
            weights = np.ones(stop - start)
        cells[rows] = start + rounded_sample(weights, len(rows), rng)
    return cells
