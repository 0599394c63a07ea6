"""Directions along which a marginal is looked at: uniform on the sphere of its attributes."""

import numpy as np
from numpy.typing import NDArray

Directions = NDArray[np.float32]


def on_sphere(count: int, dimension: int, rng: np.random.Generator) -> Directions:
    """Unit vectors, shape (count, dimension); in one dimension, signs."""
    normals = rng.standard_normal((count, dimension))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals.astype(np.float32)
