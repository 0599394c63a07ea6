"""The nearest probability measure to a signed one: along a path, and on any finite space.

Claim.   `project_on_path` minimises the transport cost along the path, and `project` the W1
         distance, or the bounded-Lipschitz distance where the signed measure has a mass other than
         1, among all probability measures on the points.
Source.  He, Vershynin, Zhu (2023), arXiv:2302.05552, Algorithm 2, for the second, by a program that
         is corrected here (mechanisms/wasserstein/psmm/psmm.md).
Proof.   Path: transport costs sum_l gap_l |C_l - F_l| for the cumulative sums C of the signed
         measure and F of the probability, that is F nondecreasing in [0, 1], and 1 at the end:
         isotonic regression in L1. As F is in [0, 1], C_l may be replaced by the nearest value c_l
         in [0, 1]: each term changes by a constant. Let g_l(x) be the least cost of the first l
         terms with F_l <= x, a convex and nonincreasing function. Adding the next term makes the
         slope change by 2 gap at its c; then what slope is above zero, gap in all, is taken away
         from the right. If b_l is where the slope changes last, to zero, F_l = min(b_l, F_(l+1)).
         Space: the bounded-Lipschitz distance is the largest integral of f over |f| <= 1 that
         differ by at most the distances. In the dual, part of the mass is moved and the rest made
         or destroyed at cost 1 a unit, in a depot at distance 1 of all points. It never pays to
         destroy here what is made there, as that costs 2 and distances are at most 1. So the
         signed measure flows to the probability measure, through the depot where need be, and from
         every point any amount may go on to a common sink, at no cost; the sink takes 1. What is
         nonnegative and sums to 1 is just what can flow into it, and the cost of the way there is
         the distance.
Oracle.  tests/mechanisms/geometry/test_projection.py: linear programs for both.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.geometry.line import is_line, path_loss, signed_masses, surplus
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import FlowSolver, network_with_hub, whole_masses

CREATION_COST = 1.0  # of a unit of mass made or destroyed: the diameter
COARSEST = 2.0**-20  # unit in which shares may still be rounded


@dataclass(frozen=True, eq=False, kw_only=True)
class Projection:
    """A nearest probability measure.

    Attributes:
        masses: nonnegative, shape (size,), summing to 1.
        distance: of the signed measure from it, in W1, or in the bounded-Lipschitz distance where
            the signed measure has a mass other than 1.
    """

    masses: Floats
    distance: float


def project_on_path(gaps: Floats, masses: Floats) -> Floats:
    """Probability measure nearest to a signed measure in transport along a path.

    O(size log size). Among several, the one whose cumulative sums are the smallest.

    Args:
        gaps: between consecutive points, nonnegative, shape (size - 1,).
        masses: in the order of the path, summing to 1, shape (size,).
    Returns:
        Shape (size,), nonnegative, summing to 1.
    Raises:
        ValueError: the shapes do not fit, a number is not finite, a gap is negative, or the masses
            do not sum to 1.
    """
    if masses.ndim != 1 or gaps.shape != (len(masses) - 1,):
        raise ValueError(f"{gaps.shape} gaps for masses of shape {masses.shape}; give one less")
    if not (np.isfinite(gaps).all() and np.isfinite(masses).all()):
        raise ValueError("gaps, masses: a number is not finite")
    if (gaps < 0).any():
        raise ValueError(f"gaps: {int((gaps < 0).sum())} are negative")
    if surplus(np.append(masses, -1.0)) != 0.0:
        raise ValueError(f"masses sum to {masses.sum():.6g}, not 1; divide by their sum")
    inner = np.clip(np.cumsum(masses[:-1]), 0.0, 1.0)
    cumulative = np.append(_isotonic(inner, gaps.astype(np.float64)), 1.0)
    return np.diff(cumulative, prepend=0.0)


def project(space: FiniteSpace, masses: NDArray[np.number]) -> Projection:
    """A probability measure nearest to a signed measure on a space.

    Nearest in W1 where the mass is 1. Else in the bounded-Lipschitz distance: what is missing is
    created, and what is too much destroyed, where that is best.

    Args:
        masses: shape (size,).
    Raises:
        ValueError: the space has no points, the shape does not fit, an entry is not finite, or the
            masses are so large that shares of 1 would be rounded.
        RuntimeError: the solver failed.
    """
    given = signed_masses(space, masses)
    if given.ndim != 1:
        raise ValueError(f"project takes one measure, not an array of shape {given.shape}")
    if surplus(np.append(given, -1.0)) == 0.0 and is_line(space):
        nearest = np.zeros(space.size)
        nearest[space.order] = project_on_path(space.gaps, given[space.order])
        return Projection(masses=nearest, distance=float(path_loss(space, given - nearest)))
    depot = network_with_hub(space, CREATION_COST)
    points = space.places.astype(np.int32)
    sink = np.full_like(points, depot.nodes)
    solver = FlowSolver(depot.with_node(points, sink, np.zeros(space.size, dtype=np.int64)))
    whole, unit = whole_masses(np.append(given, -1.0), solver.most_mass)
    if unit > COARSEST:
        raise ValueError(
            f"masses: their absolute values sum to {np.abs(given).sum():.6g}, too much to "
            "share out 1; divide counts by the number of records"
        )
    supplies = np.zeros(depot.nodes + 1, dtype=np.int64)
    supplies[space.places], supplies[-1] = whole[:-1], whole[-1]
    supplies[-2] = -whole.sum()  # missing or too much; at mass 1 what rounding leaves
    flow = solver.solve(supplies)
    nearest = flow.amounts[-space.size :].astype(np.float64) * unit
    return Projection(masses=nearest, distance=flow.cost * unit)


@compiled()
def _isotonic(values: Floats, weights: Floats) -> Floats:
    """Nondecreasing sequence nearest to values in [0, 1], by the weighted sum of distances.

    The heap holds where the slope of the least cost changes, the rightmost first, and by how much.
    """
    flat_from = np.empty(len(values))
    changes = [(-0.0, np.inf)]  # no value is below 0
    for i in range(len(values)):
        excess = weights[i]
        if excess > 0.0:
            heapq.heappush(changes, (-values[i], 2.0 * excess))
            while changes[0][1] <= excess:
                excess -= changes[0][1]
                heapq.heappop(changes)
            changes[0] = (changes[0][0], changes[0][1] - excess)
        flat_from[i] = -changes[0][0]
    for i in range(len(values) - 2, -1, -1):
        flat_from[i] = min(flat_from[i], flat_from[i + 1])
    return flat_from
