"""From codes to points and back, distances on the way, margins, and the ladder of grids."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.wasserstein.single_histogram.grid import grid, grids
from tests.builders.columns import line, nominal, places

MIXED = Domain(
    (
        line("age", 10, has_null=True),
        nominal("sex", 2),
        places("home", np.array([[0, 0], [1, 0], [0.2, 0.5]])),
    )
)


def every_record(domain: Domain) -> np.ndarray:
    return np.indices(domain.shape).reshape(len(domain), -1).T


@pytest.mark.parametrize("k", [1, 3, 4, 10])
def test_the_record_made_for_a_point_falls_on_it(k: int) -> None:
    coarse = grid(MIXED, k)
    points = np.arange(coarse.size)
    codes = coarse.codes(points)
    assert codes.dtype == np.int32
    assert (coarse.cells(codes) == points).all()


def test_of_all_records_of_a_point_the_nearest_is_made() -> None:
    coarse, codes = grid(MIXED, 3), every_record(MIXED)
    nearest = np.full(coarse.size, np.inf)
    np.minimum.at(nearest, coarse.cells(codes), coarse.distances_to_points(codes))
    made = coarse.distances_to_points(coarse.codes(np.arange(coarse.size)))
    assert made == pytest.approx(nearest)


def test_no_record_is_farther_from_its_point_than_the_radius() -> None:
    coarse = grid(MIXED, 4)
    distances = coarse.distances_to_points(every_record(MIXED))
    assert distances.max() == pytest.approx(coarse.radius)
    assert coarse.radius <= 1 / 8 + 1 / 20 + 1e-12  # half a cell of the grid, and half a value's


def test_margins_are_the_histograms_of_single_columns() -> None:
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, cells, 300) for cells in MIXED.shape], axis=1)
    fine = grid(MIXED, 10)
    (counts,) = count_codes(codes, [fine.cells])
    for column, cells in enumerate(MIXED.shape):
        margin = fine.one_way(column, fine.margin(column, np.stack([counts, 2 * counts])))
        own = np.bincount(codes[:, column], minlength=cells)
        assert margin == pytest.approx(np.stack([own, 2 * own]))


@pytest.mark.parametrize("k", [1, 3, 7])
def test_spreading_a_histogram_moves_no_record_farther_than_the_coarsening(k: int) -> None:
    domain = Domain((line("x", 10, has_null=True), line("y", 5, width=0.0)))
    coarse, rng = grid(domain, k), np.random.default_rng(1)
    for column, attribute in enumerate(domain.attributes):
        worst = 0.0
        for own in [*np.eye(attribute.cells), *rng.dirichlet(np.ones(attribute.cells), 20)]:
            margin = np.bincount(coarse.axes[column].table, own)
            moved = float(w1(attribute, own - coarse.one_way(column, margin)))
            assert moved <= coarse.coarsening[column] + 1e-12
            worst = max(worst, moved)
        assert worst == pytest.approx(coarse.coarsening[column])


def test_grids_get_finer_until_every_cell_is_told_apart() -> None:
    sizes = [candidate.k for candidate in grids(MIXED, most_points=10**6)]
    assert sizes == sorted(set(sizes))
    assert sizes[0] == 1
    assert sizes[-1] == 10
    assert [g.k for g in grids(Domain((nominal("c", 5),)), most_points=10)] == [1]


def test_grids_keep_to_the_most_points_they_may_have() -> None:
    domain = Domain((line("x", 1000), line("y", 1000)))
    assert max(candidate.size for candidate in grids(domain, most_points=1000)) <= 1000
    with pytest.raises(ValueError, match=r"their categories have 12 combinations, .* at most 11"):
        next(grids(Domain((nominal("a", 4), nominal("b", 3))), most_points=11))
