"""Small spaces of every make, and the linear programs that the distances on them are held to."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.domain import Attribute, Kind
from hallmark.mechanisms.geometry.finite_metrics import finite_space, pairwise
from hallmark.mechanisms.geometry.grids import axis, product_space
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.trees import midpoint_tree


def column(kind: Kind, positions: Floats, has_null: bool = False, name: str = "x") -> Attribute:
    return Attribute(
        name=name,
        kind=kind,
        positions=positions,
        widths=np.zeros(len(positions)),
        has_null=has_null,
    )


def numeric(levels: int, has_null: bool = False, width: float | None = None) -> Attribute:
    widths = np.full(levels, 1 / levels if width is None else width)
    middles = (np.arange(levels) + 0.5) / levels
    return replace(column(Kind.NUMERIC, middles, has_null), widths=widths)


def ordinal(levels: int, has_null: bool = False) -> Attribute:
    ends = np.linspace(0, 1, levels) if levels > 1 else np.array([0.5])
    return column(Kind.ORDINAL, ends, has_null, "o")


def nominal(levels: int, has_null: bool = False) -> Attribute:
    return column(Kind.NOMINAL, np.linspace(0, 1, levels), has_null, "c")


def metric(distances: Floats, has_null: bool = False) -> Attribute:
    """Places at these distances of each other, shape (levels, levels)."""
    along = np.linspace(0, 1, len(distances))
    return replace(column(Kind.METRIC, along, has_null, "place"), distances=distances)


def lattice(
    rng: np.random.Generator, levels: int, steps: int = 64, has_null: bool = False
) -> Attribute:
    """Points of the plane, their largest distances of coordinates multiples of 1 / steps."""
    points = rng.choice((steps + 1) ** 2, size=levels, replace=False)
    plane = np.stack(np.unravel_index(points, (steps + 1, steps + 1)), axis=-1) / steps
    return metric(pairwise(plane), has_null)


def grid(k: int, dimension: int) -> FiniteSpace:
    """The k^dimension grid; point (i, j, ...) lies at ((i + 1/2)/k, (j + 1/2)/k, ...)."""
    line = column(Kind.NUMERIC, (np.arange(k) + 0.5) / k)
    return product_space([axis(line, k)] * dimension)


def holed() -> FiniteSpace:
    """A grid in which some nodes are no points, times a line with a null and two categories."""
    ends = column(Kind.ORDINAL, np.array([0.0, 0.5, 1.0]))
    line = column(Kind.NUMERIC, np.array([0.1, 0.9]), has_null=True)
    return product_space(
        [axis(ends, 5), axis(line, 5), axis(column(Kind.NOMINAL, np.eye(2)[0]), 1)]
    )


def places(size: int, seed: int = 0) -> FiniteSpace:
    between = pairwise(np.random.default_rng(seed).random((size, 2)), "l2")
    return finite_space(between / max(between.max(), 1e-300))


def triangle() -> FiniteSpace:
    """Three points, the sides of 3, 4 and 5 times 0.15, which divides neither 1 nor 1/2."""
    order, gaps = np.arange(3), np.array([0.45, 0.6])
    return FiniteSpace(
        places=np.arange(3),
        nodes=3,
        tails=np.array([0, 1, 0], dtype=np.int32),
        heads=np.array([1, 2, 2], dtype=np.int32),
        lengths=np.array([3, 4, 5]),
        unit=0.15,
        order=order,
        gaps=gaps,
        tree=midpoint_tree(order, gaps),
    )


def scattered(sixteenths: list[int]) -> FiniteSpace:
    """Points on a line in any order, which lie on whole numbers of `metrics.UNIT`."""
    return finite_space(pairwise(np.array(sixteenths)[:, None] / 16))


def short_triangle() -> FiniteSpace:
    """Three points that are no line, though the path through them is shorter than 1."""
    return finite_space(np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0]]) / 16)


def distances(space: FiniteSpace) -> Floats:
    """Distances between all points, shape (size, size), by shortest paths."""
    graph = coo_array(
        (space.lengths.astype(np.float64), (space.tails, space.heads)),
        shape=(space.nodes, space.nodes),
    )
    between = dijkstra(graph.tocsr(), directed=False, indices=space.places)
    return np.asarray(between[:, space.places] * space.unit)


SPACES = {
    "one point": grid(1, 1),
    "line": grid(6, 1),
    "square": grid(4, 2),
    "cube": grid(3, 3),
    "holed": holed(),
    "places": places(9),
    "scattered line": scattered([5, 0, 16, 3, 8]),
    "short triangle": short_triangle(),
    "triangle": triangle(),
}


def balanced(size: int, rng: np.random.Generator) -> Floats:
    """A difference of mass zero, with some points left out."""
    difference = rng.normal(size=size) * (rng.random(size) < 0.8)
    return difference - difference.mean()


def coupled(distances: Floats, p: Floats, q: Floats) -> float:
    """The least cost over all couplings of two equally heavy vectors."""
    size = len(p)
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    solved = linprog(
        distances.ravel(),
        A_eq=np.vstack([rows, columns]),
        b_eq=np.concatenate([p, q]),
        method="highs",
    )
    assert solved.success
    return float(solved.fun)


def cheapest_coupling(distances: Floats, difference: Floats) -> float:
    """W1 of a difference of mass zero."""
    return coupled(distances, np.maximum(difference, 0), np.maximum(-difference, 0))


def best_potential(distances: Floats, difference: Floats, bound: float | None) -> float:
    """The largest integral of f over |f| <= bound that differ by at most the distances."""
    size = len(difference)
    i, j = np.nonzero(~np.eye(size, dtype=np.bool_))
    slopes = np.eye(size)[i] - np.eye(size)[j]
    solved = linprog(
        -difference,
        A_ub=slopes if len(i) else None,
        b_ub=distances[i, j] if len(i) else None,
        bounds=(None if bound is None else -bound, bound),
        method="highs",
    )
    assert solved.success
    return -float(solved.fun)
