"""Best linear unbiased estimates against generalised least squares with dense matrices."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.inference.blue import Blue, LinearQuery, NotMeasured
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.marginals.cell_groups import group_of
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import (
    HISTOGRAM,
    BlockSums,
    LevelDifferences,
    LevelSums,
    Total,
)

SHAPE = (3, 4, 2)


def table(columns, sigma2=4, *, groups=None, transform=HISTOGRAM, noise=None):
    """A table over columns, in cells or in so many groups of each."""
    cells = marginal(columns, SHAPE)
    if groups:
        coarse = [min(groups, k) if a in columns else k for a, k in enumerate(SHAPE)]
        merged = {a: (a, group_of(SHAPE[a], coarse[a])) for a in columns}
        cells = marginal(columns, coarse).after(merged)
    sums = transform.sums(cells.size)
    return MeasuredTable(
        cells=cells,
        sums=sums,
        noise=noise or GaussianNoise(Fraction(sigma2)),
        answers=np.zeros(sums.entries, dtype=np.int64),
    )


DESIGNS = {
    "one table": [table((0, 1, 2))],
    "pairs": [table((0, 1), 4), table((0, 2), 9), table((1, 2), 1)],
    "pairs and columns": [table((0, 1), 4), table((1,), 2), table((2,), 3), table((1, 2), 7)],
    "reversed": [table((1, 0), 4), table((2, 1), 9), table((0, 2), 3)],
    "unequal groups": [table((0, 1), 4), table((0, 1), 1, groups=2), table((1, 2), 9)],
    "only groups": [table((0, 1), 4, groups=2), table((1,), 2), table((0,), 3), table((2,), 1)],
    "haar": [
        table((0, 1, 2), transform=LevelDifferences(0), noise=LaplaceNoise(Fraction(3))),
        table((0, 1, 2), transform=LevelDifferences(1), noise=LaplaceNoise(Fraction(2))),
        table((0, 1, 2), transform=LevelDifferences(2), noise=LaplaceNoise(Fraction(1))),
        table((0, 1, 2), transform=BlockSums(np.arange(24) // 8, 3)),
    ],
    "levels": [table((0, 1, 2), transform=LevelSums(h), sigma2=1 + h) for h in (0, 1, 2, 3)],
    "total": [table((0, 1), 4), table((1, 2), 5), table((0,), 1, transform=Total())],
}


def spread(values, columns):
    """A function of columns as one of all codes, in C order."""
    shape = [SHAPE[a] if a in columns else 1 for a in range(len(SHAPE))]
    return np.broadcast_to(values.reshape(shape), SHAPE).ravel()


def dense(one):
    """Weights of all combinations of codes in every answer of a table."""
    codes = np.stack([grid.ravel() for grid in np.indices(SHAPE)], axis=1)
    matrix = np.zeros((one.sums.entries, len(codes)))
    for combination, cell in enumerate(one.cells(codes)):
        if one.sums.entry[cell] >= 0:
            matrix[one.sums.entry[cell], combination] += one.sums.weight[cell]
    return matrix


def gls_variance(tables, query, *, total_is_public):
    """Variance of the best linear unbiased estimate; None if there is none."""
    matrix = np.concatenate([dense(one) / one.sigma for one in tables])
    if total_is_public:  # the total is one more answer, without noise
        centre = np.eye(matrix.shape[1]) - 1 / matrix.shape[1]
        matrix, query = matrix @ centre, centre @ query
    weights, *_ = np.linalg.lstsq(matrix.T, query, rcond=None)
    if not np.allclose(matrix.T @ weights, query):
        return None
    return float(weights @ weights)


QUERIES = [
    LinearQuery((), np.ones(())),
    LinearQuery((0,), np.array([1.0, 0, 0])),
    LinearQuery((1,), np.array([18.0, 30, 50, 70])),
    LinearQuery((0, 1), np.outer([0, 1.0, 1], [1.0, 0, 0, 1])),
    LinearQuery((0, 2), np.array([[1.0, -1], [-1, 1], [0, 0]])),
    LinearQuery((0, 1, 2), np.arange(24.0).reshape(3, 4, 2) ** 2),
]


@pytest.mark.parametrize("total_is_public", [False, True])
@pytest.mark.parametrize("design", DESIGNS)
def test_weights_are_unbiased_and_of_least_variance(design, total_is_public):
    tables = DESIGNS[design]
    blue = Blue(tables, total_is_public=total_is_public)
    for query in QUERIES:
        wanted = spread(query.values, query.columns)
        least = gls_variance(tables, wanted, total_is_public=total_is_public)
        if least is None:
            with pytest.raises(NotMeasured):
                blue.weights([query])
            continue
        weights = blue.weights([query])
        got = weights.constant[0] + sum(
            dense(one).T @ w[:, 0] for one, w in zip(weights.tables, weights.by_table, strict=True)
        )
        assert got == pytest.approx(wanted, abs=1e-8 * np.abs(wanted).max())
        variance = sum(
            one.sigma**2 * float(w[:, 0] @ w[:, 0])
            for one, w in zip(weights.tables, weights.by_table, strict=True)
        )
        assert variance == pytest.approx(least, rel=1e-9, abs=1e-12)


def test_a_constant_beside_a_query_costs_nothing_although_it_is_computed_with_rounding():
    """As the last piece of a quantile: the share of all records, less the probability."""
    blue = Blue([table((0, 1), 4)], total_is_public=True)
    varying = LinearQuery((1,), np.array([1, 0, 0, 0]) - 0.9)
    constant = LinearQuery((1,), np.ones(4) - np.full(4, 0.9))
    weights = blue.weights([varying, constant])
    assert weights.constant[1] == pytest.approx(0.1)
    assert all(not w[:, 1].any() for w in weights.by_table)
    assert weights.by_table[0][:, 0].any()


def test_tables_that_count_the_same_share_out_what_their_best_mean_would_weigh():
    alike = [table((0, 1), sigma2) for sigma2 in (4, 9, 1)]
    other = table((1, 2), 2)
    # The precisions 1/4, 1/9 and 1 of the three add up to 49/36.
    merged = Blue([table((0, 1), Fraction(36, 49)), other], total_is_public=True)
    apart = Blue([alike[0], other, *alike[1:]], total_is_public=True)
    expected, found = merged.weights(QUERIES[2:4]), apart.weights(QUERIES[2:4])
    assert found.tables == (*alike, other)
    whole, beside = expected.by_table
    for one, share in zip(found.by_table, (9, 4, 36), strict=False):
        assert one == pytest.approx(whole * share / 49, abs=1e-12)
    assert found.by_table[3] == pytest.approx(beside, abs=1e-12)
    assert found.constant == pytest.approx(expected.constant, abs=1e-12)


def test_tables_of_the_same_cells_that_add_up_others_do_not_count_the_same():
    levels = [table((0, 1, 2), transform=LevelSums(h), sigma2=1) for h in (0, 1)]
    weights = Blue(levels, total_is_public=False).weights([QUERIES[0]])
    assert [w.shape[0] for w in weights.by_table] == [one.sums.entries for one in levels]
