"""One-way marginals as a linear function of the noisy tables, and the exact law of their error.

Claim.   `combine` is unbiased. Being linear, it commutes with adding noise: its error on the real
         tables has the law of `simulate_errors`, whatever the data.
Method.  For an attribute a, every table that holds it gives one estimate, its margin, of variance
         sigma^2 cells / k_a per cell: take their inverse-variance mean. Tables of groups give the
         sums of the attribute's groups: take the inverse-variance mean of these and of the groups'
         sums of cells, and let the cells of a group share what that changes. Then spread evenly
         over the cells what is missing to the total, so that all attributes agree on it.
Oracle.  tests/mechanisms/marginals/test_single_columns.py takes the matrix of the map and its
         covariance.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.marginals.cell_groups import joined
from hallmark.mechanisms.marginals.selection.design import Asked

Sampler = Callable[[np.random.Generator, Fraction, tuple[int, ...]], NDArray[np.int64]]

_RANKED = (999, 599, 399, 199)  # draws
_AFFORDABLE = 400_000_000  # entries, of which a core draws 60 million a second
_BATCH = 1 << 21  # noisy entries held at once by one thread
_THREADS = 2  # the draws are made outside the interpreter's lock
SIMULATION_BYTES = 3 * 8 * _THREADS * _BATCH  # uniforms, draws and their margins


@dataclass(frozen=True, eq=False)
class Margins:
    """One-way margins of one table with white noise, over leading axes of any shape.

    Attributes:
        sums: for every attribute of the clique, shape (..., k_a), or (..., its groups).
        variance: of the noise in one cell of the table, records^2.
    """

    clique: Clique
    sums: tuple[Floats, ...]
    variance: float


def margins(asked: Asked, shape: Sequence[int], tables: NDArray[np.int64]) -> Margins:
    """Margins of `tables`, shape (..., cells) in C order over the clique's attributes."""
    sizes = asked.sizes(shape)
    leading = tables.ndim - 1
    full = tables.reshape(*tables.shape[:-1], *sizes)
    sums = tuple(
        full.sum(
            axis=tuple(leading + other for other in range(len(sizes)) if other != position),
            dtype=np.float64,
        )
        for position in range(len(sizes))
    )
    return Margins(asked.clique, sums, float(asked.sigma2))


def combine(
    shape: Sequence[int], every: Iterable[Margins], *, total: float | None
) -> tuple[tuple[Floats, ...], Floats]:
    """Estimated counts of every attribute, shapes (..., k_a), and their common total (...).

    Args:
        every: margins of all tables; every attribute lies in one of cells at least.
        total: number of records where it is public; else the inverse-variance mean of the tables'
            sums is taken.
    """
    fine, coarse = ([_Mean() for _ in shape] for _ in range(2))
    records = _Mean()
    for margin in every:
        variance = margin.variance * prod(own.shape[-1] for own in margin.sums)  # of the sum
        for a, own in zip(margin.clique, margin.sums, strict=True):
            known = fine if own.shape[-1] == shape[a] else coarse
            known[a].add(own, own.shape[-1] / variance)
        records.add(margin.sums[0].sum(axis=-1), 1 / variance)
    agreed = np.asarray(records.value)
    if total is not None:
        agreed = np.full_like(agreed, total)
    counts = [_regrouped(*both) for both in zip(fine, coarse, strict=True)]
    return (
        tuple(c + ((agreed - c.sum(axis=-1)) / c.shape[-1])[..., None] for c in counts),
        agreed,
    )


class _Mean:
    """A mean weighted by inverse variances."""

    def __init__(self) -> None:
        self.weighted: Floats | float = 0.0
        self.precision = 0.0

    def add(self, value: Floats, precision: float) -> None:
        self.weighted += value * precision
        self.precision += precision

    @property
    def value(self) -> Floats:
        return np.asarray(self.weighted / self.precision)


def _regrouped(fine: _Mean, coarse: _Mean) -> Floats:
    """Cells (..., k_a) whose groups have the sums that both means tell."""
    if not coarse.precision:
        return fine.value
    sums, sizes = coarse.value, coarse.value.shape[-1:]
    return joined(fine.value, 1 / fine.precision, sums, 1 / coarse.precision, sizes)


def gaussian_margins(
    asked: Asked, shape: Sequence[int], draws: int, rng: np.random.Generator
) -> Margins:
    """Margins of `draws` tables of continuous Gaussian noise, without drawing the tables.

    Given the table's sum, what the margins of its attributes stray from evenness are independent.
    For forecasts: the released noise is discrete, and `simulate_errors` draws it as it is.
    """
    sizes, sigma = asked.sizes(shape), float(asked.sigma2) ** 0.5
    size = prod(sizes)
    total = rng.normal(scale=sigma * np.sqrt(size), size=(draws, 1))

    def spread(k: int) -> Floats:
        free = rng.normal(scale=sigma * np.sqrt(size / k), size=(draws, k))
        return np.asarray(total / k + free - free.mean(axis=1, keepdims=True))

    return Margins(asked.clique, tuple(spread(k) for k in sizes), sigma**2)


def affordable_draws(shape: Sequence[int], every: Sequence[Asked]) -> int:
    """How often `simulate_errors` of these tables may be drawn before it takes longer than a fit.

    Ranks of so many draws are whole numbers at the usual confidences, so that bounds from fewer are
    no wider on average, and only stray more.
    """
    entries = sum(prod(asked.sizes(shape)) for asked in every)
    return next((n for n in _RANKED[:-1] if n * entries <= _AFFORDABLE), _RANKED[-1])


def simulate_errors(
    shape: Sequence[int],
    every: Sequence[Asked],
    sampler: Sampler,
    *,
    total_is_public: bool,
    draws: int,
    rng: np.random.Generator,
) -> tuple[tuple[Floats, ...], Floats]:
    """`combine` of fresh pure noise: errors of shapes (draws, k_a), and the total's, (draws,).

    Margins of one table share its entries, so whole tables are drawn, and their margins are taken
    batch by batch. Every table has a stream of its own, so threads change nothing.
    """

    def noise(asked: Asked, source: np.random.Generator) -> Margins:
        size = prod(asked.sizes(shape))
        step = max(1, _BATCH // size)
        parts = [
            margins(asked, shape, sampler(source, asked.sigma2, (min(step, draws - start), size)))
            for start in range(0, draws, step)
        ]
        sums = zip(*(part.sums for part in parts), strict=True)
        return Margins(
            asked.clique, tuple(np.concatenate(own) for own in sums), float(asked.sigma2)
        )

    with ThreadPoolExecutor(_THREADS) as pool:
        drawn = pool.map(noise, every, rng.spawn(len(every)))
        return combine(shape, drawn, total=0.0 if total_is_public else None)
