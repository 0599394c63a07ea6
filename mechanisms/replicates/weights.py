"""Nonnegative weights of the released records that give them the tables of a replicate.

Pairs leave open how records are spread over three and more columns: of all tables with the same
pairs the private one is one, and the released one another, each as if drawn at random. So weights
start from a draw (`drawn`) in which a group of records varies as it would in two samples. Then the
least squares over the cells of all pairs of columns, stopped early, so that weights move no more
than they need to; then a small correction of every weight, linear in the columns'
positions, their squares and their products, which brings means, variances and covariances to those
of the replicate: least squares over many cells reaches them last, and users compute them first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.replicates.pairs import MOST_ALONE, PairTables, Positions

_STEPS = 200  # of the least squares
_ROUNDS = 4  # of the correction, each of which may leave some weights negative, which become 0
_RIDGE = 0.1  # of the correction, in records: what it does not reach without strain is left
_MOST_PRODUCTS = 400
_AT_ONCE = 2**16  # records
LANES = 8  # sets of weights that are fitted side by side


def memory_needed(pairs: PairTables, records: int) -> int:
    """Peak memory of weighing so many records, bytes."""
    moments = 1 + 2 * len(pairs.columns) + min(len(pairs.pairs), _MOST_PRODUCTS)
    return records * (2 * pairs.number + 8 * moments + 40 * LANES)


@dataclass(frozen=True, eq=False)
class Weighing:
    """Finds weights for records.

    Attributes:
        weight: of every record where nothing is replicated: private records to a released one.
        positions: see `PairTables.positions`.
        bounds: upper bounds of the curvature along each weight, shape (records,).
        moments: functions of a record that are corrected, shape (records, functions).
        scores: standardised positions of every column's cells, in the tables of pairs.
        own_scores: the same of its own table, where it has one.
        products: pairs whose product is among the moments.
    """

    pairs: PairTables
    weight: float
    positions: Positions
    bounds: Floats
    moments: Floats
    scores: dict[int, Floats]
    own_scores: dict[int, Floats]
    products: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: PairTables, codes: AnyCodes, *, weight: float, urgent: Floats) -> "Weighing":
        """Prepare for these records.

        Args:
            urgent: of every pair, shape (pairs,); where there are too many for their products to
                be corrected all, the most urgent are.
        """
        positions = pairs.positions(codes)
        ones, bounds = np.ones((len(codes), LANES)), np.empty((len(codes), LANES))
        cells = np.empty((pairs.size, LANES))
        _add_up(positions, pairs.starts, ones, cells)
        _gather(positions, pairs.starts, cells, bounds)
        scores, own_scores = dict[int, Floats](), dict[int, Floats]()
        in_pairs, moments = dict[int, Floats](), [ones[:, 0]]
        for column in pairs.columns:
            cell = pairs.groups(column)[codes[:, column]]
            scores[column] = _standardised(cell, pairs.shape[column])
            in_pairs[column] = scores[column][cell]
        finest = dict(in_pairs)
        for number, column in enumerate(pairs.alone):
            cell = positions[len(pairs.pairs) + number]
            own_scores[column] = _standardised(cell, min(pairs.cells[column], MOST_ALONE))
            finest[column] = own_scores[column][cell]
        moments += [*finest.values(), *(values**2 for values in finest.values())]
        products = np.sort(np.argsort(-urgent, kind="stable")[:_MOST_PRODUCTS])
        for number in products:
            a, b = pairs.pairs[number]
            moments.append(in_pairs[a] * in_pairs[b])
        return cls(
            pairs,
            weight,
            positions,
            bounds[:, 0].copy(),
            np.column_stack(moments),
            scores,
            own_scores,
            products,
        )

    def weights(self, tables: Sequence[Floats], starts: Floats) -> Floats:
        """Weights whose tables are near the given ones, which are in private records.

        Args:
            starts: from which each set moves as little as it must, shape (records, sets); `drawn`,
                or ones.
        Returns:
            Nonnegative, shape (records, sets), each set adding up to as many as its tables.
        """
        targets = [one / self.weight for one in tables]
        with threadpool_limits(1, user_api="blas"):  # several workers share the cores
            found = [
                self._corrected(weights, target)
                for first in range(0, len(targets), LANES)
                for weights, target in zip(
                    self._fitted(targets[first : first + LANES], starts[:, first : first + LANES]),
                    targets[first:],
                    strict=False,
                )
            ]
        return self.weight * np.column_stack(found)

    def _fitted(self, targets: Sequence[Floats], starts: Floats) -> Floats:
        """Least squares for up to `LANES` targets at once, shape (targets, records)."""
        lanes = np.minimum(np.arange(LANES), len(targets) - 1)  # the last again, to fill them
        padded = np.column_stack([targets[lane] for lane in lanes])
        found = _least_squares(
            self.positions, self.pairs.starts, padded, starts[:, lanes], self.bounds, _STEPS
        )
        return np.ascontiguousarray(found.T[: len(targets)])

    def _corrected(self, weights: Floats, target: Floats) -> Floats:
        """The weights with the moments of the target, as far as that takes no strain."""
        found, goal = weights, self._moments_of(target)
        ridge = _RIDGE * len(found) * np.eye(len(goal))
        for _ in range(_ROUNDS):
            curvature = ridge.copy()
            for first in range(0, len(found), _AT_ONCE):
                block = self.moments[first : first + _AT_ONCE]
                curvature += (block * found[first : first + _AT_ONCE, None]).T @ block
            slopes = np.linalg.solve(curvature, goal - self.moments.T @ found)
            found = np.maximum(0.0, found * (1 + self.moments @ slopes))
        total = found.sum()
        return np.asarray(found * (goal[0] / total) if total > 0 else found)

    def _moments_of(self, tables: Floats) -> Floats:
        """Sums of the moments over records with these tables."""
        single: dict[int, Floats] = {}
        products = []
        corrected = set(self.products.tolist())
        for number, (a, b) in enumerate(self.pairs.pairs):
            table = self.pairs.table(tables, number)
            single.setdefault(a, table.sum(axis=1))
            single.setdefault(b, table.sum(axis=0))
            if number in corrected:
                products.append(float(self.scores[a] @ table @ self.scores[b]))
        total = float(single[self.pairs.columns[0]].sum())
        scores = self.scores | self.own_scores
        for number, column in enumerate(self.pairs.alone):
            single[column] = self.pairs.own_table(tables, number)
        first = [float(scores[c] @ single[c]) for c in self.pairs.columns]
        second = [float(scores[c] ** 2 @ single[c]) for c in self.pairs.columns]
        return np.array([total, *first, *second, *products])


def _standardised(cells: AnyCodes, number: int) -> Floats:
    """Places of all cells, of mean 0 and variance 1 among those of the records."""
    mean, deviation = float(cells.mean()), float(cells.std()) or 1.0
    return (np.arange(number, dtype=np.float64) - mean) / deviation


def drawn(records: float, size: int, rng: np.random.Generator) -> Floats:
    """Nonnegative weights of mean 1 for so many released records, which stand for `records`.

    A group varies with them as its share does in a sample as large as the private table and in
    another as large as the released one.
    """
    variance = 1 + size / records
    return rng.gamma(1 / variance, variance, size)


def with_sampling(weights: Floats, records: float, rng: np.random.Generator) -> Floats:
    """The weights times those of a Bayesian bootstrap of so many records, with the same sum.

    Released records may be more or fewer than the private ones, whose sampling counts: one with the
    weight w stands for w of them, and varies as w of them would together.
    """
    share = records / len(weights)
    drawn = weights * rng.gamma(share, 1 / share, size=len(weights))
    total = drawn.sum()
    return np.asarray(drawn * (weights.sum() / total) if total > 0 else weights)


@compiled()
def _add_up(
    positions: Positions, starts: NDArray[np.int64], weights: Floats, cells: Floats
) -> None:
    """Tables of weighted records; weights and cells have `LANES` columns."""
    cells[:] = 0
    for pair in range(positions.shape[0]):
        start = starts[pair]
        for record in range(positions.shape[1]):
            cell = start + positions[pair, record]
            for lane in range(LANES):
                cells[cell, lane] += weights[record, lane]


@compiled()
def _gather(
    positions: Positions, starts: NDArray[np.int64], cells: Floats, records: Floats
) -> None:
    """Sums over each record's cells."""
    records[:] = 0
    for pair in range(positions.shape[0]):
        start = starts[pair]
        for record in range(positions.shape[1]):
            cell = start + positions[pair, record]
            for lane in range(LANES):
                records[record, lane] += cells[cell, lane]


@compiled()
def _least_squares(
    positions: Positions,
    starts: NDArray[np.int64],
    targets: Floats,
    first: Floats,
    bounds: Floats,
    steps: int,
) -> Floats:
    """Projected gradients with momentum from first weights; each has its own step length.

    Args:
        targets: shape (cells, LANES), each column a problem of its own; side by side, they share
            the look-up of positions, which takes most of the time.
        first: shape (records, LANES).
    Returns:
        Shape (records, LANES).

    Since the matrix A of records in cells is nonnegative, A'A is at most the diagonal A'A 1.
    Source.  Beck, Teboulle (2009), "A fast iterative shrinkage-thresholding algorithm for linear
             inverse problems", SIAM J. Imaging Sciences 2(1); O'Donoghue, Candes (2015), "Adaptive
             restart for accelerated gradient schemes", Found. Comput. Math. 15, for the restarts.
    """
    size = positions.shape[1]
    weights, ahead = first.copy(), first.copy()
    cells, slopes = np.empty(targets.shape), np.empty((size, LANES))
    momentum = np.ones(LANES)
    for _ in range(steps):
        _add_up(positions, starts, ahead, cells)
        cells -= targets
        _gather(positions, starts, cells, slopes)
        uphill = np.zeros(LANES)
        for i in range(size):
            for lane in range(LANES):
                # In the place of the slope is now the next weight.
                slopes[i, lane] = max(0.0, ahead[i, lane] - slopes[i, lane] / bounds[i])
                turned = (ahead[i, lane] - slopes[i, lane]) * (slopes[i, lane] - weights[i, lane])
                uphill[lane] += turned * bounds[i]
        longer = (1 + np.sqrt(1 + 4 * momentum * momentum)) / 2
        push = np.where(uphill > 0, 0.0, (momentum - 1) / longer)
        for i in range(size):
            for lane in range(LANES):
                ahead[i, lane] = slopes[i, lane] + push[lane] * (slopes[i, lane] - weights[i, lane])
                weights[i, lane] = slopes[i, lane]
        momentum = np.where(uphill > 0, 1.0, longer)
    return weights
