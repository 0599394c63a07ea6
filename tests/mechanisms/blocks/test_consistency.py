"""Consistency: the projection against least squares with explicit constraints."""

import pickle
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.blocks.consistency import Consistency
from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.blocks.marginals import marginals, over
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.columns import line, nominal

MIXED = Domain(
    (
        line("x", 6, has_null=True),
        nominal("c", 3),
        line("y", 4, width=0.0),
        nominal("d", 2, has_null=True),
    )
)
FAMILIES = {
    "pairs": marginals(MIXED, 2, 2),
    "triples": marginals(MIXED, 3, 2),
    "other orders": over(MIXED, [(0, 1), (1, 0, 2), (3, 2, 1), (2, 3)], 3),
    "permuted triples": over(MIXED, [(0, 1, 2), (2, 0, 3), (3, 1, 0), (1, 3, 2)], 2),
    "turned around": over(MIXED, [(1, 2, 0), (2, 0, 1, 3)], 2),
    "nested": over(MIXED, [(1,), (2, 1), (0, 2, 1)], 2),
    "disjoint": over(MIXED, [(0,), (2, 1), (3,)], 2),
    "one block": over(MIXED, [(2, 0)], 3),
}


def margin(block: Block, columns: list[int]) -> np.ndarray:
    """The matrix that takes a block's table to its marginal over some columns, in this order."""
    places = np.indices(block.shape).reshape(len(block.shape), -1)
    cell = np.zeros(block.space.size, dtype=int)
    for column in columns:
        own = block.columns.index(column)
        cell = cell * block.shape[own] + places[own]
    return (np.arange(cell.max() + 1)[:, None] == cell).astype(float)


def disagreements(family: Family) -> np.ndarray:
    """The matrix whose kernel is the stacked tables that agree on all common marginals."""
    ends = np.cumsum([0, *(block.space.size for block in family.blocks)])
    rows = [np.zeros((0, ends[-1]))]
    for i, j in combinations(range(len(family)), 2):
        common = sorted(set(family.blocks[i].columns) & set(family.blocks[j].columns))
        one, other = (margin(family.blocks[b], common) for b in (i, j))
        row = np.zeros((len(one), ends[-1]))
        row[:, ends[i] : ends[i + 1]] = one
        row[:, ends[j] : ends[j + 1]] = -other
        rows.append(row)
    return np.concatenate(rows)


def least_squares(family: Family) -> np.ndarray:
    """The matrix that takes stacked tables to the nearest ones that agree."""
    constraints = disagreements(family)
    moved = np.linalg.pinv(constraints) @ constraints
    return np.eye(constraints.shape[1]) - moved


def noise(family: Family, *batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=(*batch, block.space.size)) for block in family.blocks]


@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_the_projection_of_constrained_least_squares(name) -> None:
    """All of it: every unit vector, and mixtures of them along two axes of a batch."""
    family = FAMILIES[name]
    ends = np.cumsum([block.space.size for block in family.blocks])
    units = np.split(np.eye(ends[-1]), ends[:-1], axis=1)
    for tables in (units, noise(family, 3, 2)):
        expected = np.concatenate(tables, axis=-1) @ least_squares(family).T
        found = np.concatenate(Consistency(family)(tables), axis=-1)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_true_tables_stay_as_they_are(name) -> None:
    family, rng = FAMILIES[name], np.random.default_rng(4)
    codes = np.stack([rng.integers(0, cells, 50) for cells in MIXED.shape], axis=1)
    tables = [table.astype(float) for table in count_codes(codes, [b.cells for b in family.blocks])]
    assert disagreements(family) @ np.concatenate(tables) == pytest.approx(0)
    for found, table in zip(Consistency(family)(tables), tables, strict=True):
        assert found == pytest.approx(table, abs=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_tables_given_are_not_written_to(name) -> None:
    tables = noise(FAMILIES[name])
    kept = [table.copy() for table in tables]
    Consistency(FAMILIES[name])(tables)
    for table, copy in zip(tables, kept, strict=True):
        assert (table == copy).all()


def test_it_survives_pickling() -> None:
    family = FAMILIES["other orders"]
    consistency, tables = Consistency(family), noise(family)
    for one, other in zip(
        consistency(tables), pickle.loads(pickle.dumps(consistency))(tables), strict=True
    ):
        assert (one == other).all()


def test_tables_that_are_not_one_a_block_are_refused() -> None:
    family = FAMILIES["pairs"]
    with pytest.raises(ValueError, match="zip"):
        Consistency(family)(noise(family)[:-1])
