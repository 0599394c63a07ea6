"""Pieces of cells: where round numbers and first days cut them, and which pieces are alike."""

from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

import pytest

from hallmark.schemas.columns.grids import divided, divided_days, kinds_of_pieces

EPOCH = date(1970, 1, 1)


def edges(*numbers: float | str) -> tuple[Fraction, ...]:
    return tuple(Fraction(number) for number in numbers)


def test_whole_numbers_are_cut_at_round_ones_which_stand_alone() -> None:
    pieces = divided(edges(30_000, 32_500), 16, grid=Fraction(1))
    starts = [30_000, 30_001, 30_500, 30_501, 31_000, 31_001, 31_500, 31_501, 32_000, 32_001]
    assert [int(edge) for edge in pieces] == [*starts, 32_500]


def test_a_cell_of_few_values_is_cut_into_all_of_them() -> None:
    assert divided(edges(0, 3, 5), 4, grid=Fraction(1)) == edges(0, 1, 2, 3, 4, 5)


def test_real_numbers_are_cut_at_round_ones() -> None:
    assert divided(edges(0, "0.37"), 8, grid=None) == edges(
        0, "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.37"
    )


def test_a_grid_of_cents_has_round_euros() -> None:
    pieces = divided(edges(0, 3), 8, grid=Fraction("0.01"))
    assert pieces == edges(0, "0.01", 1, "1.01", 2, "2.01", 3)


@pytest.mark.parametrize("grid", [None, Fraction(1), Fraction("0.01")])
@pytest.mark.parametrize("most", [2, 7, 16, 64])
def test_every_cell_keeps_its_edges_and_has_few_pieces(grid: Fraction | None, most: int) -> None:
    cells = edges(-1000, -10, 0, 1, 17, 1000, 123_456, 10**9)
    pieces = divided(cells, most, grid=grid)
    assert set(cells) <= set(pieces)
    for low, high in pairwise(cells):
        inside = [edge for edge in pieces if low <= edge < high]
        assert 1 <= len(inside) <= most
        assert grid is None or all(edge % grid == 0 for edge in inside)
    assert len(pieces) > len(cells)


def test_days_are_cut_at_first_days_of_months_or_of_years() -> None:
    begins = [date(2020, 1, 1), date(2020, 1, 11), date(2020, 12, 31), date(2025, 1, 1)]
    cells = tuple(Fraction((day - EPOCH).days) for day in begins)
    pieces = [EPOCH + timedelta(days=int(edge)) for edge in divided_days(cells, 26, EPOCH)]
    assert pieces[:11] == [date(2020, 1, day) for day in range(1, 12)]
    assert pieces[11:13] == [date(2020, 2, 1), date(2020, 2, 2)]
    assert [day for day in pieces if day.year > 2020] == [
        date(year, 1, day) for year in range(2021, 2025) for day in (1, 2)
    ] + [date(2025, 1, 1)]


def test_pieces_are_alike_where_people_round_alike() -> None:
    shared = edges(10_000, 12_500, 15_000)
    pieces = divided(shared, 16, grid=Fraction(1))
    kinds = dict(zip(pieces, kinds_of_pieces(shared, pieces, grid=Fraction(1)), strict=False))
    between = kinds[Fraction(10_001)]
    assert all(kinds[piece] == between for piece in pieces[:-1] if piece % 500 == 1)
    assert kinds[Fraction(11_000)] == kinds[Fraction(13_000)]  # of thousands
    assert kinds[Fraction(10_500)] == kinds[Fraction(14_500)]  # of five hundreds
    different = {kinds[Fraction(value)] for value in (10_000, 10_500, 11_000)} | {between}
    assert len(different) == 4


def test_pieces_of_cells_that_are_cut_otherwise_are_not_alike() -> None:
    shared = edges(0, 10, 1000)
    pieces = divided(shared, 10, grid=Fraction(1))
    kinds = kinds_of_pieces(shared, pieces, grid=Fraction(1))
    inside = [pieces.index(Fraction(value)) for value in (5, 400)]
    assert kinds[inside[0]] != kinds[inside[1]]
