"""Rounding a distribution to records along a path."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.paths import snake
from hallmark.mechanisms.wasserstein.single_histogram.records import (
    public_records,
    records_along,
    refuse_no_rows,
)
from tests.builders.columns import line, nominal


@pytest.mark.parametrize("rows", [1, 7, 100, 9999])
def test_records_lie_within_the_path_over_twice_the_rows(rows: int) -> None:
    rng = np.random.default_rng(rows)
    positions = np.sort(rng.random(50))
    for masses in (rng.dirichlet(np.full(50, 0.1)), np.full(50, 1 / 50), np.eye(50)[17]):
        points = records_along(np.arange(50), masses, rows)
        assert len(points) == rows
        distance = wasserstein_distance(positions[points], positions, v_weights=masses)
        assert distance <= (positions[-1] - positions[0]) / (2 * rows) + 1e-12


def test_rounding_every_weight_down_instead_does_worse() -> None:
    """Corollary 7.3 of the paper puts on the first point what rounding down leaves over."""
    masses, rows = np.full(200, 1 / 200), 150
    positions = np.arange(200) / 199
    along = positions[records_along(np.arange(200), masses, rows)]
    down = np.zeros(rows)  # 150 / 200 rounds down to no record on any point
    ours, theirs = (wasserstein_distance(made, positions) for made in (along, down))
    assert ours <= 1 / (2 * rows)
    assert theirs > 100 * ours


def test_whole_records_come_back_as_they_were() -> None:
    counts = np.array([0, 3, 0, 5, 2, 0])
    order = np.array([5, 3, 1, 0, 2, 4])
    points = records_along(order, counts / 7.0, 10)
    assert (np.bincount(points, minlength=6) == counts).all()


def test_no_record_is_put_where_there_is_no_mass() -> None:
    rng = np.random.default_rng(3)
    masses = rng.random(64) * (rng.random(64) < 0.3)
    points = records_along(snake((8, 8)), masses, 1000)
    assert (masses[points] > 0).all()


def test_the_public_record_is_the_middle_of_every_column() -> None:
    made = public_records(Domain((line("x", 9, has_null=True), nominal("c", 4))), 3, {"n": 0})
    assert made.codes.tolist() == [[4, 2]] * 3
    assert made.history == {"n": 0}


def test_a_request_for_no_rows_is_refused() -> None:
    refuse_no_rows(None)
    refuse_no_rows(1)
    with pytest.raises(ValueError, match=r"output\.rows: 0; ask for at least 1"):
        refuse_no_rows(0)
