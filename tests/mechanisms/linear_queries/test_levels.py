"""Records within cells against all records of small domains, under random rules."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.linear_queries.levels import on_cells, records_of
from tests.mechanisms.domain.rules.small_rules import random_rules, records, truly_valid

SEEDS = range(40)
FALSE_POSITIVE_RATE = 1e-6


def case(seed: int) -> tuple[Domain, tuple[int, ...], tuple[np.ndarray, ...]]:
    """A domain with rules, some parts of cells among them, and a universe of merged levels."""
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, parts=seed % 2 == 0)
    domain = Domain.coded({f"c{i}": k for i, k in enumerate(rules.shape)}, rules=rules)
    columns = tuple(int(c) for c in np.flatnonzero(rng.random(len(domain)) < 0.6))
    levels = []
    for column in columns:
        cells = rng.integers(0, 2, rules.shape[column])
        levels.append(np.unique(cells, return_inverse=True)[1].astype(np.int64))
    return domain, columns, tuple(levels)


def cells_of(
    codes: np.ndarray, columns: tuple[int, ...], levels: tuple[np.ndarray, ...]
) -> np.ndarray:
    found = [cells[codes[:, column]] for column, cells in zip(columns, levels, strict=True)]
    return np.stack(found, axis=1) if found else np.zeros((len(codes), 0), dtype=np.int64)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cell_is_possible_if_any_record_in_it_obeys(seed: int) -> None:
    domain, columns, levels = case(seed)
    everything = records(domain.shape)
    alive = cells_of(everything[truly_valid(domain.rules)], columns, levels)
    expected = np.zeros([int(cells.max()) + 1 for cells in levels], dtype=np.bool_)
    expected[tuple(alive.T)] = len(alive) > 0
    found = on_cells(domain.rules, columns, levels).allowed(range(len(columns)))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_records_stay_in_their_cells_and_obey_wherever_a_cell_lets_them(seed: int) -> None:
    domain, columns, levels = case(seed)
    rng, everything = np.random.default_rng(seed), records(domain.shape)
    cells = np.repeat(cells_of(everything, columns, levels), 3, axis=0)
    made = records_of(domain, columns, levels, cells, rng)
    assert np.array_equal(cells_of(made, columns, levels), cells)
    alive = {
        tuple(cell) for cell in cells_of(everything[truly_valid(domain.rules)], columns, levels)
    }
    could = [tuple(cell) in alive for cell in cells]
    assert domain.rules.valid(made).tolist() == could


def test_levels_that_obey_are_as_likely_as_each_other() -> None:
    # Of 4 x 3 levels in one cell, five combinations obey; a second cell has none that does not.
    allowed = np.ones((5, 3), dtype=np.bool_)
    allowed[:4] = [[1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0]]
    rules = Rules((5, 3), (RuleTable("rule", (0, 1), allowed),))
    domain = Domain.coded({"seen": 5, "unseen": 3}, rules=rules)
    levels = (np.array([0, 0, 0, 0, 1]),)
    cells = np.repeat([[0], [1]], 3000, axis=0)
    made = records_of(domain, (0,), levels, cells, np.random.default_rng(1))
    counts = np.zeros((5, 3), dtype=np.int64)
    np.add.at(counts, tuple(made.T), 1)
    assert counts[~allowed].sum() == 0
    inside = counts[:4][allowed[:4]]
    # Whole columns are dealt out evenly, so that the statistic is below that of free draws.
    assert chi2.sf(((inside - 600) ** 2 / 600).sum(), 4) > FALSE_POSITIVE_RATE
    assert counts[4].tolist() == pytest.approx([1000] * 3, abs=60)


def test_a_search_finds_what_draws_would_miss() -> None:
    alone = np.zeros((500, 500), dtype=np.bool_)
    alone[3, 7] = True
    rules = Rules((500, 500), (RuleTable("rule", (0, 1), alone),))
    domain = Domain.coded({"a": 500, "b": 500}, rules=rules)
    cells = np.zeros((50, 1), dtype=np.int64)
    made = records_of(
        domain, (1,), (np.zeros(500, dtype=np.int64),), cells, np.random.default_rng(0)
    )
    assert (made == [3, 7]).all()


def test_what_determines_what_is_settled_where_cells_leave_it_open() -> None:
    rules = Rules((4, 3), determinations=(Determination("a determines b", 0, 1),))
    domain = Domain.coded({"a": 4, "b": 3}, rules=rules)
    cells = np.random.default_rng(2).integers(0, 4, (900, 1))
    made = records_of(domain, (0,), (np.arange(4),), cells, np.random.default_rng(0))
    assert len(np.unique(made, axis=0)) == 4
    assert np.array_equal(made[:, 0], cells[:, 0])
    free = records_of(
        replace(domain, rules=Rules((4, 3))), (0,), (np.arange(4),), cells,
        np.random.default_rng(0),
    )  # fmt: skip
    assert len(np.unique(free, axis=0)) == 12
