"""Embedding: cells of the domain as points of the unit box, and back to the nearest.

The k cells of an attribute lie at (2 x + 1) / (2 k), x = 0..k-1, in their given order; a null cell
comes last. The cell whose centre is nearest to z is the one that holds z: floor(k z).

Source.  Donhauser, Abad, Hulkund, Yang (2024), eq. (4) (where codes start at 1), section 3.3.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.float32]
"""In [0, 1], shape (attributes, particles): each attribute contiguous."""


def centres(shape: Sequence[int]) -> NDArray[np.float32]:
    """Centres of all cells of a marginal in C order, shape (cells, attributes)."""
    axes = [(np.arange(k, dtype=np.float32) + np.float32(0.5)) / np.float32(k) for k in shape]
    return np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)


def embedded(codes: NDArray[np.int32], shape: Sequence[int]) -> Positions:
    """Cell centres in [0, 1], shape (attributes, rows): each attribute contiguous."""
    sizes = np.array(shape, dtype=np.float32)
    return np.ascontiguousarray(((codes + np.float32(0.5)) / sizes).T)


def nearest_codes(positions: Positions, shape: Sequence[int]) -> NDArray[np.int32]:
    """Codes of the cells with the nearest centres, shape (particles, attributes)."""
    sizes = np.array(shape, dtype=np.float32)[:, None]
    return np.ascontiguousarray(
        np.clip(np.floor(positions * sizes), 0, sizes - 1).astype(np.int32).T
    )
