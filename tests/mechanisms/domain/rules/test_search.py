"""The search against the whole product."""

from itertools import product

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules.flat import flatten
from hallmark.mechanisms.domain.rules.search import (
    FOUND,
    NONE,
    UNDECIDED,
    any_choice,
    cheapest,
    forest_of,
)
from hallmark.mechanisms.domain.rules.tables import RuleTable
from tests.mechanisms.domain.rules.small_rules import random_tables


@pytest.mark.parametrize("seed", range(80))
def test_the_cheapest_choice_is_that_of_the_whole_product(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 5, int(rng.integers(1, 6)))]
    tables = random_tables(rng, sizes, share=0.5)
    costs = np.full((20, len(sizes), max(sizes)), np.inf)
    for column, size in enumerate(sizes):
        costs[:, column, :size] = rng.integers(0, 4, (20, size))
    costs[rng.random(costs.shape) < 0.1] = np.inf
    flat = flatten(tables, len(sizes))
    best, outcomes = cheapest(costs, flat, forest_of(flat, sizes))
    some, known = any_choice(costs, flat, forest_of(flat, sizes))
    good = [
        choice
        for choice in product(*map(range, sizes))
        if all(table.allowed[tuple(choice[c] for c in table.columns)] for table in tables)
    ]
    for i in range(20):
        totals = {c: sum(costs[i, j, q] for j, q in enumerate(c)) for c in good}
        possible = {c: total for c, total in totals.items() if np.isfinite(total)}
        assert (outcomes[i] == FOUND) == (known[i] == FOUND) == bool(possible)
        if possible:
            assert possible[tuple(best[i].tolist())] == min(possible.values())
            assert tuple(some[i].tolist()) in possible
        else:
            assert outcomes[i] == known[i] == NONE


def pigeons() -> tuple[np.ndarray, list[RuleTable]]:
    """Nine columns must differ in pairs but have eight classes: impossible, and slow to see."""
    apart = ~np.eye(8, dtype=bool)
    tables = [RuleTable("", (a, b), apart) for a in range(9) for b in range(a + 1, 9)]
    return np.zeros((1, 9, 8)), tables


def test_a_search_for_any_choice_gives_up_when_it_takes_too_long() -> None:
    costs, tables = pigeons()
    flat = flatten(tables, 9)
    forest = forest_of(flat, [8] * 9)
    assert any_choice(costs, flat, forest, most=100)[1].tolist() == [UNDECIDED]
    assert any_choice(costs, flat, forest, most=10**7)[1].tolist() == [NONE]


def test_a_search_for_the_cheapest_ends_with_the_best_so_far_but_never_with_none() -> None:
    _, tables = pigeons()
    tables = [table for table in tables if table.columns != (0, 1)]
    costs = np.random.default_rng(0).random((1, 9, 8))
    flat = flatten(tables, 9)
    hasty, outcome = cheapest(costs, flat, forest_of(flat, [8] * 9), most=1)
    best, _ = cheapest(costs, flat, forest_of(flat, [8] * 9))
    assert outcome.tolist() == [FOUND]

    def total(choice: np.ndarray) -> float:
        return float(costs[0, np.arange(9), choice[0]].sum())

    assert total(best) < total(hasty)
    for table in tables:
        assert table.allowed[tuple(hasty[0, list(table.columns)])]


@pytest.mark.parametrize("classes", [4, 40])
def test_tables_without_a_circle_take_one_step_a_column(classes: int) -> None:
    """Each column is above its parent; the least sum is found by dynamic programming, in a loop."""
    rng = np.random.default_rng(classes)
    parents = [-1, 0, 0, 1, 1, 2]
    below = np.tri(classes, k=0, dtype=bool).T
    tables = [RuleTable("", (parents[c], c), below) for c in range(1, 6)]
    costs = rng.random((30, 6, classes))
    flat = flatten(tables, 6)
    chosen, outcomes = cheapest(costs, flat, forest_of(flat, [classes] * 6), most=6)
    assert (outcomes == FOUND).all()
    for i in range(30):
        least = costs[i].copy()
        for c in range(5, 0, -1):
            least[parents[c]] += [least[c, q:].min() for q in range(classes)]
        found = costs[i, np.arange(6), chosen[i]].sum()
        assert found == pytest.approx(least[0].min(), abs=1e-12)


def test_a_forest_has_the_strictest_tables_and_each_column_after_its_parent() -> None:
    rng = np.random.default_rng(3)
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4)]
    tables = []
    for pair, free in zip(pairs, (20, 4, 10, 9), strict=True):
        allowed = np.zeros(25, dtype=bool)
        allowed[rng.permutation(25)[:free]] = True
        tables.append(RuleTable("", pair, allowed.reshape(5, 5)))
    forest = forest_of(flatten(tables, 6), [5] * 6)
    edges = {tuple(sorted((c, int(p)))) for c, p in enumerate(forest.parents) if p >= 0}
    assert edges == {(1, 2), (0, 2), (3, 4)}  # the circle is cut at its loosest table
    order = forest.order.tolist()
    assert sorted(order) == list(range(6))
    for column, parent in enumerate(forest.parents):
        assert parent < 0 or order.index(parent) < order.index(column)
