"""What earlier periods of a series tell of this one: their noisy marginals, carried forward.

Claim.   Every marginal that `foretold` gives is computed from answers that earlier releases have
         published and, for what probably moved how far, from this release's noisy marginals. So it
         is post-processing, and costs nothing.
How.     A table is the sum of main effects and interactions (as in `inference.spaces`), each
         measured with noise that is equal in all of its coordinates. Each goes through the periods
         as a random walk (`random_walk`), those of as many columns as one kind. What the walk
         foretells of this period, from the others alone, joins its evidence as tables with noise of
         their own. A table of several columns is as precise as what is foretold of their
         interaction; its margins are what all periods say of them, this one included, so that they
         pull a fit to what is best known, wherever they are counted for more than is known of
         them. What such tables do not tell of a margin, a table of its own does.
Limits.  Shares are carried, not counts, and noise in the number of records is not. Tables in groups
         of cells, of bins for instance, are not carried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats, Table
from hallmark.mechanisms.domain.cliques import Clique, downward_closure, title
from hallmark.mechanisms.earlier import Earlier, EarlierPeriod
from hallmark.mechanisms.inference.random_walk import Track, Walk, walks
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal

MOST_PERIODS = 12
"""How many earlier periods are looked at, the last ones: those before tell next to nothing."""

FORETOLD = "foretold_by_earlier_periods"
"""In the history: what earlier periods told."""


@dataclass(frozen=True, eq=False)
class Foretold:
    """What earlier periods tell.

    Attributes:
        marginals: to be counted besides those of this release.
        noise: variance of the noise with them as a share of that without, the mean over main
            effects (1) and interactions of so many columns.
        broken: main effects and interactions that are not what earlier periods made probable.
    """

    marginals: tuple[NoisyMarginal, ...]
    noise: Mapping[int, float]
    broken: tuple[Clique, ...]

    def told(self, names: Sequence[str]) -> dict[str, Any]:
        """For the record, as plain JSON values: `noise`, and the names of what is `broken`."""
        return {
            "noise": {str(kind): share for kind, share in self.noise.items()},
            "broken": [title(part, names) for part in self.broken],
        }


def foretold(evidence: Evidence, earlier: Earlier) -> Foretold:
    """What earlier periods tell of the one of which `evidence` was measured."""
    shape = evidence.domain.shape
    past = sorted(earlier.periods, key=lambda one: one.number)[-MOST_PERIODS:]
    periods = [*(one.number for one in past), earlier.number]
    components = [_components(_marginals(one), one.total, shape) for one in past]
    components.append(_components(evidence.marginals, evidence.total, shape))
    kinds: dict[int, list[Clique]] = {}
    for part in components[-1]:
        if any(part in one for one in components[:-1]):
            kinds.setdefault(len(part), []).append(part)
    walked: dict[Clique, Walk] = {}
    for parts in kinds.values():
        tracks = [_track(part, periods, components) for part in parts]
        walked |= dict(zip(parts, walks(tracks), strict=True))
    noise = {
        kind: float(np.mean([_noise_left(walked[part]) for part in parts]))
        for kind, parts in sorted(kinds.items())
    }
    return Foretold(
        marginals=tuple(_tables(evidence, walked)),
        noise=noise,
        broken=tuple(part for part, walk in walked.items() if earlier.number in walk.broken),
    )


@dataclass(frozen=True, eq=False)
class _Component:
    """A main effect or interaction: its coordinates in shares, and the variance of each."""

    values: Floats
    variance: float


def _marginals(period: EarlierPeriod) -> Iterator[NoisyMarginal]:
    """A period's tables of single cells, in the order of the cells."""
    for table in period.tables:
        if table.is_of_cells:
            yield NoisyMarginal(table.columns, table.counts[np.ix_(*table.groups)], table.sigma)


def _components(
    marginals: Iterable[NoisyMarginal], total: float, shape: Sequence[int]
) -> dict[Clique, _Component]:
    """All that marginals tell, each from all that hold it, by their precisions."""
    sums: dict[Clique, tuple[Floats, float]] = {}
    for marginal in marginals:
        if not marginal.sigma:
            continue
        share = marginal.share(total)
        for part in _parts(marginal.clique, shape):
            others = tuple(i for i, column in enumerate(marginal.clique) if column not in part)
            cells = prod(share.counts.shape[i] for i in others)
            precision = 1 / (share.sigma**2 * cells)
            values = _coordinates(share.counts.sum(axis=others))
            known, weight = sums.get(part, (np.zeros_like(values), 0.0))
            sums[part] = known + precision * values, weight + precision
    return {part: _Component(v / weight, 1 / weight) for part, (v, weight) in sums.items()}


def _track(
    part: Clique,
    periods: Sequence[int],
    components: Sequence[Mapping[Clique, _Component]],
) -> Track:
    known = [(p, one[part]) for p, one in zip(periods, components, strict=True) if part in one]
    return Track(
        periods=np.array([period for period, _ in known]),
        values=np.array([component.values for _, component in known]),
        variances=np.array([component.variance for _, component in known]),
    )


def _noise_left(walk: Walk) -> float:
    foretold = float(walk.foretold.covariance[0, 0])
    return foretold / (foretold + float(walk.track.variances[-1]))


def _tables(evidence: Evidence, walked: Mapping[Clique, Walk]) -> Iterable[NoisyMarginal]:
    """Tables of what is foretold, those of most columns first."""
    shape = evidence.domain.shape
    known = [c for c in evidence.by_clique if all(part in walked for part in _parts(c, shape))]
    tables = sorted({part for c in known for part in _parts(c, shape)}, key=len, reverse=True)
    given = dict.fromkeys(tables, 0.0)  # precision, by component

    def spread(part: Clique, clique: Clique) -> int:
        """Over how many cells of the table one coordinate of a component is spread."""
        return prod(shape[column] for column in clique if column not in part)

    for clique in tables:
        precision = 1 / float(walked[clique].foretold.covariance[0, 0]) - given[clique]
        if precision <= 0:
            continue
        for part in _parts(clique, shape):
            given[part] += precision / spread(part, clique)
        counts = evidence.total * _table(clique, shape, walked)
        yield NoisyMarginal(clique, counts, evidence.total * precision**-0.5)


def _table(clique: Clique, shape: Sequence[int], walked: Mapping[Clique, Walk]) -> Table:
    """What is foretold of a table's interaction, and known of its margins, in shares."""
    sizes = [shape[column] for column in clique]
    table = np.full(sizes, 1 / prod(sizes))
    for part in _parts(clique, shape):
        walk = walked[part]
        joint = walk.foretold if part == clique else walk.smoothed
        values = joint.weights[-1] @ walk.track.values
        cells = _cells(values, [shape[column] for column in part])
        axes = tuple(i for i, column in enumerate(clique) if column not in part)
        table = table + np.expand_dims(cells, axes) / prod(sizes[i] for i in axes)
    return table


def _parts(clique: Clique, shape: Sequence[int]) -> list[Clique]:
    """Main effects and interactions that a table has: a column of one code has none."""
    return list(downward_closure([tuple(column for column in clique if shape[column] > 1)]))


def _coordinates(table: Table) -> Floats:
    """A table's interaction of all of its columns, in an orthonormal basis; flat."""
    for axis, size in enumerate(table.shape):
        table = np.moveaxis(np.tensordot(_contrasts(size), table, axes=(1, axis)), 0, axis)
    return table.ravel()


def _cells(coordinates: Floats, sizes: Sequence[int]) -> Table:
    """Inverse of `_coordinates`, for tables that are nothing but this interaction."""
    table = coordinates.reshape([size - 1 for size in sizes])
    for axis, size in enumerate(sizes):
        table = np.moveaxis(np.tensordot(_contrasts(size).T, table, axes=(1, axis)), 0, axis)
    return table


def _contrasts(size: int) -> Floats:
    """An orthonormal basis of the vectors that sum to 0, shape (size - 1, size) (Helmert's)."""
    basis = np.tril(np.ones((size, size)), -1)[1:]
    at = np.arange(1, size)
    basis[at - 1, at] = -at
    return np.asarray(basis / np.linalg.norm(basis, axis=1, keepdims=True))
