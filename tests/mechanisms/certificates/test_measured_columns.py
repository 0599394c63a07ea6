"""Columns measured by themselves beside the marginals: estimates, and the law of their errors."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.blocks.estimate import FamilyEstimate
from hallmark.mechanisms.blocks.marginals import at_their_cells, over
from hallmark.mechanisms.blocks.single_columns import SingleColumns
from hallmark.mechanisms.certificates import measured_columns as module
from hallmark.mechanisms.certificates.measured_columns import MeasuredColumns
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.codes import random_codes
from tests.builders.releases import REPLACE, WITH_PERSONS
from tests.mechanisms.certificates.test_distances import (
    DOMAIN,
    PAIRS,
    columns_of,
    made,
)


def true_tables(family, codes) -> tuple[np.ndarray, ...]:
    counts = count_codes(codes, [block.cells for block in family.blocks])
    return tuple(table.astype(float) for table in counts)


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_columns_measured_apart_have_their_own_histograms(adjacency) -> None:
    columns, codes = columns_of(adjacency, apart=(0,)), random_codes(DOMAIN.shape, 150, 21)
    estimate = columns.estimate(
        FamilyEstimate(tables=true_tables(PAIRS, codes), total=np.array(150.0)),
        FamilyEstimate(tables=true_tables(columns.own.family, codes), total=np.array(140.0)),
    )
    assert estimate.total == 150.0
    assert estimate.counts[0] == pytest.approx(np.bincount(codes[:, 0], minlength=7))
    assert estimate.counts[1] == pytest.approx(np.bincount(codes[:, 1], minlength=3))
    assert estimate.coarsening[:2] == (0.0, 0.0)
    assert estimate.coarsening[2] > 0
    assert columns.merged == (2,)
    assert columns.apart == {0: 0}


def test_without_columns_apart_all_come_from_the_marginals() -> None:
    columns, codes = columns_of(REPLACE, apart=()), random_codes(DOMAIN.shape, 150, 22)
    tables = true_tables(PAIRS, codes)
    estimate = columns.estimate(FamilyEstimate(tables=tables, total=np.array(150.0)), None)
    single_columns = SingleColumns(PAIRS)
    for found, expected in zip(estimate.counts, single_columns(tables), strict=True):
        assert found == pytest.approx(expected)
    assert estimate.coarsening == single_columns.coarsening
    assert (columns.merged, columns.apart) == ((0, 2), {})


@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_errors_have_the_law_of_either_noise(adjacency) -> None:
    """Variances of independent sums of Laplace noise, each within six standard deviations."""
    family = over(DOMAIN, [(0, 1)], 20)
    columns = MeasuredColumns(
        made(family, adjacency, Fraction(3)),
        made(at_their_cells(DOMAIN, (0,)), adjacency, Fraction(10)),
    )
    batches = list(columns.errors(4000, np.random.default_rng(23)))
    own, flag = (np.concatenate([batch.counts[i] for batch in batches]) for i in (0, 1))
    total = np.concatenate([batch.total for batch in batches])
    assert own.shape == (4000, 7)
    per_cell, cells = 2 * 3.0**2, family.cells
    centred = 6 / 7 if adjacency.total_is_public else 1.0
    margin = cells / 3 * per_cell * (2 / 3 if adjacency.total_is_public else 1.0)
    assert own.var(axis=0) == pytest.approx(2 * 10.0**2 * centred, rel=0.2)
    assert flag.var(axis=0) == pytest.approx(margin, rel=0.2)
    assert total.var() == pytest.approx(
        0.0 if adjacency.total_is_public else cells * per_cell, rel=0.2
    )
    assert abs(np.corrcoef(own[:, 0], flag[:, 0])[0, 1]) < 6 / 4000**0.5


def test_errors_come_in_batches_that_fit_into_memory(monkeypatch) -> None:
    columns = columns_of(REPLACE)
    cells = PAIRS.cells + columns.own.family.cells
    monkeypatch.setattr(module, "BATCH", 4 * cells)
    sizes = [len(batch.total) for batch in columns.errors(11, np.random.default_rng(24))]
    assert sizes == [4, 4, 3]
