"""Coded tables are refused where they do not fit, and keep what they say when cells are merged."""

import re

import numpy as np
import pytest

from hallmark.mechanisms.utility.coded import by_column, centres, check, coarsen
from tests.mechanisms.utility.tables import SIZES, table


@pytest.mark.parametrize(
    ("codes", "sizes", "said"),
    [
        (np.zeros((3, 2)), (2, 2), "t: an array of float64 of shape (3, 2)"),
        (np.zeros(3, dtype=int), (2,), "of shape (3,)"),
        (np.zeros((3, 2), dtype=int), (2,), "t: 2 columns, but 1 sizes"),
        (np.zeros((3, 0), dtype=int), (), "t: 0 columns, but 0 sizes"),
        (np.zeros((1, 2), dtype=int), (2, 2), "t: too few records"),
        (np.array([[0, 0], [0, 2]]), (2, 2), "t: column 1 has a code outside 0..1"),
        (np.array([[-1, 0], [0, 0]]), (2, 2), "t: column 0 has a code outside 0..1"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    codes: np.ndarray, sizes: tuple[int, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check(codes, sizes, what="t", least=2)


def test_a_table_that_fits_passes() -> None:
    check(table(2, 0), SIZES, what="t", least=2)
    check(table(2, 0).astype(np.uint8), SIZES, what="t", least=2)


@pytest.mark.parametrize(("most", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16)])
def test_columns_are_as_narrow_as_their_codes_allow(most: int, dtype: type) -> None:
    codes = np.array([[most - 1, 0], [0, 0]])
    columns = by_column(codes, (most, 1))
    assert columns.dtype == dtype
    assert columns.tolist() == codes.T.tolist()


def test_codes_lie_at_the_centres_of_equal_cells() -> None:
    assert centres(4).tolist() == [0.125, 0.375, 0.625, 0.875]
    assert centres(1).tolist() == [0.5]


def test_few_cells_stay_as_they_are() -> None:
    codes = table(50, 1)
    merged, sizes = coarsen(codes, SIZES, nulls=[False] * len(SIZES))
    assert sizes == SIZES
    assert (merged == codes).all()


@pytest.mark.parametrize("size", [33, 64, 100, 1000])
@pytest.mark.parametrize("null", [False, True])
def test_merged_cells_are_neighbours_of_nearly_equal_number(size: int, null: bool) -> None:
    codes = np.arange(size).reshape(-1, 1)
    merged, sizes = coarsen(codes, (size,), nulls=[null])
    assert sizes == (32,)
    values = merged[: size - null, 0]
    assert (np.diff(values.astype(int)) >= 0).all()
    held = np.bincount(values, minlength=32 - null)[: 32 - null]
    assert held.max() - held.min() <= 1
    if null:
        assert np.flatnonzero(merged[:, 0] == 31).tolist() == [size - 1]


def test_two_cells_are_the_fewest_to_merge_into() -> None:
    assert coarsen(np.array([[9], [3]]), (10,), nulls=[True], most=2)[0].tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="keep 2 at least"):
        coarsen(np.array([[0]]), (10,), nulls=[False], most=1)
