"""Coded records as tests draw them; (rows, columns), integers below the column's size."""

from collections.abc import Sequence

import numpy as np


def random_codes(shape: Sequence[int], rows: int, seed: int) -> np.ndarray:
    """Every cell is as likely as another."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, cells, size=rows) for cells in shape], axis=1)


def dependent_codes(shape: Sequence[int], rows: int, seed: int = 0) -> np.ndarray:
    """All columns rise together."""
    rng = np.random.default_rng(seed)
    mixed = 0.7 * rng.random((rows, 1)) + 0.3 * rng.random((rows, len(shape)))
    return np.floor(mixed * shape).astype(np.int64)
