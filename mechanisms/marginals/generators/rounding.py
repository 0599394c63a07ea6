"""Rounding shares to whole counts: at random with an exact mean, or by largest remainders.

Source.  Kitagawa (1996), J. Comp. Graph. Statistics 5(1), "low-variance" resampling.
"""

import numpy as np
from numpy.typing import NDArray


def whole_parts(
    weights: NDArray[np.floating], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Counts that sum to `size`, each its expectation rounded up or down; the mean is exact.

    Args:
        weights: nonnegative, shape (m,), not all 0.
    """
    law = np.asarray(weights, dtype=np.float64)
    steps = np.cumsum(law) * (size / law.sum())
    steps[np.flatnonzero(law)[-1] :] = size  # exactly, whatever the sum rounds to
    # Rounding errors may put a step a hair above the last.
    return np.diff(np.minimum(np.floor(steps + rng.random()), size).astype(np.int64), prepend=0)


def rounded_sample(
    weights: NDArray[np.floating], size: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """`size` codes in random order, with counts from `whole_parts`."""
    counts = whole_parts(weights, size, rng)
    return rng.permutation(np.repeat(np.arange(len(counts), dtype=np.int32), counts))


def repeated(codes: NDArray[np.int32], rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """`rows` records in random order; how often two of `codes` appear differs by 1 at most."""
    times = np.full(len(codes), rows // len(codes))
    times[rng.permutation(len(codes))[: rows % len(codes)]] += 1
    return codes[rng.permutation(np.repeat(np.arange(len(codes)), times))]


def quantised(table: NDArray[np.float64], atoms: int) -> NDArray[np.int64]:
    """Whole counts that sum to `atoms`, each less than one from its share, flat in C order.

    Largest remainders, ties to the earlier cell; `table` is nonnegative with a positive sum.
    """
    share = table.ravel().astype(np.float64)
    share *= atoms / share.sum()
    counts = np.floor(share).astype(np.int64)
    missing = atoms - int(counts.sum())
    counts[np.argsort(counts - share, kind="stable")[:missing]] += 1
    return counts
