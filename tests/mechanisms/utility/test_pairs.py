"""Total variation and sliced W1 of pairs, in closed form, by brute force, and by scipy."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.utility import sliced_pairs
from hallmark.mechanisms.utility.coded import by_column, centres
from hallmark.mechanisms.utility.pairs import (
    mean_one_way_variation,
    mean_total_variation,
    pair_differences,
)
from hallmark.mechanisms.utility.sliced_pairs import directions, mean_sliced_w1, sliced_w1_of_pair
from tests.mechanisms.utility.tables import SIZES, Table, table


def columns(codes: Table, sizes: tuple[int, ...] = SIZES) -> np.ndarray:
    return by_column(codes, sizes)


def test_disjoint_tables_have_total_variation_one() -> None:
    sizes = (4, 4, 4)
    low, high = np.zeros((5, 3), dtype=int), np.full((7, 3), 3)
    assert mean_total_variation(columns(low, sizes), columns(high, sizes), sizes) == 1.0
    assert mean_one_way_variation(columns(low, sizes), columns(high, sizes), sizes) == 1.0


def test_total_variation_is_half_the_l1_distance_of_counts() -> None:
    real, synthetic = table(200, 1), table(150, 3)
    slow = []
    for a, b in combinations(range(len(SIZES)), 2):
        p, q = (Counter((r[a], r[b]) for r in t.tolist()) for t in (real, synthetic))
        slow.append(sum(abs(p[cell] / 200 - q[cell] / 150) for cell in {*p, *q}) / 2)
    found = mean_total_variation(columns(real), columns(synthetic), SIZES)
    assert found == pytest.approx(np.mean(slow))


def test_single_columns_are_compared_likewise() -> None:
    real, synthetic = table(200, 1), table(150, 3)
    slow = []
    for a in range(len(SIZES)):
        p, q = (Counter(t[:, a].tolist()) for t in (real, synthetic))
        slow.append(sum(abs(p[cell] / 200 - q[cell] / 150) for cell in {*p, *q}) / 2)
    found = mean_one_way_variation(columns(real), columns(synthetic), SIZES)
    assert found == pytest.approx(np.mean(slow))


def test_two_diracs_are_apart_by_their_distance_seen_along_the_directions() -> None:
    sizes = (10, 8)
    one, other = columns(np.array([[1, 2]]), sizes), columns(np.array([[7, 6]]), sizes)
    step = np.array([6 / 10, 4 / 8])
    expected = np.abs(directions() @ step).mean()
    assert mean_sliced_w1(one, other, sizes) == pytest.approx(expected)
    # Of all directions the mean |cos| is 2/pi; of 100, its standard error is .031 of the distance.
    assert expected / np.linalg.norm(step) == pytest.approx(2 / np.pi, abs=5 * 0.031)


@pytest.mark.parametrize("block", [1, 300, 1 << 17])
def test_sliced_w1_is_the_mean_of_exact_distances_on_lines(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sliced_pairs, "_BLOCK", block)
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(35)), rng.dirichlet(np.full(35, 0.1))
    grid = np.array([(x, y) for x in centres(5) for y in centres(7)])
    exact = [wasserstein_distance(grid @ u, grid @ u, p, q) for u in directions()]
    assert sliced_w1_of_pair(p - q, (5, 7)) == pytest.approx(np.mean(exact))


def test_the_mean_is_over_all_pairs_whatever_their_order() -> None:
    real, synthetic = table(200, 1), table(150, 3)
    each = [
        mean_sliced_w1(
            columns(real[:, [a, b]], (SIZES[a], SIZES[b])),
            columns(synthetic[:, [a, b]], (SIZES[a], SIZES[b])),
            (SIZES[a], SIZES[b]),
        )
        for a, b in combinations(range(len(SIZES)), 2)
    ]
    whole = mean_sliced_w1(columns(real), columns(synthetic), SIZES)
    assert whole == pytest.approx(np.mean([value for value in each if value is not None]))


def test_a_single_column_has_no_pair() -> None:
    one = columns(np.array([[0], [1]]), (2,))
    assert mean_total_variation(one, one, (2,)) is None
    assert mean_sliced_w1(one, one, (2,)) is None


def test_equal_tables_are_at_distance_zero() -> None:
    real = columns(table(100, 1))
    assert mean_total_variation(real, real[:, ::-1], SIZES) == 0
    assert mean_sliced_w1(real, real[:, ::-1], SIZES) == 0


def test_pairs_of_too_many_cells_are_refused_before_they_are_counted() -> None:
    sizes = (70_000, 80_000)
    wide = columns(np.zeros((2, 2), dtype=int), sizes)
    with pytest.raises(ValueError, match=r"5600000000 cells together.*coarsen"):
        list(pair_differences(wide, wide, sizes))
