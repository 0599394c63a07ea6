"""Counting and threshold queries, answered record by record."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.utility import counting_queries
from hallmark.mechanisms.utility.coded import by_column
from hallmark.mechanisms.utility.counting_queries import (
    ACCEPTED,
    QUERIES,
    Box,
    box_shares,
    counting_error,
    draw_boxes,
    query_error,
)
from hallmark.mechanisms.utility.threshold_queries import (
    HalfSpace,
    draw_half_spaces,
    half_space_shares,
    threshold_error,
)
from tests.mechanisms.utility.tables import SIZES, Table, table


def in_box(record: list[int], box: Box) -> bool:
    return all(
        low <= record[column] <= high
        for column, low, high in zip(box.columns, box.low, box.high, strict=True)
    )


def beyond(record: list[int], space: HalfSpace, sizes: tuple[int, ...]) -> bool:
    x = [(record[column] + 0.5) / sizes[column] for column in space.columns]
    return sum(a * b for a, b in zip(x, space.direction, strict=True)) > space.threshold


@pytest.fixture(scope="module")
def real() -> Table:
    return table(400, 1)


@pytest.mark.parametrize("sizes", [SIZES, (300, 2, 70_000)])  # one, two and four bytes a code
def test_boxes_are_answered_as_record_by_record(sizes: tuple[int, ...]) -> None:
    real = table(400, 1, sizes)
    columns = by_column(real, sizes)
    boxes = draw_boxes(columns, sizes, rng=np.random.default_rng(5), queries=40)
    slow = [np.mean([in_box(record, box) for record in real.tolist()]) for box in boxes]
    assert box_shares(columns, boxes).tolist() == pytest.approx(slow)


def test_boxes_hold_neither_few_nor_almost_all_real_records(real: Table) -> None:
    columns = by_column(real, SIZES)
    boxes = draw_boxes(columns, SIZES, rng=np.random.default_rng(5))
    shares = box_shares(columns, boxes)
    assert len(boxes) == QUERIES
    assert ACCEPTED[0] <= shares.min() <= shares.max() <= ACCEPTED[1]
    for box in boxes:
        assert len(set(box.columns)) == 3
        assert all(0 <= low <= high for low, high in zip(box.low, box.high, strict=True))
        assert all(high < SIZES[column] for column, high in zip(box.columns, box.high, strict=True))


def test_records_are_looked_at_only_where_single_columns_leave_a_box_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The boxes are those that are found when every one of them is counted."""
    rng = np.random.default_rng(3)
    sizes = (30, 20, 30)
    skewed = np.minimum(rng.zipf(2.5, size=(1500, 3)) - 1, np.array(sizes) - 1)
    columns, counted = by_column(skewed, sizes), []
    share = counting_queries._share

    def watching(table: Any, box: Any) -> float:
        counted.append(box)
        return share(table, box)

    monkeypatch.setattr(counting_queries, "_share", watching)
    found = draw_boxes(columns, sizes, rng=np.random.default_rng(5), queries=15)
    with_columns, counted[:] = len(counted), []
    monkeypatch.setattr(counting_queries, "_may_be_accepted", lambda *_: True)
    assert draw_boxes(columns, sizes, rng=np.random.default_rng(5), queries=15) == found
    assert with_columns < len(counted) / 4


def test_half_spaces_are_answered_as_record_by_record(real: Table) -> None:
    columns = by_column(real, SIZES)
    spaces = draw_half_spaces(columns, SIZES, rng=np.random.default_rng(5), queries=40)
    slow = [np.mean([beyond(record, s, SIZES) for record in real.tolist()]) for s in spaces]
    assert half_space_shares(columns, SIZES, spaces).tolist() == pytest.approx(slow, abs=1e-12)
    assert len({share for share in slow if 0 < share < 1}) > 20  # planes pass between the records
    for space in spaces:
        assert sum(slope**2 for slope in space.direction) == pytest.approx(1)


def test_the_error_is_relative_to_the_mean_answer() -> None:
    error = query_error(np.array([0.2, 0.4]), np.array([0.3, 0.2]))
    assert error is not None
    assert error.absolute == pytest.approx(0.15)
    assert error.relative == pytest.approx(0.5)
    assert error.queries == 2


def test_an_error_relative_to_nothing_is_not_defined() -> None:
    nothing = query_error(np.zeros(2), np.array([0.0, 0.5]))
    assert nothing is not None
    assert (nothing.relative, nothing.absolute) == (None, 0.25)
    right = query_error(np.zeros(2), np.zeros(2))
    assert right is not None
    assert right.relative == 0.0
    assert query_error(np.zeros(0), np.zeros(0)) is None


@pytest.mark.parametrize("sizes", [(4,), (4, 3)])
def test_few_columns_are_asked_together(sizes: tuple[int, ...]) -> None:
    columns = by_column(table(500, 1, sizes), sizes)
    boxes = draw_boxes(columns, sizes, rng=np.random.default_rng(0))
    spaces = draw_half_spaces(columns, sizes, rng=np.random.default_rng(0))
    assert {len(box.columns) for box in boxes} == {len(sizes)}
    assert {len(space.columns) for space in spaces} == {len(sizes)}


def test_constant_columns_have_no_boxes_and_the_search_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting_queries, "MOST_IN_VAIN", 500)
    constant = by_column(np.full((100, 3), 1), (4, 2, 2))
    varied = by_column(table(100, 1, (4, 2, 2)), (4, 2, 2))
    rng = np.random.default_rng(0)
    assert counting_error(constant, varied, (4, 2, 2), rng=rng) is None
    spent = np.random.default_rng(0)
    draw_boxes(constant, (4, 2, 2), rng=spent)
    assert spent.bit_generator.state == rng.bit_generator.state  # 500 tries, not one more


def test_the_search_keeps_the_boxes_that_it_found_in_all_its_tries(
    monkeypatch: pytest.MonkeyPatch, real: Table
) -> None:
    monkeypatch.setattr(counting_queries, "MOST_TRIES", 300)
    error = counting_error(
        by_column(real, SIZES), by_column(real, SIZES), SIZES, rng=np.random.default_rng(0)
    )
    assert error is not None
    assert 0 < error.queries < QUERIES
    assert error.relative == 0.0


def test_half_spaces_of_constant_columns_hold_nothing() -> None:
    constant = by_column(np.full((100, 3), 1), (4, 2, 2))
    same = threshold_error(constant, constant, (4, 2, 2), rng=np.random.default_rng(0))
    assert (same.relative, same.absolute, same.queries) == (0.0, 0.0, QUERIES)
    varied = by_column(table(100, 1, (4, 2, 2)), (4, 2, 2))
    other = threshold_error(constant, varied, (4, 2, 2), rng=np.random.default_rng(0))
    assert other.relative is None
    assert other.absolute > 0


def test_directions_favour_no_octant() -> None:
    """Uniform on the sphere: each octant has 1/8. A share that is off by 5.5 of its standard
    deviations has chance 4e-8, so one of the eight has less than 1e-6."""
    columns = by_column(table(10, 1, (4, 3, 2)), (4, 3, 2))
    spaces = draw_half_spaces(columns, (4, 3, 2), rng=np.random.default_rng(3), queries=4_000)
    signs = [tuple(np.sign(space.direction).astype(int)) for space in spaces]
    shares = np.array([signs.count(octant) for octant in set(signs)]) / 4_000
    assert len(shares) == 8
    assert np.abs(shares - 1 / 8).max() < 5.5 * sqrt(7 / 64 / 4_000)
