"""One-way histograms from a family's tables: true ones, nulls, coarsened lines."""

import numpy as np
import pytest

from hallmark.mechanisms.blocks.consistency import Consistency
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import marginals, over, whole
from hallmark.mechanisms.blocks.single_columns import SingleColumns, coarsening
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.grids import axis
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.codes import random_codes
from tests.builders.columns import line, nominal, places

MIXED = Domain(
    (
        line("age", 9, has_null=True),
        nominal("sex", 3, has_null=True),
        line("steps", 4, width=0.0),
        places("home", np.array([[0, 0], [1, 0], [0.2, 0.5]]), has_null=True),
    )
)
COLUMN_SETS = {
    "singles": [(0,), (1,), (2,), (3,)],
    "pairs": [(0, 1), (1, 2), (2, 3)],
    "other orders": [(2, 0), (1, 0), (3, 2, 1)],
    "not all": [(2,), (0, 2)],
}


def true_tables(family: Family, codes: np.ndarray) -> list[np.ndarray]:
    counts = count_codes(codes, [block.cells for block in family.blocks])
    return [table.astype(float) for table in counts]


def spread_by_hand(column: int, k: int, codes: np.ndarray) -> np.ndarray:
    """A column's histogram with each record shared among all codes of its grid cell."""
    attribute = MIXED.attributes[column]
    if column in (0, 2):  # lines
        steps = attribute.positions * k
        exact = not attribute.widths.any() and np.allclose(steps, np.rint(steps))
        cells = np.rint(steps) if exact else np.minimum(np.floor(steps), k - 1)
        groups = [*cells.tolist(), *["null"] * attribute.has_null]
    else:
        groups = list(range(attribute.cells))
    found = np.zeros(attribute.cells)
    for code in codes[:, column]:
        alike = [other for other, group in enumerate(groups) if group == groups[code]]
        found[alike] += 1 / len(alike)
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9, 36])
@pytest.mark.parametrize("name", COLUMN_SETS)
def test_on_coarser_lines_records_are_spread_over_the_codes_of_their_point(name, k) -> None:
    family, codes = over(MIXED, COLUMN_SETS[name], k), random_codes(MIXED.shape, 400, 31)
    single_columns = SingleColumns(family)
    found = single_columns(true_tables(family, codes))
    for column, histogram in zip(single_columns.columns, found, strict=True):
        assert histogram == pytest.approx(spread_by_hand(column, k, codes))
    assert single_columns.columns == tuple(sorted(set().union(*COLUMN_SETS[name])))
    if k == 36:  # as fine as the columns
        assert single_columns.coarsening == (0.0,) * len(single_columns.columns)


def test_they_are_linear_and_keep_the_axes_of_a_batch() -> None:
    family, rng = marginals(MIXED, 2, 3), np.random.default_rng(32)
    single_columns = SingleColumns(family)
    tables = [rng.normal(size=(3, 2, block.space.size)) for block in family.blocks]
    found = single_columns(tables)
    assert [len(histogram.shape) for histogram in found] == [3] * len(MIXED)
    for position in np.ndindex(3, 2):
        alone = single_columns([table[position] for table in tables])
        for own, of_batch in zip(alone, found, strict=True):
            assert of_batch[position] == pytest.approx(own, abs=1e-12)
    summed = single_columns([table.sum(axis=(0, 1)) for table in tables])
    for own, of_batch in zip(summed, found, strict=True):
        assert of_batch.sum(axis=(0, 1)) == pytest.approx(own, abs=1e-12)


def test_of_consistent_tables_it_does_not_matter_which_block_is_asked() -> None:
    one = over(MIXED, [(0, 1), (1, 2), (2, 0)], 3)
    other = Family(domain=MIXED, blocks=one.blocks[::-1])
    rng = np.random.default_rng(33)
    tables = Consistency(one)([rng.normal(size=block.space.size) for block in one.blocks])
    found, turned = SingleColumns(one)(tables), SingleColumns(other)(tables[::-1])
    for histogram, expected in zip(found, turned, strict=True):
        assert histogram == pytest.approx(expected, abs=1e-12)


def test_the_first_block_that_holds_a_column_is_asked() -> None:
    family = over(MIXED, [(0, 1), (1, 2)], 3)
    tables = [np.zeros(block.space.size) for block in family.blocks]
    tables[1][:] = 1.0
    age, sex, steps = SingleColumns(family)(tables)
    assert not age.any()
    assert not sex.any()
    assert steps.sum() == family.blocks[1].space.size


def worst_move(table: np.ndarray, positions: np.ndarray, cells: int) -> float:
    """Over all codes, the mean distance from a code to the codes of its point."""
    worst = 0.0
    for code in range(cells):
        alike = np.flatnonzero(table == table[code])
        if len(alike) > 1:
            worst = max(worst, float(np.mean(np.abs(positions[alike] - positions[code]))))
    return worst


@pytest.mark.parametrize("has_null", [False, True])
@pytest.mark.parametrize("levels", [1, 2, 7, 30])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 30])
def test_the_coarsening_is_the_worst_mean_distance_to_the_codes_of_a_point(
    k, levels, has_null
) -> None:
    rng = np.random.default_rng(levels)
    attribute = line("x", levels, has_null=has_null)
    for positions in (attribute.positions, np.sort(rng.random(levels)), np.repeat(0.5, levels)):
        cells = np.minimum((positions * k).astype(int), k - 1)
        points = np.unique(cells, return_inverse=True)[1]
        if has_null:
            points = np.append(points, points.max() + 1)
        expected = worst_move(points, positions, len(points))
        assert coarsening(points, positions) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_no_histogram_moves_farther_than_the_coarsening_and_some_as_far(k) -> None:
    rng = np.random.default_rng(34)
    pairs = zip(MIXED.attributes, SingleColumns(whole(MIXED, k)).coarsening, strict=True)
    for column, (attribute, allowed) in enumerate(pairs):
        worst = 0.0
        own = SingleColumns(over(MIXED, [(column,)], k))
        assert own.coarsening == (allowed,)
        table = axis(attribute, k).table
        for shares in [*np.eye(attribute.cells), *rng.dirichlet(np.ones(attribute.cells), 20)]:
            (spread,) = own([np.bincount(table, shares)])
            moved = float(w1(attribute, shares - spread))
            assert moved <= allowed + 1e-12
            worst = max(worst, moved)
        assert worst == pytest.approx(allowed, abs=1e-12)


def test_categories_and_places_are_never_coarsened() -> None:
    age, sex, steps, home = SingleColumns(marginals(MIXED, 2, 1)).coarsening
    assert sex == home == 0
    assert min(age, steps) > 0


def test_merged_columns_are_those_of_which_codes_share_a_point() -> None:
    assert SingleColumns(marginals(MIXED, 2, 2)).merged == (0, 2)
    assert SingleColumns(marginals(MIXED, 2, 4)).merged == (0,)
    assert SingleColumns(marginals(MIXED, 2, 9)).merged == ()


@pytest.mark.parametrize("k", [1, 3, 9])
def test_values_at_most_those_of_a_point_sum_to_no_less_over_the_spread_histogram(k) -> None:
    family, codes = marginals(MIXED, 2, k), random_codes(MIXED.shape, 400, 31)
    single_columns, rng = SingleColumns(family), np.random.default_rng(35)
    histograms = single_columns(true_tables(family, codes))
    for column, histogram in zip(single_columns.columns, histograms, strict=True):
        values = rng.normal(size=MIXED.shape[column])
        largest = single_columns.at_most(column, values)
        assert (largest >= values).all()
        assert set(largest) <= set(values)
        assert histogram @ largest >= values[codes[:, column]].sum() - 1e-9
        if column not in single_columns.merged:
            assert (largest == values).all()
