"""The joint distributions of pairs of columns, compared: their differences, and total variation.

Claim.   Total variation, half the L1 distance of shares, is 0 for equal distributions and 1 for
         disjoint ones. The paper's "total variation" is the L1 distance, twice as large: its tables
         hold entries above 1.
Source.  Donhauser et al. (2024), section 4.1.
Oracle.  tests/mechanisms/utility/test_pairs.py: disjoint tables, dictionaries of counts.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.utility.coded import Columns

MOST_CELLS_OF_A_PAIR = 1 << 22


def pair_differences(
    real: Columns, synthetic: Columns, sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, int], Floats]]:
    """Sizes of every pair of columns, and its real less synthetic shares with cells in C order.

    Pairs of equal sizes follow each other.

    Raises:
        ValueError: a pair has more cells than can be looked at one by one.
    """
    pairs = combinations(range(len(sizes)), 2)
    for a, b in sorted(pairs, key=lambda pair: (sizes[pair[0]], sizes[pair[1]])):
        cells = sizes[a] * sizes[b]
        if cells > MOST_CELLS_OF_A_PAIR:
            raise ValueError(
                f"columns {a} and {b} have {cells} cells together, of which at most "
                f"{MOST_CELLS_OF_A_PAIR} can be compared; merge cells with `coarsen`"
            )
        yield (
            (sizes[a], sizes[b]),
            _shares(real, a, b, sizes) - _shares(synthetic, a, b, sizes),
        )


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


def _shares(table: Columns, a: int, b: int, sizes: Sequence[int]) -> Floats:
    cells = table[a] * np.int64(sizes[b]) + table[b]
    shares: Floats = np.bincount(cells, minlength=sizes[a] * sizes[b]) / table.shape[1]
    return shares
