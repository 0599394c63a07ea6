"""The joint distributions of all pairs of columns, as differences of two tables."""

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


def _shares(table: Columns, a: int, b: int, sizes: Sequence[int]) -> Floats:
    cells = table[a] * np.int64(sizes[b]) + table[b]
    shares: Floats = np.bincount(cells, minlength=sizes[a] * sizes[b]) / table.shape[1]
    return shares
