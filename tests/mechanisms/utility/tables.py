"""Coded tables for the tests of the metrics."""

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]

SIZES = (5, 1, 32, 2, 7, 32)


def table(rows: int, seed: int, sizes: tuple[int, ...] = SIZES) -> Table:
    """Columns that depend on each other and on the seed."""
    rng = np.random.default_rng(seed)
    level = rng.random((rows, 1)) ** (1 + seed / 4)
    mixed = 0.6 * level + 0.4 * rng.random((rows, len(sizes)))
    return np.minimum((mixed * sizes).astype(np.int64), np.array(sizes) - 1)
