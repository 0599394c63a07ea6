"""The metrics once more, metric by metric from their definitions: the oracle of `evaluate`."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from hallmark.mechanisms.utility import Label
from tests.mechanisms.utility.tables import Table

QUERIES, COLUMNS, DIRECTIONS = 200, 3, 100
COUNTING, THRESHOLDS, SLICES, BOOSTER = 11, 12, 13, 14  # seeds: parts of the metrics


def metrics(real: Table, synthetic: Table, sizes: tuple[int, ...]) -> dict[str, float]:
    """Those that compare the tables."""
    ours, theirs = embedded(real, sizes), embedded(synthetic, sizes)
    covariances = np.cov(ours.T), np.cov(theirs.T)
    apart = np.linalg.norm(covariances[0] - covariances[1])
    counts = np.array(
        [[inside(table, *box).mean() for table in (real, synthetic)] for box in boxes(real, sizes)]
    )
    beyond = np.array(
        [
            [(table[:, columns] @ normal > level).mean() for table in (ours, theirs)]
            for columns, normal, level in halfspaces(ours)
        ]
    )
    pairs = list(combinations(range(len(sizes)), 2))
    tv = np.mean([variation(real[:, pair], synthetic[:, pair]) for pair in map(list, pairs)])
    return {
        "covariance": float(apart / np.linalg.norm(covariances[1])),
        "covariance_real": float(apart / np.linalg.norm(covariances[0])),
        "count": relative(counts),
        "count_abs": float(np.abs(counts[:, 0] - counts[:, 1]).mean()),
        "thresh": relative(beyond),
        "thresh_abs": float(np.abs(beyond[:, 0] - beyond[:, 1]).mean()),
        "sw1": float(
            np.mean([sliced(ours[:, pair], theirs[:, pair]) for pair in map(list, pairs)])
        ),
        "tv": float(tv),
        "l1": float(2 * tv),
        "tv1": float(
            np.mean([variation(real[:, [a]], synthetic[:, [a]]) for a in range(len(sizes))])
        ),
    }


def downstream(train: Table, test: Table, label: Label) -> float:
    """Error in the held-out records of boosted trees that learnt on `train`."""
    others = [a for a in range(train.shape[1]) if a != label.column]
    learn, know = (
        table[:, label.column] if label.equals is None else table[:, label.column] == label.equals
        for table in (train, test)
    )
    booster = GradientBoostingRegressor if label.number else GradientBoostingClassifier
    said = booster(random_state=BOOSTER).fit(train[:, others], learn).predict(test[:, others])
    return float(np.mean((said - know) ** 2 if label.number else said != know))


def embedded(table: Table, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """The middles of the cells in the unit cube."""
    return (table + 0.5) / np.array(sizes)


def boxes(real: Table, sizes: tuple[int, ...]) -> Iterator[tuple[Table, Table, Table]]:
    """Random intervals of random columns that neither few nor nearly all real records lie in."""
    rng, found = np.random.default_rng(COUNTING), 0
    while found < QUERIES:
        columns = rng.choice(len(sizes), size=min(COLUMNS, len(sizes)), replace=False)
        ends = np.array(sizes)[columns]
        low = np.array([rng.integers(0, end) for end in ends])
        high = np.array([rng.integers(*interval) for interval in zip(low, ends, strict=True)])
        if 0.05 <= inside(real, columns, low, high).mean() <= 0.95:
            found += 1
            yield columns, low, high


def inside(table: Table, columns: Table, low: Table, high: Table) -> NDArray[np.bool_]:
    return ((low <= table[:, columns]) & (table[:, columns] <= high)).all(axis=1)


def halfspaces(ours: NDArray[np.float64]) -> Iterator[tuple[Table, NDArray[np.float64], float]]:
    """Random columns, a random direction, and a level among the real records along it."""
    rng = np.random.default_rng(THRESHOLDS)
    for _ in range(QUERIES):
        columns = rng.choice(ours.shape[1], size=min(COLUMNS, ours.shape[1]), replace=False)
        normal = rng.standard_normal(len(columns))
        normal /= np.linalg.norm(normal)
        along = ours[:, columns] @ normal
        yield columns, normal, rng.uniform(along.min(), along.max())


def relative(answers: NDArray[np.float64]) -> float:
    """Mean error of the second column relative to the mean of the first."""
    return float(np.abs(answers[:, 0] - answers[:, 1]).mean() / answers[:, 0].mean())


def variation(real: Table, synthetic: Table) -> float:
    """Total variation between the rows' distributions."""
    rows = np.concatenate([real, synthetic])
    _, which = np.unique(rows, axis=0, return_inverse=True)
    ours, theirs = (
        np.bincount(part, minlength=which.max() + 1) / len(part)
        for part in np.split(which.ravel(), [len(real)])
    )
    return float(np.abs(ours - theirs).sum() / 2)


def sliced(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """Mean 1-Wasserstein distance along random directions."""
    normals = np.random.default_rng(SLICES).standard_normal((DIRECTIONS, 2))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    (a, a_weights), (b, b_weights) = (
        np.unique(points, axis=0, return_counts=True) for points in (ours, theirs)
    )
    return float(
        np.mean([wasserstein_distance(a @ n, b @ n, a_weights, b_weights) for n in normals])
    )
