"""Quantile bins against all ways to cut small histograms, and by hand where the answer is known."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.mechanisms.geometry.projection import project_on_path
from hallmark.mechanisms.marginals.binning.quantiles import (
    MOST_CELLS,
    nearest_shares,
    quantile_starts,
)


def sizes(starts: tuple[int, ...], cells: int) -> list[int]:
    return np.diff([*starts, cells]).tolist()


def unevenness(units: np.ndarray, starts: tuple[int, ...]) -> tuple[int, int]:
    """Sums of squares of masses and of numbers of cells; what the claim orders cuts by."""
    masses = np.add.reduceat(units, starts)
    return int((masses**2).sum()), int(np.square(sizes(starts, len(units))).sum())


@settings(max_examples=200)
@given(st.lists(st.integers(0, 8), min_size=1, max_size=9), st.data())
def test_no_cut_into_as_many_bins_is_more_even(weights: list[int], data: st.DataObject) -> None:
    bins = data.draw(st.integers(1, len(weights)))
    weights[data.draw(st.integers(0, len(weights) - 1))] += 128 - sum(weights)
    units = np.array(weights)
    starts = quantile_starts(units / 128, bins)  # whole units, so that nothing is rounded
    assert len(starts) == bins
    assert starts[0] == 0
    assert all(size >= 1 for size in sizes(starts, len(units)))
    every = [(0, *cuts) for cuts in combinations(range(1, len(units)), bins - 1)]
    assert unevenness(units, starts) == min(unevenness(units, cut) for cut in every)


@pytest.mark.parametrize(
    ("shares", "starts"),
    [
        ([1 / 12] * 12, (0, 3, 6, 9)),
        ([1 / 16] * 4 + [8 / 16] + [1 / 16] * 4, (0, 2, 4, 5, 7)),
        ([1.0, 0, 0, 0, 0, 0, 0], (0, 1, 3, 5)),
        ([0.5, 0, 0.25, 0.25], (0, 1, 2, 3)),
    ],
    ids=["equal masses", "a cell that holds much", "empty cells", "as many bins as cells"],
)
def test_cuts_whose_answer_is_known(shares: list[float], starts: tuple[int, ...]) -> None:
    assert quantile_starts(np.array(shares), len(starts)) == starts


def test_quantiles_of_a_smooth_distribution_come_back() -> None:
    cells = 1000
    ends = 1 - np.exp(-np.arange(cells + 1) / 100)
    starts = quantile_starts(np.diff(ends) / ends[-1], 10)
    quantiles = -100 * np.log(1 - ends[-1] * np.arange(10) / 10)
    assert np.abs(np.array(starts) - quantiles).max() <= 1.5


def test_without_counts_bins_are_equally_wide() -> None:
    for counts in (np.zeros(8, dtype=np.int64), np.array([-5, 3, -9, 4, 0, 1, 2, -1])):
        assert quantile_starts(nearest_shares(counts), 4) == (0, 2, 4, 6)


def test_ties_are_settled_once_and_for_all() -> None:
    shares = nearest_shares(np.array([5, 5, 5, 5, 5]))
    assert len({quantile_starts(shares, 2) for _ in range(3)}) == 1
    assert sorted(sizes(quantile_starts(shares, 2), 5)) == [2, 3]


def test_the_largest_columns_are_cut_exactly() -> None:
    """The squares stay within whole numbers: all in one cell of many, and all bins alone."""
    shares = np.zeros(MOST_CELLS)
    shares[-1] = 1
    starts = quantile_starts(shares, 2)
    assert starts == (0, MOST_CELLS // 2)  # the mass is in one bin anyway: then by width
    assert quantile_starts(np.full(MOST_CELLS, 1 / MOST_CELLS), 256)[:3] == (0, 16, 32)


@pytest.mark.parametrize(("cells", "bins"), [(3, 4), (3, 0), (MOST_CELLS + 1, 2)])
def test_bins_that_cannot_be_are_refused(cells: int, bins: int) -> None:
    with pytest.raises(ValueError, match=f"{bins} bins of {cells} cells"):
        quantile_starts(np.full(cells, 1 / cells), bins)


# Shares


def test_shares_of_counts_are_their_shares() -> None:
    assert nearest_shares(np.array([1, 0, 3])).tolist() == [0.25, 0, 0.75]


def test_negative_counts_are_made_up_for_nearby() -> None:
    """What a cell lacks is taken from its neighbours, not from everywhere."""
    shares = nearest_shares(np.array([50, -10, 10, 0, 0, 0, 50]))
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    assert shares[-1] == pytest.approx(0.5)
    assert shares[0] + shares[1] + shares[2] == pytest.approx(0.5)


def test_shares_are_the_nearest_on_the_line() -> None:
    counts = np.array([3, -2, 4, 0, -1, 6])
    expected = project_on_path(np.ones(5), counts / counts.sum())
    assert nearest_shares(counts).tolist() == expected.tolist()


@pytest.mark.parametrize("counts", [[0, 0], [-3, 1], [7], [-7]])
def test_without_a_positive_sum_or_a_choice_all_cells_share_alike(counts: list[int]) -> None:
    assert nearest_shares(np.array(counts)).tolist() == [1 / len(counts)] * len(counts)
