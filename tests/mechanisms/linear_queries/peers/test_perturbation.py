"""Perturbations: sums of coordinates' numbers, and separators that separate."""

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.peers.perturbation import ByCoordinate, separator
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell
from tests.mechanisms.linear_queries.adaptive_runs import of, ways


def test_a_cell_has_the_sum_of_its_coordinates_numbers() -> None:
    shape = (2, 3, 2)
    drawn = ByCoordinate(ways(shape, 2)).draw(2, 1.5, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    for payoffs in drawn:
        numbers = [rng.exponential(1.5, cells) for cells in shape]
        expected = [
            sum(n[code] for n, code in zip(numbers, cell, strict=True))
            for cell in np.ndindex(*shape)
        ]
        np.testing.assert_allclose(payoffs, expected)


@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (1, 2)])
def test_any_two_cells_differ_on_a_separator(sizes) -> None:
    universe = ways((2, 3, 2, 2), *sizes)
    found = separator(universe)
    values = np.stack([universe.values(query) for query in found.queries])
    assert len(np.unique(values, axis=1).T) == universe.size
    assert len(found.queries) == found.coordinates < universe.size
    drawn = found.draw(2, 0.7, np.random.default_rng(1))
    numbers = np.random.default_rng(1).laplace(0, 0.7, (2, found.coordinates))
    np.testing.assert_allclose(drawn, numbers @ values)


def test_queries_without_a_separator_are_refused() -> None:
    with pytest.raises(ValueError, match="tell only 4 of 8 cells apart"):
        separator(of((2, 2, 2), Block(marginal((0, 1), (2, 2, 2)), EachCell(4))))
    prefix = Boxes((4,), np.array([[0]]), np.array([[2]]))
    with pytest.raises(ValueError, match="sep-fem needs queries in which any two cells differ"):
        separator(of((4,), Block(marginal((0,), (4,)), prefix)))


def test_a_separator_too_large_for_memory_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("hallmark.mechanisms.linear_queries.peers.perturbation.MOST_VALUES", 20)
    with pytest.raises(ValueError, match="use fewer columns, or fem"):
        separator(ways((2, 2, 2), 1))
