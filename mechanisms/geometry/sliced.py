"""Sliced W1: the mean W1 of two clouds of points, seen along all directions.

A picture of how far apart two clouds are where exact transport is too slow. It is at most W1 in the
Euclidean metric, as no projection lengthens distances, and may be much less.

Source.  Bonneel, Rabin, Peyre, Pfister (2015), Sliced and Radon Wasserstein barycenters of
         measures, J. Math. Imaging Vis. 51, with first powers of the distance.
Oracle.  tests/mechanisms/geometry/test_sliced.py: two points in closed form, and POT.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.geometry.line import w1_on_line


@dataclass(frozen=True, kw_only=True)
class SlicedEstimate:
    """The mean over the directions drawn, in mass times Euclidean distance.

    Attributes:
        value: unbiased for the mean over all directions; exact in one dimension.
        standard_error: of `value`, from the spread over the directions; 0 in one dimension.
    """

    value: float
    standard_error: float


def sliced_w1(
    points_a: Floats,
    weights_a: Floats,
    points_b: Floats,
    weights_b: Floats,
    *,
    directions: int,
    rng: np.random.Generator,
) -> SlicedEstimate:
    """Sliced W1 by independent uniform directions.

    Args:
        points_a, points_b: shapes (n, dimension) and (m, dimension).
        weights_a, weights_b: of the same total, shapes (n,) and (m,).
        directions: how many, 2 at least.
    Raises:
        ValueError: shapes do not fit, a number is not finite, the totals differ, or there are too
            few directions.
    """
    dimension = points_a.shape[-1]
    if points_a.ndim != 2 or points_b.ndim != 2 or points_b.shape[1] != dimension or not dimension:
        raise ValueError(
            f"points have shapes {points_a.shape} and {points_b.shape}; give (n, dimension) and "
            "(m, dimension)"
        )
    if directions < 2:
        raise ValueError(f"directions: {directions} give no standard error; draw 2 at least")
    if dimension == 1:
        exact = w1_on_line(points_a[:, 0], weights_a, points_b[:, 0], weights_b)
        return SlicedEstimate(value=exact, standard_error=0.0)
    normals = rng.standard_normal((directions, dimension))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    seen = [w1_on_line(points_a @ u, weights_a, points_b @ u, weights_b) for u in normals]
    return SlicedEstimate(
        value=float(np.mean(seen)), standard_error=float(np.std(seen, ddof=1)) / sqrt(directions)
    )
