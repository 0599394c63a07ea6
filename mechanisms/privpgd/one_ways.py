"""One-way marginals as a linear function of the noisy tables, and the exact law of their error.

Claim.   `combine` is unbiased. Being linear, it commutes with adding noise: its error on the real
         tables has the law of `simulate_errors`, whatever the data.
Method.  For an attribute a, every pair (a, b) gives one estimate, the sum over b, of variance
         k_b sigma^2 per cell: take their inverse-variance mean. Then spread evenly over the cells
         what is missing to the total, so that all attributes agree on it.
Oracle.  tests/mechanisms/privpgd/test_one_ways.py takes the matrix of the map and its covariance.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Clique = tuple[int, ...]
Floats = NDArray[np.float64]
Sampler = Callable[[np.random.Generator, Fraction, tuple[int, ...]], NDArray[np.int64]]

_BATCH = 1 << 21  # noisy entries held at once by one thread
_THREADS = 2  # the draws are made outside the interpreter's lock
SIMULATION_BYTES = 3 * 8 * _THREADS * _BATCH  # uniforms, draws and their margins


@dataclass(frozen=True, eq=False)
class Margins:
    """Row and column sums of one clique's table, over leading axes of any shape.

    A clique of one attribute is a table of one column.
    """

    clique: Clique
    rows: Floats  # (..., k_a)
    columns: Floats  # (..., k_b)


def margins(clique: Clique, shape: Sequence[int], tables: NDArray[np.int64]) -> Margins:
    """Margins of `tables`, shape (..., cells) in C order over the clique's attributes."""
    sizes = [shape[a] for a in clique]
    squares = tables.reshape(*tables.shape[:-1], sizes[0], -1)
    return Margins(clique, squares.sum(axis=-1, dtype=np.float64), squares.sum(axis=-2) * 1.0)


def combine(
    shape: Sequence[int], every: Iterable[Margins], *, total: float | None
) -> tuple[tuple[Floats, ...], Floats]:
    """Estimated counts of every attribute, shapes (..., k_a), and their common total (...).

    Args:
        every: margins of all cliques; every attribute lies in one at least, of the same noise.
        total: number of records where it is public; else the inverse-variance mean of the tables'
            sums is taken.
    """
    sums: list[Floats | float] = [0.0] * len(shape)
    weights = [0.0] * len(shape)
    records: Floats | float = 0.0
    precision = 0.0
    for margin in every:
        a, *rest = margin.clique
        k_a, k_b = margin.rows.shape[-1], margin.columns.shape[-1]
        sums[a] += margin.rows / k_b
        weights[a] += 1 / k_b
        for b in rest:
            sums[b] += margin.columns / k_a
            weights[b] += 1 / k_a
        records += margin.rows.sum(axis=-1) / (k_a * k_b)
        precision += 1 / (k_a * k_b)
    agreed = np.asarray(records / precision)
    if total is not None:
        agreed = np.full_like(agreed, total)
    counts = [np.asarray(s / w) for s, w in zip(sums, weights, strict=True)]
    return (
        tuple(c + ((agreed - c.sum(axis=-1)) / c.shape[-1])[..., None] for c in counts),
        agreed,
    )


def gaussian_margins(
    clique: Clique, shape: Sequence[int], sigma: float, draws: int, rng: np.random.Generator
) -> Margins:
    """Margins of `draws` tables of continuous Gaussian noise, without drawing the tables.

    Given the table's sum, deviations of row sums and of column sums are independent. For
    forecasts: the released noise is discrete, and `simulate_errors` draws it as it is.
    """
    rows = shape[clique[0]]
    columns = int(np.prod([shape[a] for a in clique[1:]]))
    total = rng.normal(scale=sigma * np.sqrt(rows * columns), size=(draws, 1))

    def spread(parts: int, others: int) -> Floats:
        free = rng.normal(scale=sigma * np.sqrt(others), size=(draws, parts))
        return np.asarray(total / parts + free - free.mean(axis=1, keepdims=True))

    return Margins(clique, spread(rows, columns), spread(columns, rows))


def simulate_errors(
    shape: Sequence[int],
    cliques: Sequence[Clique],
    sampler: Sampler,
    sigma2: Fraction,
    *,
    total_is_public: bool,
    draws: int,
    rng: np.random.Generator,
) -> tuple[tuple[Floats, ...], Floats]:
    """`combine` of fresh pure noise: errors of shapes (draws, k_a), and the total's, (draws,).

    Rows and columns of one table share its entries, so whole tables are drawn, and their margins
    are taken batch by batch. Every clique has a stream of its own, so threads change nothing.
    """

    def noise(clique: Clique, source: np.random.Generator) -> Margins:
        cells = int(np.prod([shape[a] for a in clique]))
        step = max(1, _BATCH // cells)
        parts = [
            margins(clique, shape, sampler(source, sigma2, (min(step, draws - start), cells)))
            for start in range(0, draws, step)
        ]
        return Margins(
            clique,
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.columns for part in parts]),
        )

    with ThreadPoolExecutor(_THREADS) as pool:
        every = pool.map(noise, cliques, rng.spawn(len(cliques)))
        return combine(shape, every, total=0.0 if total_is_public else None)
