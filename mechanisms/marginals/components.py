"""Marginals as main effects and interactions, and how these go through the periods of a series.

A table of shares is 1 / cells plus a component for every set of its columns (as in
`inference.spaces`), here in orthonormal coordinates: where a table's noise is independent and equal
in all cells, so it is in the coordinates of each component. Where groups of its cells were measured
besides, some coordinates have less than others, and the mean over them is told.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Floats, Table
from hallmark.mechanisms.domain.cliques import Clique, downward_closure
from hallmark.mechanisms.earlier import EarlierPeriod
from hallmark.mechanisms.inference.random_walk import Track, Walk, walks
from hallmark.mechanisms.marginals.cell_groups import cells_of, group_of
from hallmark.mechanisms.marginals.evidence import Coarse, NoisyMarginal, with_groups


@dataclass(frozen=True, eq=False)
class Component:
    """A main effect or interaction that was measured.

    Attributes:
        values: its coordinates, in shares of the records.
        variance: of the noise in each, on average.
        scale: of what each would differ by in another sample of as many independent records, if all
            cells were alike.
    """

    values: Floats
    variance: float
    scale: float


Components = Mapping[Clique, Component]
"""By their columns."""


def parts(clique: Clique, shape: Sequence[int]) -> list[Clique]:
    """Main effects and interactions that a table has: a column of one code has none."""
    return list(downward_closure([tuple(column for column in clique if shape[column] > 1)]))


def components(
    marginals: Iterable[NoisyMarginal], total: float, shape: Sequence[int]
) -> dict[Clique, Component]:
    """All that marginals tell, each from all that hold it, by their precisions.

    Args:
        total: number of records.
        shape: codes of every column.
    """
    sums: dict[Clique, tuple[Floats, float]] = {}
    for marginal in marginals:
        if not marginal.sigma:
            continue
        share = marginal.share(total)
        for part in parts(marginal.clique, shape):
            others = tuple(i for i, column in enumerate(marginal.clique) if column not in part)
            alike = prod(share.counts.shape[i] for i in others)
            precision = 1 / (alike * _variance(share, others))
            values = coordinates(share.counts.sum(axis=others))
            known, weight = sums.get(part, (np.zeros_like(values), 0.0))
            sums[part] = known + precision * values, weight + precision
    return {
        part: Component(
            values=sum_ / weight,
            variance=1 / weight,
            scale=1 / (total * prod(shape[column] for column in part)),
        )
        for part, (sum_, weight) in sums.items()
    }


def _variance(marginal: NoisyMarginal, others: Collection[int]) -> float:
    """Mean variance of the noise in a cell, or a direction of length 1, of one component.

    Args:
        others: axes of columns that the component does not have.
    """
    white = marginal.sigma**2
    if marginal.coarse is None:
        return white
    sizes, shape = marginal.coarse.sizes, marginal.counts.shape
    less = white - marginal.group_variances(sizes) / cells_of(shape, sizes)
    for axis, (cells, groups) in reversed(list(enumerate(zip(shape, sizes, strict=True)))):
        whole = cells_of((cells,), (groups,)) / cells  # of a group's direction, along the constant
        less = less @ (whole if axis in others else (1 - whole) / (cells - 1))
    return float(white - less)


def of_period(period: EarlierPeriod, shape: Sequence[int]) -> dict[Clique, Component]:
    """What a period's tables of single cells tell, with groups of them that it measured besides."""
    return components(_marginals(period), period.total, shape)


def walked(periods: Sequence[int], measured: Sequence[Components]) -> dict[Clique, Walk]:
    """Every component of the last period that another has, as a random walk through all; those of
    as many columns are of one kind."""
    kinds: dict[int, list[Clique]] = {}
    for part in measured[-1]:
        if any(part in one for one in measured[:-1]):
            kinds.setdefault(len(part), []).append(part)
    return {
        part: walk
        for some in kinds.values()
        for part, walk in zip(
            some, walks([_track(part, periods, measured) for part in some]), strict=True
        )
    }


def table(clique: Clique, shape: Sequence[int], values: Mapping[Clique, Floats]) -> Table:
    """A table of shares from the coordinates of its components."""
    sizes = [shape[column] for column in clique]
    shares = np.full(sizes, 1 / prod(sizes))
    for part in parts(clique, shape):
        cells = _cells(values[part], [shape[column] for column in part])
        axes = tuple(i for i, column in enumerate(clique) if column not in part)
        shares = shares + np.expand_dims(cells, axes) / prod(sizes[i] for i in axes)
    return shares


def cell_covariance(
    clique: Clique, shape: Sequence[int], covariances: Mapping[Clique, Floats]
) -> Floats:
    """Covariance of one cell of a table in several periods, from those of one coordinate of its
    components."""
    return np.asarray(
        sum(
            covariances[part]
            * prod(1 - 1 / shape[column] for column in part)
            / prod(shape[column] for column in clique if column not in part) ** 2
            for part in parts(clique, shape)
        )
    )


def coordinates(counts: Table) -> Floats:
    """A table's interaction of all of its columns, in an orthonormal basis; flat."""
    for axis, size in enumerate(counts.shape):
        counts = np.moveaxis(np.tensordot(_contrasts(size), counts, axes=(1, axis)), 0, axis)
    return counts.ravel()


def _cells(values: Floats, sizes: Sequence[int]) -> Table:
    """Inverse of `coordinates`, for tables that are nothing but this interaction."""
    cells = values.reshape([size - 1 for size in sizes])
    for axis, size in enumerate(sizes):
        cells = np.moveaxis(np.tensordot(_contrasts(size).T, cells, axes=(1, axis)), 0, axis)
    return cells


def _contrasts(size: int) -> Floats:
    """An orthonormal basis of the vectors that sum to 0, shape (size - 1, size) (Helmert's)."""
    basis = np.tril(np.ones((size, size)), -1)[1:]
    at = np.arange(1, size)
    basis[at - 1, at] = -at
    return np.asarray(basis / np.linalg.norm(basis, axis=1, keepdims=True))


def _marginals(period: EarlierPeriod) -> Iterator[NoisyMarginal]:
    """A period's tables of single cells, in their order; with groups, where it has both."""
    grouped = {one.columns: one for one in period.tables if not one.is_of_cells}
    for one in period.tables:
        if not one.is_of_cells:
            continue
        cells = NoisyMarginal(one.columns, one.counts[np.ix_(*one.groups)], one.sigma)
        sums = grouped.get(one.columns)
        if sums is not None and all(
            np.array_equal(of, group_of(len(of), size))
            for of, size in zip(sums.groups, sums.counts.shape, strict=True)
        ):
            cells = with_groups(cells, sums.counts, Coarse(sums.counts.shape, sums.sigma))
        yield cells


def _track(part: Clique, periods: Sequence[int], measured: Sequence[Components]) -> Track:
    known = [(p, one[part]) for p, one in zip(periods, measured, strict=True) if part in one]
    return Track(
        periods=np.array([period for period, _ in known]),
        values=np.array([component.values for _, component in known]),
        variances=np.array([component.variance for _, component in known]),
        scales=np.array([component.scale for _, component in known]),
    )
