"""The cheapest choice of one class per column that all tables allow: branch and bound, compiled.

Claim.   `cheapest` finds a choice of least total cost, or shows that there is none. It goes depth
         first, most promising class first. After each choice, every table with one open column left
         strikes out what it forbids there, and a branch ends where a bound on what it can cost
         reaches the best choice so far. The bound is the least cost of a choice that a forest of
         tables on two columns allows, by dynamic programming; where all tables are in the forest it
         is exact, and no branch is ever left.
         Since a table strikes from its last open column whatever breaks it, complete choices obey.
Oracle.  tests/mechanisms/domain/rules/test_search.py: the whole product of small columns.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hallmark.mechanisms.arrays import Floats, Integers
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.rules.flat import FlatTables

MOST_STEPS = 100_000  # choices that one search may try; less than a second for a dozen columns
FOUND, NONE, UNDECIDED = 1, 0, 2


class Forest(NamedTuple):
    """Tables on two columns that connect columns without a circle, the strictest ones.

    Attributes:
        order: the columns, each after its parent; in this order they are chosen.
        parents: of each column; -1 for roots.
        offsets, steps_parent, steps_own: where the table with the parent has its entries.
        sizes: classes of each column.
    """

    order: Integers
    parents: Integers
    offsets: Integers
    steps_parent: Integers
    steps_own: Integers
    sizes: Integers


def cheapest(
    costs: Floats, flat: FlatTables, forest: Forest, most: int = MOST_STEPS
) -> tuple[Integers, Integers]:
    """The cheapest allowed choices, shape (n, columns), and what became of each search, (n,).

    A search of more than `most` steps ends with the best choice that it has, but never without one.

    Args:
        costs: of every class of every column, infinite where it may not be chosen; shape
            (n, columns, classes).
    """
    return _solve_all(costs, flat, forest, most, False)


def any_choice(
    costs: Floats, flat: FlatTables, forest: Forest, most: int = MOST_STEPS
) -> tuple[Integers, Integers]:
    """Some allowed choices, promising ones tried first; else as `cheapest`.

    A search of more than `most` steps ends UNDECIDED.
    """
    return _solve_all(costs, flat, forest, most, True)


def forest_of(flat: FlatTables, sizes: Sequence[int]) -> Forest:
    """The forest of the tables that forbid most, from the columns with most tables down."""
    columns = len(sizes)
    edges = []
    ends = np.append(flat.offsets, len(flat.allowed))
    for table, offset in enumerate(flat.offsets):
        span = slice(flat.spans[table], flat.spans[table + 1])
        if flat.spans[table + 1] - flat.spans[table] == 2:
            free = flat.allowed[offset : ends[table + 1]].mean()
            edges.append((free, table, flat.columns[span].tolist(), flat.strides[span].tolist()))
    trees = list(range(columns))  # a column of the tree that each one is in
    neighbours: list[list[tuple[int, int, int, int]]] = [[] for _ in range(columns)]
    for _, table, (one, other), (step_one, step_other) in sorted(edges):
        if trees[one] != trees[other]:
            trees = [trees[one] if tree == trees[other] else tree for tree in trees]
            neighbours[one].append((other, table, step_one, step_other))
            neighbours[other].append((one, table, step_other, step_one))
    parents, offsets, steps_parent, steps_own = (np.full(columns, -1) for _ in range(4))
    order: list[int] = []
    tables = np.diff(flat.starts)
    for root in sorted(range(columns), key=lambda column: -tables[column]):
        if root in order:
            continue
        reached = [root]
        for column in reached:
            order.append(column)
            for child, table, step_parent, step_own in neighbours[column]:
                if child not in reached:
                    reached.append(child)
                    parents[child], offsets[child] = column, flat.offsets[table]
                    steps_parent[child], steps_own[child] = step_parent, step_own
    return Forest(
        np.array(order, dtype=np.int64),
        parents,
        offsets,
        steps_parent,
        steps_own,
        np.array(sizes, dtype=np.int64),
    )


@compiled()
def _solve_all(costs, flat, forest, most, first):  # type: ignore[no-untyped-def]  # compiled
    count, columns, classes = costs.shape
    chosen = np.full((count, columns), -1, dtype=np.int64)
    outcomes = np.zeros(count, dtype=np.int64)
    live = np.zeros((columns + 1, columns, classes), dtype=np.bool_)  # by depth: what is open
    bounds = np.zeros((columns, classes))  # by depth: least cost with each class of its column
    value = np.zeros((columns, classes))
    up = np.zeros((columns, classes))
    for i in range(count):
        outcomes[i] = _solve(
            costs[i], flat, forest, most, first, chosen[i], live, bounds, value, up
        )
    return chosen, outcomes


@compiled()
def _solve(  # type: ignore[no-untyped-def]  # compiled
    costs, flat, forest, most, first, best, live, bounds, value, up
):
    columns, classes = costs.shape
    now = np.full(columns, -1, dtype=np.int64)
    for column in range(columns):
        for q in range(classes):
            live[0, column, q] = np.isfinite(costs[column, q])
    for table in range(len(flat.offsets)):
        if flat.spans[table + 1] - flat.spans[table] == 1:
            column = flat.columns[flat.spans[table]]
            for q in range(classes):
                if live[0, column, q] and not flat.allowed[flat.offsets[table] + q]:
                    live[0, column, q] = False
    least, outcome, steps, depth = np.inf, NONE, 0, 0
    total = _outlook(costs, flat, forest, live[0], value, up)
    if total == np.inf:
        return outcome
    _bounds(forest, depth, total, live[0], now, value, up, bounds)
    while depth >= 0:
        column = forest.order[depth]
        now[column] = -1
        q = int(np.argmin(bounds[depth]))
        bound = bounds[depth, q]
        if bound >= least:
            depth -= 1
            continue
        steps += 1
        if steps > most and (first or outcome == FOUND):
            return outcome if outcome == FOUND else UNDECIDED
        bounds[depth, q] = np.inf
        now[column] = q
        if depth == columns - 1:
            least, outcome = bound, FOUND
            best[:] = now
            if first:
                return outcome
            continue
        following = live[depth + 1]
        following[:] = live[depth]
        following[column] = False
        following[column, q] = True
        if not _strike(flat, following, now, column):
            continue
        total = _outlook(costs, flat, forest, following, value, up)
        if total >= least:
            continue
        depth += 1
        _bounds(forest, depth, total, following, now, value, up, bounds)
    return outcome


@compiled()
def _outlook(costs, flat, forest, live, value, up):  # type: ignore[no-untyped-def]  # compiled
    """Least cost of a choice of open classes that the forest allows.

    Writes the least cost of each column's subtree, by its class (`value`) and by its parent's
    (`up`); infinite where nothing is allowed.
    """
    sizes = forest.sizes
    for column in range(len(sizes)):
        for q in range(sizes[column]):
            value[column, q] = costs[column, q] if live[column, q] else np.inf
    total = 0.0
    for k in range(len(sizes) - 1, -1, -1):
        column = forest.order[k]
        parent, size = forest.parents[column], sizes[column]
        own = value[column, :size]
        lowest = own.min()
        if parent < 0 or lowest == np.inf:
            total += lowest
            continue
        step = forest.steps_own[column]
        for p in range(sizes[parent]):
            low = np.inf
            if value[parent, p] < np.inf:
                at = forest.offsets[column] + forest.steps_parent[column] * p
                for q in range(size):
                    if own[q] < low and flat.allowed[at + step * q]:
                        low = own[q]
                        if low == lowest:
                            break
            up[column, p] = low
            value[parent, p] += low
    return total


@compiled()
def _bounds(  # type: ignore[no-untyped-def]  # compiled
    forest, depth, total, live, now, value, up, bounds
):
    """Least cost of the forest for each open class of the column to choose at `depth`."""
    column = forest.order[depth]
    parent = forest.parents[column]
    size = forest.sizes[column]
    lowest = value[column, :size].min() if parent < 0 else up[column, now[parent]]
    bounds[depth] = np.inf
    for q in range(size):
        if live[column, q]:
            bounds[depth, q] = total - lowest + value[column, q]


@compiled()
def _strike(flat, live, now, column):  # type: ignore[no-untyped-def]  # compiled
    """Strike out what tables on `column` forbid in their one open column; false if all goes."""
    classes = live.shape[1]
    for k in range(flat.starts[column], flat.starts[column + 1]):
        table = flat.touching[k]
        at, step, last, unknown = flat.offsets[table], 0, -1, 0
        for i in range(flat.spans[table], flat.spans[table + 1]):
            other = flat.columns[i]
            if now[other] < 0:
                unknown += 1
                last, step = other, flat.strides[i]
            else:
                at += flat.strides[i] * now[other]
        if unknown != 1:
            continue
        stays = False
        for q in range(classes):
            if live[last, q]:
                if flat.allowed[at + step * q]:
                    stays = True
                else:
                    live[last, q] = False
        if not stays:
            return False
    return True
