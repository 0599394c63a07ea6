"""Products of attributes on grids, as finite spaces in the largest distance over the axes (l_inf).

An axis is one or more segments, and a segment is a lone point, or points on a line that lie in the
middle of k equal cells or, where that moves no value, at some of 0, 1/k, ..., 1. Points
of one segment are apart by their positions, points of different segments by 1: so are categories,
and so is the null cell from all values. That is never less than the metric of `Attribute` has it,
where a null lies at 1/2 + |x - 1/2| <= 1 from x, so bounds on transport hold there too. Grid points
into which no code falls are no points of the space; transport may pass through them.

Claim.   Shortest paths of the graph of `product_space` are the l_inf distances of the points.
Proof.   Two nodes in the same segment of every axis, the largest difference of their indices being
         r, are joined by r king moves of length 1/k, each of which lowers every difference that
         is not 0 yet; one move changes no index by more than 1, so fewer do not suffice. The hub,
         joined to every point by an edge of length 1/2, is the only way between different segments,
         which puts them at exactly 1; inside a segment no distance exceeds 1, so no way through the
         hub is shorter.
Oracle.  tests/mechanisms/geometry/test_grids.py: shortest paths against differences of indices.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats, Integers
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.finite_metrics import MAX_POINTS as MAX_METRIC_POINTS
from hallmark.mechanisms.geometry.finite_metrics import cell_distances, check_metric, finite_space
from hallmark.mechanisms.geometry.paths import hilbert, short_path, snake
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.trees import kd_tree
from hallmark.mechanisms.privacy.cells import CellMap

Path = Literal["snake", "hilbert", "short"]

MAX_POINTS = 2**24
MAX_EDGES = 2**26
MAX_SHORT_POINTS = 2000  # a short path is sought among all distances


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """One attribute on a grid: the points 0..points-1 that its codes are sent to. Public.

    Attributes:
        attribute: which.
        k: cells of a segment; 1 where all points are alone in theirs.
        table: code to point, int64 of shape (cells of the attribute,).
        offsets: by code, how far a value with this code may lie from its point; same shape.
        representatives: by point, the code of least offset among those sent to it, shape (points,).
        segments: by point, the segment that it lies in, ascending.
        places: by point, its index along the segment, ascending there.
        distances: between the points of a metric attribute, shape (points, points), the null cell
            included; such an axis has no segments that mean anything. None for all other kinds.
    """

    attribute: Attribute
    k: int
    table: Integers
    offsets: Floats
    representatives: Integers
    segments: Integers
    places: Integers
    distances: Floats | None = None

    @property
    def points(self) -> int:
        """Number of points."""
        return len(self.places)

    def apart(self, a: Integers, b: Integers) -> Floats:
        """Distances between points, elementwise."""
        if self.distances is not None:
            return np.asarray(self.distances[a, b])
        steps = np.abs(self.places[a] - self.places[b]) / self.k
        return np.where(self.segments[a] == self.segments[b], steps, 1.0)


def axis(attribute: Attribute, k: int) -> Axis:
    """The attribute on a grid of k cells; nominal and metric attributes keep all their values.

    Grid point i of a line lies at (i + 1/2)/k, and a code goes to the cell that its position is in;
    or at i/k where all positions are such points and have no width, so that nothing is moved. Only
    cells that some code goes to are points: which ones is a public fact.

    Raises:
        ValueError: k < 1, or the distances of a metric attribute are no metric.
    """
    if k < 1:
        raise ValueError(f"{attribute.name}: a grid has one cell at least, not k = {k}")
    if not attribute.kind.ordered:
        return _axis_of_values(attribute)
    if fits_exactly(attribute, k):
        cells = np.rint(attribute.positions * k).astype(np.int64)
        offsets = np.zeros(attribute.levels)
    else:
        cells = np.minimum((attribute.positions * k).astype(np.int64), k - 1)
        offsets = np.abs(attribute.positions - (cells + 0.5) / k) + attribute.widths / 2
    places, table = np.unique(cells, return_inverse=True)
    by_point = np.lexsort((offsets, table))
    representatives = by_point[np.unique(table[by_point], return_index=True)[1]]
    segments = np.zeros(len(places), dtype=np.int64)
    if attribute.has_null:
        table, offsets = np.append(table, len(places)), np.append(offsets, 0.0)
        representatives = np.append(representatives, attribute.levels)
        segments, places = np.append(segments, 1), np.append(places, 0)
    return Axis(
        attribute=attribute,
        k=k,
        table=table,
        offsets=offsets,
        representatives=representatives,
        segments=segments,
        places=places,
    )


def fits_exactly(attribute: Attribute, k: int) -> bool:
    """Whether the values lie on a line, at multiples of 1/k."""
    if not attribute.kind.ordered or attribute.widths.any():
        return False
    steps = attribute.positions * k
    return bool((np.abs(steps - np.rint(steps)) < 1e-9).all())


def exact_steps(domain: Domain) -> set[int]:
    """The k at which all values of some line first are grid points."""
    lines = [attribute for attribute in domain.attributes if attribute.levels > 1]
    return {line.levels - 1 for line in lines if fits_exactly(line, line.levels - 1)}


def product_space(axes: Sequence[Axis], path: Path = "snake") -> FiniteSpace:
    """The product of the axes, its points numbered in C order, in the l_inf metric.

    Where an axis belongs to a metric attribute there is no lattice: the product is then the
    `finite_space` of all its distances, whose path is short and whose tree halves sets. Else the
    tree halves the widest side of every box of points.

    Args:
        axes: one at least; those with several points on a line have the same k.
        path: "snake" goes to and fro, slowest along the axis with the widest gap; "hilbert" follows
            Hilbert's curve over lines of the same power of two of points each; "short" searches
            all distances of up to `MAX_SHORT_POINTS` points.
    Raises:
        ValueError: there is no axis, the product is too large, the values of k differ, or the path
            does not suit the axes.
    """
    if not axes:
        raise ValueError("a product of grids is over one column at least")
    if any(axis.distances is not None for axis in axes):
        _check_size(axes, MAX_METRIC_POINTS)
        if path == "hilbert":
            raise ValueError(f"path: hilbert needs grids, and {_names(axes)} has distances")
        return finite_space(_all_distances(axes))
    _check_size(axes, MAX_SHORT_POINTS if path == "short" else MAX_POINTS)
    lattices = [_lattice(axis) for axis in axes]
    k = _common_k(axes, lattices)
    _check_edges(axes, lattices)
    nodes = math.prod(lattice.nodes for lattice in lattices)
    strides = _strides([lattice.nodes for lattice in lattices])
    places = reduce(np.add.outer, [lat.at * n for lat, n in zip(lattices, strides, strict=True)])
    places = places.ravel()
    tails, heads = _king_moves(lattices)
    lengths = np.full(len(tails), 2, dtype=np.int64)
    if any(axis.segments[-1] > 0 for axis in axes):  # a hub
        tails = np.append(tails, places.astype(np.int32))
        heads = np.append(heads, np.full(len(places), nodes, dtype=np.int32))
        lengths = np.append(lengths, np.full(len(places), k, dtype=np.int64))
        nodes += 1
    order = _path(axes, path)
    return FiniteSpace(
        places=places,
        nodes=nodes,
        tails=tails,
        heads=heads,
        lengths=lengths,
        unit=1 / (2 * k),
        order=order,
        gaps=_apart(axes, order[:-1], order[1:]),
        tree=kd_tree(_shape(axes), lambda side, low, high: axes[side].apart(low, high)),
    )


def cell_map(columns: Sequence[int], axes: Sequence[Axis], domain: Domain) -> CellMap:
    """Sends a record to its point of `product_space(axes)`; axis i is that of column columns[i].

    Raises:
        ValueError: an axis is not that of its column.
    """
    for column, axis in zip(columns, axes, strict=True):
        if len(axis.table) != domain.shape[column]:
            raise ValueError(
                f"{axis.attribute.name}: an axis over {len(axis.table)} codes, but column {column}"
                f" has {domain.shape[column]}"
            )
    shape = _shape(axes)
    tables = (axis.table * stride for axis, stride in zip(axes, _strides(shape), strict=True))
    return CellMap(tuple(columns), tuple(tables), math.prod(shape))


def _axis_of_values(attribute: Attribute) -> Axis:
    """Every category, or every point of a metric attribute, for itself; nulls too."""
    between = None
    if attribute.kind is Kind.METRIC:
        between = cell_distances(attribute)
        try:
            check_metric(between)
        except ValueError as error:
            raise ValueError(f"{attribute.name}: {error}") from error
    values = np.arange(attribute.cells, dtype=np.int64)
    return Axis(
        attribute=attribute,
        k=1,
        table=values,
        offsets=np.zeros(len(values)),
        representatives=values,
        segments=values,
        places=np.zeros_like(values),
        distances=between,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Lattice:
    """The nodes along one axis: of every segment the cells from its first to its last point.

    Attributes:
        nodes: how many.
        at: node of every point.
        steps: nodes from which one step leads to the next node of the same segment.
    """

    nodes: int
    at: Integers
    steps: Integers


def _lattice(axis: Axis) -> _Lattice:
    first = np.flatnonzero(np.diff(axis.segments, prepend=-1))  # point of every segment
    last = np.append(first[1:], axis.points) - 1
    lengths = axis.places[last] - axis.places[first] + 1
    ends = np.cumsum(lengths)
    at = (ends - lengths - axis.places[first])[axis.segments] + axis.places
    return _Lattice(nodes=int(ends[-1]), at=at, steps=np.setdiff1d(np.arange(ends[-1]), ends - 1))


def _king_moves(lattices: Sequence[_Lattice]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Both ends of every edge between neighbouring nodes of a product, each edge once."""
    strides = _strides([lattice.nodes for lattice in lattices])
    tails, heads = [], []
    for move in itertools.product((-1, 0, 1), repeat=len(lattices)):
        if move <= (0,) * len(lattices):
            continue  # the way back of another move, or none
        along = []
        for step, stride, lattice in zip(move, strides, lattices, strict=True):
            start = np.arange(lattice.nodes) if step == 0 else lattice.steps + (step < 0)
            along.append((start * stride).astype(np.int32))
        starts = reduce(np.add.outer, along).ravel()
        tails.append(starts)
        heads.append(starts + np.int32(np.dot(move, strides)))
    return np.concatenate(tails), np.concatenate(heads)


def _path(axes: Sequence[Axis], path: Path) -> Integers:
    """The points in the order of a path."""
    shape = _shape(axes)
    match path:
        case "snake":
            ends = [(np.arange(n - 1), np.arange(1, n)) for n in shape]
            widest = [a.apart(*end).max(initial=0.0) for a, end in zip(axes, ends, strict=True)]
            slowest_first = np.argsort(-np.array(widest), kind="stable")
            points = np.arange(math.prod(shape)).reshape(shape).transpose(slowest_first)
            return points.ravel()[snake(points.shape)]
        case "hilbert":
            if len(set(shape)) > 1 or any(a.points != a.k or a.segments[-1] for a in axes):
                raise ValueError(
                    f"path: hilbert needs lines of k points each and no nulls or categories, but"
                    f" {_names(axes)} has {' x '.join(map(str, shape))} points; take snake"
                )
            return hilbert(shape[0], len(shape))
        case "short":
            return short_path(_all_distances(axes))
    raise ValueError(f"path: {path!r} is none of snake, hilbert, short")


def _apart(axes: Sequence[Axis], a: Integers, b: Integers) -> Floats:
    """Distances between points of the product, elementwise."""
    shape = _shape(axes)
    along = zip(axes, np.unravel_index(a, shape), np.unravel_index(b, shape), strict=True)
    return reduce(np.maximum, (axis.apart(first, second) for axis, first, second in along))


def _all_distances(axes: Sequence[Axis]) -> Floats:
    points = np.arange(math.prod(_shape(axes)))
    return _apart(axes, points[:, None], points[None, :])


def _check_size(axes: Sequence[Axis], limit: int) -> None:
    shape = _shape(axes)
    size = math.prod(shape)
    product = f"{shape[0]}^{len(shape)}" if len(set(shape)) == 1 else " x ".join(map(str, shape))
    if size > limit:
        raise ValueError(
            f"{_names(axes)}: {product} = {size:,} points of 8 bytes = {size * 8 / 1e9:.1f} GB, but"
            f" at most {limit:,} are taken here; take a smaller k or fewer columns"
        )


def _check_edges(axes: Sequence[Axis], lattices: Sequence[_Lattice]) -> None:
    """A node has an edge for every choice of staying or stepping along each axis, each way."""
    moves = math.prod(lattice.nodes + 2 * len(lattice.steps) for lattice in lattices)
    edges = (moves - math.prod(lattice.nodes for lattice in lattices)) // 2
    if edges > MAX_EDGES:
        raise ValueError(
            f"{_names(axes)}: the graph has {edges:,} edges of 16 bytes = {edges * 16 / 1e9:.1f}"
            f" GB, but at most {MAX_EDGES:,} are taken; take a smaller k or fewer columns"
        )


def _common_k(axes: Sequence[Axis], lattices: Sequence[_Lattice]) -> int:
    """Cells of a line; 1 where there is none, but lone points only."""
    pairs = zip(axes, lattices, strict=True)
    sides = sorted({axis.k for axis, lattice in pairs if len(lattice.steps)})
    if len(sides) > 1:
        raise ValueError(
            f"{_names(axes)}: the lines of one grid have one k, not {' and '.join(map(str, sides))}"
        )
    return sides[0] if sides else 1


def _shape(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.points for axis in axes)


def _strides(shape: Sequence[int]) -> list[int]:
    """Strides of C order."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _names(axes: Sequence[Axis]) -> str:
    return " x ".join(axis.attribute.name for axis in axes)
