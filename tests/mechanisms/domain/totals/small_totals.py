"""Small domains with random rules and totals, and all their tables by brute force."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Integers
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.domain.totals import PublicTotal, PublicTotals


def total(name: str, columns: tuple[int, ...], groups: Integers, counts: list[int]) -> PublicTotal:
    titles = tuple(f"{name} group {i}" for i in range(len(counts)))
    return PublicTotal(
        name, columns, np.asarray(groups, dtype=np.int64), np.array(counts, dtype=np.int64), titles
    )


def random_rules(shape: tuple[int, ...], rng: np.random.Generator, tables: int = 2) -> Rules:
    """Rules on two columns each, which at least one record obeys."""
    witness = [int(rng.integers(size)) for size in shape]
    made = []
    for number in range(tables):
        columns = tuple(sorted(int(c) for c in rng.choice(len(shape), 2, replace=False)))
        allowed = rng.random([shape[c] for c in columns]) < 0.7
        allowed[tuple(witness[c] for c in columns)] = True
        made.append(RuleTable(f"rule {number}", columns, allowed))
    ordered = tuple(c for c in range(len(shape)) if c % 2 == 0)
    return Rules(shape, tuple(made), ordered=ordered)


def random_totals(
    shape: tuple[int, ...], codes: NDArray[np.int32], rng: np.random.Generator, many: int = 2
) -> PublicTotals:
    """Totals that `codes` have."""
    made = []
    for number in range(many):
        width = int(rng.integers(1, 3))
        columns = tuple(sorted(int(c) for c in rng.choice(len(shape), width, replace=False)))
        sizes = [shape[c] for c in columns]
        cells = int(np.prod(sizes))
        if rng.random() < 0.5:
            groups = np.arange(cells).reshape(sizes)  # a marginal
        else:
            groups = rng.integers(0, 2, sizes)
        found = np.bincount(groups[tuple(codes[:, c] for c in columns)], minlength=cells)
        made.append(total(f"total {number}", columns, groups, found[: groups.max() + 1].tolist()))
    return PublicTotals(shape, tuple(made))


def valid_cells(rules: Rules) -> NDArray[np.int32]:
    """All records that obey, by looking at each."""
    every = np.array(list(product(*map(range, rules.shape))), dtype=np.int32)
    obeyed = [
        all(table.allowed[tuple(row[list(table.columns)])] for table in rules.tables)
        for row in every
    ]
    return every[np.array(obeyed)]


def compositions(records: int, cells: int) -> list[Integers]:
    """All ways to put so many records into so many cells."""
    if cells == 1:
        return [np.array([records])]
    return [
        np.concatenate([[first], rest])
        for first in range(records + 1)
        for rest in compositions(records - first, cells - 1)
    ]


def holding_tables(totals: PublicTotals, rules: Rules) -> list[Integers]:
    """All tables of valid records that have the totals, as counts of `valid_cells`."""
    cells = valid_cells(rules)
    if len(cells) == 0:
        return []
    return [
        counts
        for counts in compositions(totals.records, len(cells))
        if totals.held(np.repeat(cells, counts, axis=0))
    ]


def on_columns(cells: NDArray[np.int32], counts: Integers, totals: PublicTotals) -> Integers:
    """Counts over the joint cells of all columns of totals."""
    columns = list(totals.columns)
    shape = [totals.shape[c] for c in columns]
    flat = np.ravel_multi_index(tuple(cells[:, columns].T), shape)
    return np.bincount(flat, counts, minlength=int(np.prod(shape))).astype(np.int64)
