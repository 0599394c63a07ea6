"""Total variation of pairs of columns, and of single columns: half the L1 distance of shares.

Claim.   0 for equal distributions, 1 for disjoint ones. The paper's "total variation" is the L1
         distance, twice as large: its tables hold entries above 1.
Source.  Donhauser et al. (2024), section 4.1.
Oracle.  tests/mechanisms/utility/test_pairs.py: disjoint tables, dictionaries of counts.
"""

from collections.abc import Sequence

import numpy as np

from hallmark.mechanisms.utility.coded import Columns
from hallmark.mechanisms.utility.pairs import pair_differences


def mean_total_variation(real: Columns, synthetic: Columns, sizes: Sequence[int]) -> float | None:
    """The mean over all pairs of columns; None where there is no pair."""
    distances = [
        np.abs(difference).sum() / 2 for _, difference in pair_differences(real, synthetic, sizes)
    ]
    return float(np.mean(distances)) if distances else None


def mean_one_way_variation(real: Columns, synthetic: Columns, sizes: Sequence[int]) -> float:
    """The mean over all columns."""
    shares = (
        [np.bincount(table[column], minlength=size) / table.shape[1] for table in (real, synthetic)]
        for column, size in enumerate(sizes)
    )
    return float(np.mean([np.abs(p - q).sum() / 2 for p, q in shares]))
