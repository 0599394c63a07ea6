"""Exact 1-Wasserstein distances between histograms of one attribute.

Every metric has a hub from which no cell is farther than 1/2. Mostly it is that of a tree:

- values of numeric, date and ordinal attributes lie on the line [0, 1], the hub in its middle, and
  the null cell hangs by an edge of length 1/2 from the hub;
- the cells of a nominal attribute, the null cell among them, each hang by an edge of length 1/2
  from the hub.

On a tree, W1 is the sum over edges of their length times the mass that must cross them, so it takes
cumulative sums and no linear program. The cells of a metric attribute, the null cell at distance 1
from all others, lie in no tree. Their hub is at distance 1/2 from each, their distances are rounded
up to multiples of `metrics.UNIT`, and W1 is a minimum-cost flow: up to that unit, times the mass.

Vectors that do not sum to zero keep a meaning: their surplus is created or destroyed at the hub.

Oracle.  tests/mechanisms/geometry/test_wasserstein.py solves the transport linear program.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.domain.domain import Attribute, Kind
from hallmark.mechanisms.geometry.finite_metrics import cell_distances, finite_space
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import hub_transport

HUB = 0.5  # position of the hub on the line
RADIUS = 0.5  # largest distance between the hub and a cell


def w1(attribute: Attribute, difference: NDArray[np.number]) -> NDArray[np.float64]:
    """W1 between histograms whose cell-wise difference is given; linear in the mass.

    For a difference w of total M != 0 this is W1(w - M at the hub): a seminorm that equals W1 where
    M = 0, and that is at most `RADIUS` for every probability vector.

    Args:
        attribute: gives the metric, on a scale where the diameter is 1.
        difference: signed masses, shape (..., cells of the attribute).
    Returns:
        Shape (...), in units of mass times the attribute's diameter.
    Raises:
        ValueError: the last axis is not the attribute's cells, or the distances of a metric
            attribute are no metric of diameter at most 1.
    Source: Evans and Matsen (2012), The phylogenetic Kantorovich-Rubinstein metric, eq. (5), for
        W1 on a tree.
    """
    if difference.shape[-1] != attribute.cells:
        raise ValueError(
            f"{attribute.name}: {difference.shape[-1]} entries for {attribute.cells} cells"
        )
    if attribute.kind is Kind.NOMINAL:
        return np.asarray(RADIUS * np.abs(difference).sum(axis=-1), dtype=np.float64)
    if attribute.kind is Kind.METRIC:
        return hub_transport(_cells(attribute), difference)
    positions, levels = attribute.positions, attribute.levels
    middle = int(np.searchsorted(positions, HUB))
    # An edge of the left half is crossed by all that lies left of it, one of the right half by all
    # that lies right of it; both flow towards the hub.
    left = np.cumsum(difference[..., :middle], axis=-1)
    right = np.cumsum(difference[..., middle:levels][..., ::-1], axis=-1)[..., ::-1]
    cost = np.abs(left) @ np.diff(positions[:middle], append=HUB)
    cost = cost + np.abs(right) @ np.diff(positions[middle:], prepend=HUB)
    if attribute.has_null:
        cost = cost + RADIUS * np.abs(difference[..., levels])
    return np.asarray(cost, dtype=np.float64)


@lru_cache(maxsize=64)
def _cells(attribute: Attribute) -> FiniteSpace:
    """The cells of a metric attribute, the null cell among them."""
    return finite_space(cell_distances(attribute))
