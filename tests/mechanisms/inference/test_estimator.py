"""Estimates from few tables, summed to what is asked, against those from all tables whole."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.inference.blue import LinearQuery
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.transforms import Sums

TOTAL = 5000
ASKED = ((0,), (2,), (0, 2), (1, 3))


def table(
    columns: tuple[int, ...], shape: tuple[int, ...], groups: int | None, noise: Noise
) -> MeasuredTable:
    """Answers of pure noise about the cells of columns, or about groups of them."""
    rng = np.random.default_rng([*columns, groups or 0])
    sizes = [min(groups or shape[a], shape[a]) for a in columns]
    full = [sizes[columns.index(a)] if a in columns else 1 for a in range(len(shape))]
    cells: CellMap = marginal(columns, full)
    of = {a: (a, np.arange(shape[a]) * k // shape[a]) for a, k in zip(columns, sizes, strict=True)}
    one = np.ones(cells.size, dtype=np.int64)
    return MeasuredTable(
        cells=cells.after(of),
        sums=Sums(np.arange(cells.size), one, cells.size),
        noise=noise,
        answers=np.rint(rng.normal(scale=float(noise.variance) ** 0.5, size=cells.size)).astype(
            int
        ),
    )


def pairs(shape: tuple[int, ...], groups: int, noise: Noise) -> Estimator:
    every = list(combinations(range(len(shape)), 2))
    fine = [table(pair, shape, None, noise) for pair in every]
    coarse = [table(pair, shape, groups, noise) for pair in every]
    return Estimator((*fine, *coarse), TOTAL)


def both(estimator: Estimator, columns: tuple[int, ...], shape: tuple[int, ...]) -> list[Estimates]:
    """The estimates of some queries, and those that all tables whole give."""
    rng = np.random.default_rng(0)
    sizes = [shape[a] for a in columns]
    queries = [LinearQuery(columns, rng.normal(size=sizes)) for _ in range(3)]
    (whole, *_) = estimator._grids
    return [estimator.estimates(queries), Estimates(whole.weights(queries), TOTAL)]


@pytest.mark.parametrize("columns", ASKED)
@pytest.mark.parametrize(
    ("shape", "noise", "alike"),
    [
        ((4, 8, 6, 2), GaussianNoise(Fraction(100)), 1e-9),  # groups of as many cells
        ((5, 7, 6, 3), GaussianNoise(Fraction(100)), 2e-3),  # and of unlike sizes
        ((4, 8, 6, 2), LaplaceNoise(Fraction(10)), 1e-9),
    ],
)
def test_few_tables_say_what_all_say(
    columns: tuple[int, ...], shape: tuple[int, ...], noise: Noise, alike: float
) -> None:
    few, whole = both(pairs(shape, 2, noise), columns, shape)
    deviations = np.sqrt(np.diag(whole.covariance))
    assert np.abs(few.values - whole.values).max() < 10 * alike * deviations.max() + 1e-6
    np.testing.assert_allclose(np.sqrt(np.diag(few.covariance)), deviations, rtol=alike)
    assert (np.diag(few.covariance) > (1 - 1e-9) * np.diag(whole.covariance)).all()  # the least


def test_tables_are_summed_where_that_loses_nothing() -> None:
    few, _ = both(pairs((4, 8, 6, 2), 2, GaussianNoise(Fraction(100))), (0,), (4, 8, 6, 2))
    assert {one.columns for one in few.weights.tables} == {(0,)}
    sizes = sorted((one.cells.size, float(one.noise.variance)) for one in few.weights.tables)
    fine = [(4, 100.0 * k) for k in (2, 6, 8)]
    assert sizes == [(2, 200.0)] * 3 + fine
    laplace, _ = both(pairs((4, 8, 6, 2), 2, LaplaceNoise(Fraction(10))), (0,), (4, 8, 6, 2))
    assert all(len(one.columns) == 2 for one in laplace.weights.tables)  # sums have another law


def test_where_the_total_is_private_all_tables_tell_it() -> None:
    shape = (4, 8, 6, 2)
    known = pairs(shape, 2, GaussianNoise(Fraction(100)))
    query = LinearQuery((0,), np.ones(4))
    found = Estimator(known.tables, None).estimates([query])
    assert len(found.weights.tables) == len(known.tables)
