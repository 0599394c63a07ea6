"""The cheapest choice of one class per column that all tables allow: branch and bound, compiled.

Claim.   `solve` finds a choice of least total cost, or shows that there is none. It goes depth
         first, cheapest class first; after each choice, every table with one open column left
         strikes out what it forbids there (forward checking), and a branch ends where what was
         spent and the cheapest classes still open cost no less than the best choice so far.
         Since a table strikes from its last open column whatever breaks it, complete choices obey.
Oracle.  tests/mechanisms/rules/test_search.py: the whole product of small columns.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mechanisms.rules.flat import FlatTables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_STEPS = 1_000_000  # choices that one search may try; a second or so
FOUND, NONE, UNDECIDED = 1, 0, 2


def cheapest(costs: Floats, flat: FlatTables, most: int = MOST_STEPS) -> tuple[Ints, Ints]:
    """The cheapest allowed choices, shape (n, columns), and what became of each search, (n,).

    A search ends early with the best choice that it has, but never without one.

    Args:
        costs: of every class of every column, infinite where it may not be chosen; shape
            (n, columns, classes).
    """
    return _solve_all(costs, flat, most, False)


def any_choice(costs: Floats, flat: FlatTables, most: int = MOST_STEPS) -> tuple[Ints, Ints]:
    """Some allowed choices, cheap classes tried first; else as `cheapest`.

    A search of more than `most` steps ends UNDECIDED.
    """
    return _solve_all(costs, flat, most, True)


@njit(cache=True, nogil=True)
def _solve_all(costs, flat, most, first):  # type: ignore[no-untyped-def]  # compiled
    count, columns, _ = costs.shape
    chosen = np.full((count, columns), -1, dtype=np.int64)
    outcomes = np.zeros(count, dtype=np.int64)
    for i in range(count):
        outcomes[i] = _solve(costs[i], flat, most, first, chosen[i])
    return chosen, outcomes


@njit(cache=True, nogil=True)
def _solve(costs, flat, most, first, best):  # type: ignore[no-untyped-def]  # compiled
    columns, classes = costs.shape
    live = np.zeros((columns, columns, classes), dtype=np.bool_)  # by depth: what is open where
    live[0] = np.isfinite(costs)
    for table in range(len(flat.offsets)):
        if flat.spans[table + 1] - flat.spans[table] == 1:
            column = flat.columns[flat.spans[table]]
            for q in range(classes):
                if live[0, column, q] and not flat.allowed[flat.offsets[table] + q]:
                    live[0, column, q] = False
    now = np.full(columns, -1, dtype=np.int64)
    order = np.zeros(columns, dtype=np.int64)  # the column that is chosen at each depth
    spent = np.zeros(columns)  # before that
    rest = np.zeros(columns)  # cheapest open classes of the columns after it
    lowest, order[0], rest[0] = _outlook(costs, live[0], now)
    least, outcome, steps, depth = np.inf, NONE, 0, 0
    if lowest == np.inf:
        return outcome
    while depth >= 0:
        column = order[depth]
        now[column] = -1
        q, cost = _cheapest_class(costs[column], live[depth, column])
        if q < 0 or spent[depth] + cost + rest[depth] >= least:
            depth -= 1
            continue
        steps += 1
        if steps > most and (first or outcome == FOUND):
            return outcome if outcome == FOUND else UNDECIDED
        live[depth, column, q] = False
        now[column] = q
        if depth == columns - 1:
            least, outcome = spent[depth] + cost, FOUND
            best[:] = now
            if first:
                return outcome
            continue
        live[depth + 1] = live[depth]
        if not _strike(flat, live[depth + 1], now, column):
            continue
        lowest, following, after = _outlook(costs, live[depth + 1], now)
        if spent[depth] + cost + lowest >= least:
            continue
        spent[depth + 1] = spent[depth] + cost
        depth += 1
        order[depth], rest[depth] = following, after
    return outcome


@njit(cache=True, nogil=True)
def _cheapest_class(costs, live):  # type: ignore[no-untyped-def]  # compiled
    q, cost = -1, np.inf
    for other in range(len(costs)):
        if live[other] and costs[other] < cost:
            q, cost = other, costs[other]
    return q, cost


@njit(cache=True, nogil=True)
def _outlook(costs, live, now):  # type: ignore[no-untyped-def]  # compiled
    """Least cost of the open columns, the one with fewest classes left, and that of the others.

    The cost is infinite where a column has no class left.
    """
    columns, classes = costs.shape
    total, fewest, following, own = 0.0, classes + 1, -1, 0.0
    for column in range(columns):
        if now[column] >= 0:
            continue
        left, cost = 0, np.inf
        for q in range(classes):
            if live[column, q]:
                left += 1
                cost = min(cost, costs[column, q])
        if left == 0:
            return np.inf, column, 0.0
        total += cost
        if left < fewest:
            fewest, following, own = left, column, cost
    return total, following, total - own


@njit(cache=True, nogil=True)
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
