"""Any finite metric of diameter at most 1 as a `FiniteSpace`: places, nets, products with either.

The space's graph is complete but for edges that a detour makes redundant, and its lengths are
rounded up to whole multiples of `UNIT`, so that transport over it can be exact in integers.

Claim.   Shortest paths of the graph are at least the given distances and less than `UNIT` longer.
Proof.   Rounding up to multiples of a unit keeps the triangle inequality, for a sum of such
         multiples that is at least d is at least d rounded up. An edge is dropped only where a
         detour of two positive edges is no longer, so by induction on the length a path as long as
         the edge remains, and no path is shorter than the edge.
Oracle.  tests/mechanisms/geometry/test_finite_metrics.py: shortest paths by scipy on random
         metrics.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.domain import Attribute
from hallmark.mechanisms.geometry.paths import short_path
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.trees import pole_tree

UNIT = 2.0**-20  # distances are rounded up to its multiples, an excess of less than 1e-6
MAX_POINTS = 1500  # checks take size^3 steps, transport takes size^2 edges
TOLERANCE = 1e-9  # by which the triangle inequality may fail, as distances come rounded
EARTH_RADIUS = 6371.0088  # kilometres, the mean radius

Metric = Literal["linf", "l1", "l2", "haversine"]


def finite_space(distances: Floats) -> FiniteSpace:
    """The points of a metric as a space, its path short and its tree halving every set.

    Args:
        distances: shape (size, size), at most 1: divide by the largest first.
    Raises:
        ValueError: as `check_metric` says, or a distance is more than 1.
    """
    check_metric(distances)
    if distances.max() > 1.0:
        i, j = (int(x) for x in np.unravel_index(distances.argmax(), distances.shape))
        raise ValueError(
            f"distance ({i}, {j}) is {distances[i, j]:.10g}; divide by the largest, so that none"
            " is more than 1"
        )
    lengths = np.ceil(distances / UNIT)
    rounded = lengths * UNIT
    redundant = _shortest_detours(lengths) <= lengths
    tails, heads = np.nonzero(np.triu(~redundant, k=1))
    order = short_path(rounded)
    return FiniteSpace(
        places=np.arange(len(distances), dtype=np.int64),
        nodes=len(distances),
        tails=tails.astype(np.int32),
        heads=heads.astype(np.int32),
        lengths=lengths[tails, heads].astype(np.int64),
        unit=UNIT,
        order=order,
        gaps=rounded[order[:-1], order[1:]],
        tree=pole_tree(rounded),
    )


def check_metric(distances: Floats, *, names: Sequence[str] | None = None) -> None:
    """Check that `distances` is a metric between different points, in any unit.

    Messages use `names` of the points, or else their numbers.

    The triangle inequality may fail by `TOLERANCE` of the largest distance; such a space has the
    distances of shortest paths, which any function of the claimed Lipschitz constant respects.

    Raises:
        ValueError: it is none; the message names the points.
    """
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"distances must form a square matrix, not one of shape {distances.shape}")
    size = len(distances)
    if size == 0:
        raise ValueError("distances: a space needs one point at least")
    if size > MAX_POINTS:
        raise ValueError(
            f"distances: {size:,} points, but at most {MAX_POINTS:,} are taken; merge near ones"
        )
    called = [str(i) for i in range(size)] if names is None else [repr(name) for name in names]

    def refuse(wrong: NDArray[np.bool_], why: str) -> None:
        if wrong.any():
            i, j = (int(x) for x in np.unravel_index(wrong.argmax(), wrong.shape))
            raise ValueError(
                f"distances: ({called[i]}, {called[j]}) is {distances[i, j]:.10g}, which {why}"
                f" ({int(wrong.sum())} such entries)"
            )

    refuse(np.isnan(distances), "is not a number")
    refuse(np.isinf(distances), "is infinite: the points are not connected")
    refuse(distances < 0, "is negative")
    refuse(np.diag(np.diag(distances) != 0), "is not 0, from a point to itself")
    refuse(distances != distances.T, "differs from that of the way back")
    apart = ~np.eye(size, dtype=np.bool_)
    refuse((distances == 0) & apart, "is 0 between two points: merge duplicates")
    excess = distances - _shortest_detours(distances)
    i, j = (int(x) for x in np.unravel_index(excess.argmax(), excess.shape))
    if excess[i, j] > TOLERANCE * distances.max():
        detours = distances[i] + distances[:, j]
        detours[[i, j]] = np.inf
        by = int(detours.argmin())
        raise ValueError(
            f"distances: the way from {called[i]} to {called[j]} is {distances[i, j]:.10g}, but by"
            f" {called[by]} it is {distances[i, by]:.10g} + {distances[by, j]:.10g}; use shortest"
            " paths"
        )


def pairwise(points: Floats, metric: Metric = "linf") -> Floats:
    """Distances between points of shape (size, dimension), shape (size, size).

    In the unit of the coordinates; "haversine" takes latitude and longitude in degrees, and gives
    kilometres along great circles of a ball as large as the Earth.

    Raises:
        ValueError: the metric is unknown, or "haversine" meets points that are not on the globe.
    """
    if metric == "haversine":
        return _great_circles(points)
    steps = np.abs(points[:, None, :] - points[None, :, :])
    match metric:
        case "linf":
            return np.asarray(steps.max(axis=-1, initial=0.0))
        case "l1":
            return np.asarray(steps.sum(axis=-1))
        case "l2":
            return np.sqrt((steps**2).sum(axis=-1))
    raise ValueError(f"metric: {metric!r} is none of linf, l1, l2, haversine")


def cell_distances(attribute: Attribute) -> Floats:
    """Distances between the cells of a metric attribute, the null cell at 1 from all others.

    Shape (cells of the attribute, cells of the attribute).
    """
    assert attribute.distances is not None, f"{attribute.name} has no distances"
    between = np.pad(attribute.distances, (0, int(attribute.has_null)), constant_values=1.0)
    np.fill_diagonal(between, 0.0)
    return between


def _great_circles(points: Floats) -> Floats:
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points: haversine takes (latitude, longitude), not shape {points.shape}")
    if (np.abs(points) > np.array([90.0, 360.0])).any():
        raise ValueError("points: latitudes lie in [-90, 90] and longitudes in [-360, 360] degrees")
    latitude, longitude = np.radians(points).T
    half = [np.sin((angle[:, None] - angle) / 2) ** 2 for angle in (latitude, longitude)]
    chord = half[0] + np.cos(latitude)[:, None] * np.cos(latitude) * half[1]
    return np.asarray(2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(chord, 1.0))))


@compiled(fastmath=True)
def _shortest_detours(distances: Floats) -> Floats:
    """min over l other than i and j of distances[i, l] + distances[l, j]; large where i = j."""
    size = len(distances)
    never = 4.0 * distances.max() + 1.0
    rows = distances.copy()
    for i in range(size):
        rows[i, i] = never
    detours = np.full((size, size), never)
    for i in range(size):
        for j in range(i):
            shortest = never
            for by in range(size):
                shortest = min(shortest, rows[i, by] + rows[j, by])
            detours[i, j] = shortest
            detours[j, i] = shortest
    return detours
