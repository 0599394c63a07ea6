"""Exact one-way W1 against the transport linear program."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.domain.domain import Attribute, Kind
from hallmark.mechanisms.geometry.finite_metrics import UNIT
from hallmark.mechanisms.geometry.wasserstein import HUB, RADIUS, w1
from tests.mechanisms.geometry.small_spaces import column as attribute
from tests.mechanisms.geometry.small_spaces import coupled, lattice


def distances(column: Attribute) -> np.ndarray:
    """The metric as `Attribute` states it, cell by cell; the hub comes last."""
    k = column.levels
    matrix = np.zeros((column.cells + 1, column.cells + 1))
    for i in range(column.cells):
        for j in range(column.cells):
            if column.kind is Kind.NOMINAL or (column.kind is Kind.METRIC and max(i, j) == k):
                matrix[i, j] = float(i != j)
            elif column.distances is not None:
                matrix[i, j] = column.distances[i, j]
            elif i < k and j < k:
                matrix[i, j] = abs(column.positions[i] - column.positions[j])
            elif i != j:
                matrix[i, j] = 0.5 + abs(column.positions[min(i, j)] - 0.5)
    for i in range(column.cells):
        plain = column.kind not in (Kind.NOMINAL, Kind.METRIC) and i < k
        matrix[i, -1] = matrix[-1, i] = abs(column.positions[i] - HUB) if plain else RADIUS
    return matrix


def random_attributes(rng: np.random.Generator) -> list[Attribute]:
    kinds = [Kind.NUMERIC, Kind.ORDINAL, Kind.DATE, Kind.NOMINAL]
    shapes = [(n, null) for n in (1, 2, 5, 6) for null in (False, True) if n + null > 1]
    on_lines = [
        attribute(kind, np.sort(rng.random(n)), null) for kind in kinds for n, null in shapes
    ]
    return on_lines + [lattice(rng, n, has_null=null) for n, null in shapes]


def test_w1_is_the_optimum_of_the_transport_program_on_every_kind_of_attribute() -> None:
    rng = np.random.default_rng(1)
    for column in random_attributes(rng):
        cost = distances(column)[:-1, :-1]
        for _ in range(3):
            p, q = rng.dirichlet(np.ones(column.cells) / 2, size=2)
            assert w1(column, p - q) == pytest.approx(coupled(cost, p, q), abs=1e-7)


def test_distances_between_places_are_rounded_up_to_a_unit() -> None:
    rng = np.random.default_rng(6)
    for has_null in (False, True):
        column = lattice(rng, 7, 999, has_null)
        p, q = rng.dirichlet(np.ones(column.cells), size=2)
        excess = w1(column, p - q) - coupled(distances(column)[:-1, :-1], p, q)
        assert -1e-7 < excess < UNIT


def test_places_at_distances_that_are_no_metric_are_refused() -> None:
    column = lattice(np.random.default_rng(7), 3, 2)
    twice = replace(column, distances=3.0 * column.distances)
    with pytest.raises(ValueError, match="divide by the largest"):
        w1(twice, np.zeros(3))


def test_a_value_in_the_middle_is_next_to_the_hub() -> None:
    column = attribute(Kind.NUMERIC, np.array([0.0, 0.5, 1.0]), True)
    assert w1(column, np.array([0, 1, 0, -1])) == pytest.approx(0.5)
    assert w1(column, np.array([1, 0, 0, -1])) == pytest.approx(1.0)
    assert w1(column, np.array([1, 0, -1, 0])) == pytest.approx(1.0)


def test_without_nulls_w1_agrees_with_scipy() -> None:
    rng = np.random.default_rng(2)
    column = attribute(Kind.NUMERIC, np.sort(rng.random(40)))
    p, q = rng.dirichlet(np.ones(40), size=2)
    expected = wasserstein_distance(column.positions, column.positions, p, q)
    assert w1(column, p - q) == pytest.approx(expected, abs=1e-12)


def test_surplus_mass_is_created_at_the_hub() -> None:
    rng = np.random.default_rng(3)
    for column in random_attributes(rng):
        difference = rng.normal(size=column.cells)
        at_hub = np.append(difference, -difference.sum())
        p, q = np.maximum(at_hub, 0), np.maximum(-at_hub, 0)
        expected = coupled(distances(column), p, q)
        assert w1(column, difference) == pytest.approx(expected, abs=1e-7)


def test_a_batch_is_the_rows_one_by_one() -> None:
    rng = np.random.default_rng(5)
    for column in random_attributes(rng):
        batch = rng.normal(size=(3, 4, column.cells))
        rows = [[float(w1(column, row)) for row in block] for block in batch]
        assert np.allclose(w1(column, batch), rows)


def test_a_histogram_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="x: 3 entries for 2 cells"):
        w1(attribute(Kind.NUMERIC, np.array([0.2, 0.8])), np.zeros(3))
