"""Sliced W1 of pairs of columns: the mean W1 over directions in the plane, coordinates in [0, 1].

Claim.   For each pair the mean over 100 fixed directions of the exact W1 distance on the line;
         `mean_sliced_w1` is the mean over pairs.
Source.  Donhauser et al. (2024), section 4.1, draw new directions at each call; ours are fixed, so
         that two tables never differ by the draw. W1 on the line is the integral of |F - G|.
Oracle.  tests/mechanisms/utility/test_pairs.py: two Diracs in closed form, scipy, the reference.

How the cells of a pair lie along a direction depends on their numbers alone. So it is sorted once
for each pair of sizes, and what is left for a pair is a cumulative sum.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.utility.coded import Columns, centres
from hallmark.mechanisms.utility.pairs import pair_differences

DIRECTIONS = 100
_SEED = 13  # of the directions, which are part of the metric
_BLOCK = 1 << 17  # cells times directions looked at together: 1.5 MiB a block


def mean_sliced_w1(real: Columns, synthetic: Columns, sizes: Sequence[int]) -> float | None:
    """The mean over all pairs of columns; None where there is no pair."""
    distances = [
        sliced_w1_of_pair(difference, shape)
        for shape, difference in pair_differences(real, synthetic, sizes)
    ]
    return float(np.mean(distances)) if distances else None


def sliced_w1_of_pair(difference: Floats, shape: tuple[int, int]) -> float:
    """Sliced W1 of two distributions on a grid, from their difference in C order."""
    block = max(1, _BLOCK // len(difference))
    total = 0.0
    for start in range(0, DIRECTIONS, block):
        order, gaps = _along(shape, start, min(start + block, DIRECTIONS))
        excess = difference[order].cumsum(axis=1)[:, :-1]
        total += float(np.einsum("ij,ij->", np.abs(excess, out=excess), gaps))
    return total / DIRECTIONS


def directions() -> Floats:
    """The fixed unit vectors, shape (100, 2)."""
    normals = np.random.default_rng(_SEED).standard_normal((DIRECTIONS, 2))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals


@lru_cache(maxsize=64)
def _along(shape: tuple[int, int], start: int, stop: int) -> tuple[NDArray[np.int32], Floats]:
    """Order of the cells along the directions start..stop - 1, and the gaps between them."""
    seen = directions()[start:stop]
    first, second = (centres(size) for size in shape)
    at = seen[:, :1] * np.repeat(first, shape[1]) + seen[:, 1:] * np.tile(second, shape[0])
    order = np.argsort(at, axis=1)
    gaps = np.diff(np.take_along_axis(at, order, axis=1), axis=1)
    return order.astype(np.int32), gaps
