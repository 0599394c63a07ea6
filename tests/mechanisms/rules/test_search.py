"""The search against the whole product."""

from itertools import product

import numpy as np
import pytest

from mechanisms.rules.flat import flatten
from mechanisms.rules.search import FOUND, NONE, UNDECIDED, any_choice, cheapest
from mechanisms.rules.tables import RuleTable
from tests.mechanisms.rules.small_rules import random_tables


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
    best, outcomes = cheapest(costs, flat)
    some, known = any_choice(costs, flat)
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
    assert any_choice(costs, flatten(tables, 9), most=100)[1].tolist() == [UNDECIDED]
    assert any_choice(costs, flatten(tables, 9))[1].tolist() == [NONE]


def test_a_search_for_the_cheapest_ends_with_the_best_so_far_but_never_with_none() -> None:
    _, tables = pigeons()
    tables = [table for table in tables if table.columns != (0, 1)]
    costs = np.random.default_rng(0).random((1, 9, 8))
    flat = flatten(tables, 9)
    hasty, outcome = cheapest(costs, flat, most=1)
    best, _ = cheapest(costs, flat)
    assert outcome.tolist() == [FOUND]

    def total(choice: np.ndarray) -> float:
        return float(costs[0, np.arange(9), choice[0]].sum())

    assert total(best) < total(hasty)
    for table in tables:
        assert table.allowed[tuple(hasty[0, list(table.columns)])]
