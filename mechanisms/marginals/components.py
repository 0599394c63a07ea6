"""Marginals as main effects and interactions, and how these go through the periods of a series.

A table of shares is 1 / cells plus a component for every set of its columns (as in
`inference.spaces`), here in orthonormal coordinates: where a table's noise is independent and equal
in all cells, so it is in the coordinates of each component.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Floats, Table
from hallmark.mechanisms.domain.cliques import Clique, downward_closure
from hallmark.mechanisms.earlier import EarlierPeriod
from hallmark.mechanisms.inference.random_walk import Track, Walk, walks
from hallmark.mechanisms.marginals.evidence import NoisyMarginal


@dataclass(frozen=True, eq=False)
class Component:
    """A main effect or interaction that was measured.

    Attributes:
        values: its coordinates, in shares of the records.
        variance: of the noise in each.
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
            precision = 1 / (share.sigma**2 * prod(share.counts.shape[i] for i in others))
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


def of_period(period: EarlierPeriod, shape: Sequence[int]) -> dict[Clique, Component]:
    """What a period's tables of single cells tell."""
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
    """A period's tables of single cells, in the order of the cells."""
    for one in period.tables:
        if one.is_of_cells:
            yield NoisyMarginal(one.columns, one.counts[np.ix_(*one.groups)], one.sigma)


def _track(part: Clique, periods: Sequence[int], measured: Sequence[Components]) -> Track:
    known = [(p, one[part]) for p, one in zip(periods, measured, strict=True) if part in one]
    return Track(
        periods=np.array([period for period, _ in known]),
        values=np.array([component.values for _, component in known]),
        variances=np.array([component.variance for _, component in known]),
        scale=float(np.median([component.scale for _, component in known])),
    )
