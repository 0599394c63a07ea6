"""How far private records lie from their points, read off single columns' measured histograms.

No budget is spent on it: the histograms are measured anyway.

Claim.   With probability at least `confidence` over the noise and the simulation together, for all
         blocks at once, the sum of the private records' distances from their points is at most what
         `SummedDistances.upper` says.
Proof.   family.md, "Distances without a budget".
Oracle.  tests/mechanisms/certificates/test_distances.py.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.certificates.measured_columns import MeasuredColumns
from hallmark.mechanisms.certificates.simultaneous import PILOT, simultaneous_quantiles
from hallmark.mechanisms.certificates.single_columns import ColumnErrors, ColumnEstimates
from hallmark.mechanisms.domain.domain import Attribute

DOUBT = 0.05  # part of the failure probability that these bounds have
DRAWS = 2000  # of the noise, at most: beyond, bounds hardly get tighter
MOST_THRESHOLDS = 16


class SummedDistances:
    """Bounds for one design; watches simulated errors go by, as the columns' bounds use them."""

    def __init__(self, columns: MeasuredColumns) -> None:
        self._family = columns.marginals.family
        self._columns = columns.columns
        self._total_is_public = columns.marginals.total_is_public
        offsets = column_offsets(self._family)
        for column in columns.merged:  # of its codes only those that share a point are known
            offsets[column] = columns.single_columns.at_most(column, offsets[column])
        self._thresholds = thresholds(offsets.values())
        self._excess = [excess(offsets[column], self._thresholds) for column in self._columns]
        self._drawn: list[Floats] = []

    def watch(self, errors: Iterable[ColumnErrors]) -> Iterator[ColumnErrors]:
        """The batches unchanged, after looking at each."""
        for batch in errors:
            understated = [
                -noise @ beyond.T for noise, beyond in zip(batch.counts, self._excess, strict=True)
            ]
            if not self._total_is_public:
                understated.append(-batch.total[:, None])
            self._drawn.append(np.concatenate(understated, axis=1))
            yield batch

    def upper(self, estimate: ColumnEstimates, *, confidence: float) -> Floats:
        """Bounds from the errors watched, shape (blocks,), records times distance.

        Raises:
            ValueError: too few errors were watched for the confidence.
        """
        slack = simultaneous_quantiles(self._drawn, confidence=confidence).values
        records = estimate.total + (0.0 if self._total_is_public else float(slack[-1]))
        sums = {}
        for position, (column, counts, beyond) in enumerate(
            zip(self._columns, estimate.counts, self._excess, strict=True)
        ):
            start = position * len(self._thresholds)
            own = counts @ beyond.T + slack[start : start + len(self._thresholds)]
            sums[column] = np.maximum(own, 0.0)
        return least_sums(self._family, self._thresholds, sums, max(records, 0.0))


def column_offsets(family: Family) -> dict[int, Floats]:
    """How far each code of each column may lie from its point; the same in all blocks."""
    return {
        column: offsets
        for block in family.blocks
        for column, offsets in zip(block.columns, block.offsets, strict=True)
    }


def thresholds(offsets: Iterable[Floats]) -> Floats:
    """Distances to split the largest of several at: 0, and where some offsets lie, ascending."""
    distinct = np.unique(np.concatenate([np.zeros(1), *offsets]))
    if len(distinct) <= MOST_THRESHOLDS:
        return distinct
    return np.quantile(distinct, np.linspace(0, 1, MOST_THRESHOLDS))


def excess(offsets: Floats, thresholds: Floats) -> Floats:
    """How much each code's offset exceeds each threshold, shape (thresholds, codes)."""
    return np.maximum(offsets[None, :] - thresholds[:, None], 0.0)


def least_sums(
    family: Family, thresholds: Floats, sums: dict[int, Floats], records: float
) -> Floats:
    """The least bound over all thresholds for every block, shape (blocks,).

    Args:
        sums: by column, of what its records' offsets exceed the thresholds by.
        records: how many there are at most.
    """
    return np.array(
        [
            (records * thresholds + sum(sums[column] for column in block.columns)).min()
            for block in family.blocks
        ]
    )


def expected_distances(columns: MeasuredColumns, scale: float, records: int) -> Floats:
    """Forecast of each block's mean distances from its points, of both tables together.

    Codes are taken to be as frequent as `expected_shares` says, and the noise of columns that are
    measured by themselves to hide three standard deviations, simulated with a fixed seed.

    Args:
        scale: of that noise, in units of what `columns` have.
    Returns:
        Shape (blocks,), as shares of the diameter.
    """
    family = columns.marginals.family
    offsets = column_offsets(family)
    own = None if columns.own is None else columns.own.simulate(PILOT, np.random.default_rng(0))
    known = {
        column: columns.single_columns.at_most(column, offset)
        if column in columns.merged
        else offset
        for column, offset in offsets.items()
    }
    split = thresholds(known.values())
    private, released = {}, {}
    for column, offset in offsets.items():
        shares = expected_shares(family.domain.attributes[column])
        released[column] = excess(offset, split) @ shares
        private[column] = excess(known[column], split) @ shares
        if own is not None and column in columns.apart:
            noise = own.tables[columns.apart[column]] @ excess(offset, split).T
            private[column] = private[column] + 3 * scale * noise.std(axis=0) / max(records, 1)
    radii = np.array([block.radius for block in family.blocks])
    of_private = np.minimum(least_sums(family, split, private, 1.0), radii)
    return of_private + least_sums(family, split, released, 1.0)


def expected_shares(attribute: Attribute) -> Floats:
    """Part of the records that each code is taken to have before any are seen; they sum to 1.

    In inverse proportion to the stretch of line that a code stands for: public edges are narrow
    where records are expected. Equal cells and categories have equal parts.
    """
    steps = np.diff(attribute.positions)
    stretch = attribute.widths + (steps.min() if len(steps) else 1.0)
    shares = stretch.mean() / stretch if stretch.all() else np.ones(attribute.levels)
    if attribute.has_null:
        shares = np.append(shares, shares.mean())
    return np.asarray(shares / shares.sum())
