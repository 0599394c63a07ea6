"""Transport along a line, and what it says about other spaces: bounds in linear time.

Claim.   On differences w of mass zero, W1 <= `path_loss` and W1 <= `tree_loss`; where `is_line`, W1
         = `path_loss`. Both losses are seminorms of w.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), (10), for
         the loss along a path.
Proof.   Carrying mass only along the path is one way to transport: what passes between two
         consecutive points is the mass up to there. On a tree, match what can be matched inside the
         lowest nodes first: min(|w_left|, |w_right|), or 0 where these have one sign, is
         (|w_left| + |w_right| - |w_node|)/2, and it moves by the node's diameter at most. (With
         diameters that shrink going down this is a sum of |w_node| with nonnegative weights.)
         If the path is as long as its ends are apart, then so is every stretch of it, as a shorter
         way between two of its points would shorten that between the ends: the space is a line.
Oracle.  tests/mechanisms/geometry/test_line.py solves the transport linear program.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.geometry.spaces import FiniteSpace

MASS_TOLERANCE = 1e-9  # a mass this small is rounding, absolutely or as a share of all |w|
LINE_TOLERANCE = 1e-12  # by which a path may exceed the distance of its ends, as a share of it


def path_loss(
    space: FiniteSpace, difference: NDArray[np.number], *, surplus_cost: float | None = None
) -> Floats:
    """L_T: what it costs to transport along the path of the space; at least W1.

    Args:
        difference: signed masses of the points, shape (..., size).
        surplus_cost: of a unit of mass that is left at the end of the path; None refuses a surplus.
            1/2 gives a bound on `hub_transport`; 1/k on a grid is the paper's last term.
    Returns:
        Shape (...), in mass times distance.
    Raises:
        ValueError: as `signed_masses` says, or there is a surplus that has no cost.
    """
    masses = signed_masses(space, difference)
    if surplus_cost is None:
        refuse_surplus(masses)
    cumulative = np.cumsum(masses[..., space.order], axis=-1)
    np.abs(cumulative, out=cumulative)
    end = (surplus_cost or 0.0) * cumulative[..., -1]
    return np.asarray(cumulative[..., :-1] @ space.gaps + end)


def tree_loss(
    space: FiniteSpace, difference: NDArray[np.number], *, surplus_cost: float | None = None
) -> Floats:
    """L_tree: what it costs to match inside the nodes of the space's tree; at least W1.

    Args:
        difference: signed masses of the points, shape (..., size).
        surplus_cost: of a unit of mass that finds no match; None refuses a surplus. 1/2 gives a
            bound on `hub_transport`; less than half the diameter gives no seminorm.
    Returns:
        Shape (...), in mass times distance.
    Raises:
        ValueError: as `signed_masses` says, or there is a surplus that has no cost.
    """
    masses = signed_masses(space, difference)
    if surplus_cost is None:
        refuse_surplus(masses)
    before = np.zeros((*masses.shape[:-1], space.size + 1))  # mass before every leaf
    np.cumsum(masses[..., space.tree.order], axis=-1, out=before[..., 1:])
    loss = (surplus_cost or 0.0) * np.abs(before[..., -1])
    for nodes, diameters in zip(space.tree.levels, space.tree.diameters, strict=True):
        start, middle, stop = (before[..., ends] for ends in nodes.T)
        unmatched = np.abs(middle - start) + np.abs(stop - middle) - np.abs(stop - start)
        loss = loss + unmatched @ (diameters / 2)
    return np.asarray(loss)


def is_line(space: FiniteSpace) -> bool:
    """Whether the path of the space is a straight line, so that `path_loss` is W1."""
    length = float(space.gaps.sum())
    if length > 1.0 + LINE_TOLERANCE:
        return False  # no two points are that far apart
    graph = coo_array(
        (space.lengths.astype(np.float64), (space.tails, space.heads)),
        shape=(space.nodes, space.nodes),
    )
    first, last = space.places[space.order[[0, -1]]]
    between = dijkstra(graph.tocsr(), directed=False, indices=first)[last] * space.unit
    return bool(length <= between * (1.0 + LINE_TOLERANCE))


def signed_masses(space: FiniteSpace, difference: NDArray[np.number]) -> Floats:
    """The masses as floats; whole numbers below 2^53 stay exact.

    Raises:
        ValueError: the space has no points, the last axis is not its points, or an entry is not
            finite.
    """
    if space.size == 0:
        raise ValueError("the space has no points, so it carries no measure")
    if difference.ndim == 0 or difference.shape[-1] != space.size:
        raise ValueError(f"masses have shape {difference.shape}, but there are {space.size} points")
    finite = np.asarray(difference, dtype=np.float64)
    if not np.isfinite(finite).all():
        raise ValueError(f"{int((~np.isfinite(finite)).sum())} masses are not finite numbers")
    return finite


def surplus(masses: Floats) -> Floats:
    """Mass of signed measures, 0 where it is no more than rounding; (..., size) to (...).

    Shares that should cancel leave some 1e-16 each, however small their differences are.
    """
    total = masses.sum(axis=-1)
    rounding = MASS_TOLERANCE * np.maximum(np.abs(masses).sum(axis=-1), 1.0)
    return np.where(np.abs(total) <= rounding, 0.0, total)


def refuse_surplus(masses: Floats) -> None:
    """Check that all measures, shape (..., size), have mass zero up to rounding.

    Raises:
        ValueError: one has not.
    """
    worst = float(np.abs(surplus(masses)).max(initial=0.0))
    if worst > 0.0:
        raise ValueError(
            f"a difference has mass {worst:.6g}, not 0, and transport neither makes nor destroys "
            "mass; settle the surplus at a point or at a hub"
        )
