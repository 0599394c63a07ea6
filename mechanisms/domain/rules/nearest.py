"""The nearest valid record to one that breaks a rule.

Claim.   A record moves by the least possible sum over attributes of |a - b| / k between two of k
         ordered values, and of 1 for any other change; of ways as short, by one that changes
         fewest attributes. This is exact: moving to a class costs as much as to its nearest cell,
         and the search over classes is.
         Ties fall at random, those between cells in proportion to how common the cells are.
Oracle.  tests/mechanisms/domain/rules/test_nearest.py: all records of small domains.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats, Integers
from hallmark.mechanisms.domain.rules.component import Component, distinct
from hallmark.mechanisms.domain.rules.search import FOUND, cheapest

# Distances are told apart down to _CHANGE; below that decides how many attributes change, and below
# that chance. The weights of chance are cut off so that a dozen columns stay below one change.
_CHANGE = 1e-7
_CHANCE = 1e-14
_RAREST = 1e-4

_WAYS = 32  # ties are drawn this often for records alike, to search once for many of them
_AT_ONCE = 1024


def nearest_valid(
    component: Component,
    codes: NDArray[np.integer],
    common: Sequence[NDArray[np.integer]],
    rng: np.random.Generator,
    fixed: Sequence[bool] | None = None,
) -> Integers:
    """Valid records near `codes`, both of shape (n, columns of the component).

    Args:
        common: how often each cell occurs, by column; ties fall in proportion.
        fixed: whether the column keeps its cells; none does where it is not given.
    Raises:
        ValueError: no valid record exists, or none with what is fixed.
    """
    weights = [counts / max(counts.sum(), 1) for counts in common]
    drawn = _drawn_per_tuple(codes, rng)
    _, first, inverse = distinct(drawn)
    still = [False] * len(component.columns) if fixed is None else fixed
    classes = _classes(component, codes[first], weights, rng, still)[inverse]
    moved = codes.astype(np.int64)
    for j, has in enumerate(component.members):
        rows = np.flatnonzero(~has[codes[:, j], classes[:, j]])
        moved[rows, j] = _cells(component, j, codes[rows, j], classes[rows, j], weights[j], rng)
    return moved


def _drawn_per_tuple(codes: NDArray[np.integer], rng: np.random.Generator) -> Integers:
    """The codes with the number of one of `_WAYS` draws beside them."""
    draws = rng.integers(_WAYS, size=len(codes))
    return np.column_stack([codes, draws]).astype(np.int64)


def _classes(
    component: Component,
    codes: NDArray[np.integer],
    weights: Sequence[Floats],
    rng: np.random.Generator,
    fixed: Sequence[bool],
) -> Integers:
    """Class of every column in the nearest valid record, shape (n, columns)."""
    distances = [_distances(component, j, codes[:, j]) for j in range(len(component.columns))]
    distances = [
        (known, np.where(away > 0, np.inf, 0.0) if still else away)
        for (known, away), still in zip(distances, fixed, strict=True)
    ]
    rarity = [
        _CHANCE / np.maximum(weight @ has, _RAREST)
        for weight, has in zip(weights, component.members, strict=True)
    ]
    chosen = np.empty(codes.shape, dtype=np.int64)
    for start in range(0, len(codes), _AT_ONCE):
        stop = min(start + _AT_ONCE, len(codes))
        costs = np.full((stop - start, len(component.columns), max(component.classes)), np.inf)
        for j, (known, way) in enumerate(distances):
            away = way[np.searchsorted(known, codes[start:stop, j])]
            chance = np.minimum(rng.exponential(size=away.shape), 10.0) * rarity[j]
            costs[:, j, : component.classes[j]] = np.where(away > 0, away + _CHANGE + chance, 0.0)
        chosen[start:stop], outcome = cheapest(costs, component.flat, component.forest)
        if (outcome != FOUND).any():
            raise ValueError(
                "no record obeys all rules; see hallmark.mechanisms.domain.rules.check"
            )
    return chosen


def _distances(
    component: Component, j: int, codes: NDArray[np.integer]
) -> tuple[NDArray[np.integer], Floats]:
    """The different codes, and the distance from each to the nearest cell of each class."""
    known = np.unique(codes)
    has = component.members[j]
    away = np.where(has[known], 0.0, 1.0)
    levels = component.shape[j] - component.nullable[j]
    if component.ordered[j]:
        values = np.flatnonzero(known < levels)
        for q in range(component.classes[j]):
            cells = np.flatnonzero(has[:levels, q])
            if len(cells):
                near, _ = _nearest_two(cells, known[values])
                away[values, q] = np.abs(near - known[values]) / levels
    return known, away


def _cells(
    component: Component,
    j: int,
    codes: NDArray[np.integer],
    classes: Integers,
    weight: Floats,
    rng: np.random.Generator,
) -> Integers:
    """A nearest cell of its class for each code."""
    has = component.members[j]
    levels = component.shape[j] - component.nullable[j]
    chosen = np.empty(len(codes), dtype=np.int64)
    for q in np.unique(classes):
        rows = np.flatnonzero(classes == q)
        cells = np.flatnonzero(has[:, q])
        if component.ordered[j] and (cells < levels).any():
            values = rows[codes[rows] < levels]
            chosen[values] = _near(cells[cells < levels], codes[values], weight, rng)
            rows = rows[codes[rows] >= levels]
        chosen[rows] = _by_weight(cells, weight, len(rows), rng)
    return chosen


def _near(
    cells: Integers, codes: NDArray[np.integer], weight: Floats, rng: np.random.Generator
) -> Integers:
    near, mirrored = _nearest_two(cells, codes)
    both = weight[near] + weight[mirrored]
    share = np.divide(weight[mirrored], both, out=np.full(len(codes), 0.5), where=both > 0)
    return np.where(rng.random(len(codes)) < share, mirrored, near)


def _nearest_two(cells: Integers, codes: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """For each code the nearest of the ascending `cells`, and one as near (mostly the same)."""
    after = np.searchsorted(cells, codes)
    right = cells[np.minimum(after, len(cells) - 1)]
    left = cells[np.maximum(after - 1, 0)]
    to_right, to_left = np.abs(right - codes), np.abs(left - codes)
    near = np.where(to_right <= to_left, right, left)
    return near, np.where(to_right == to_left, left, near)


def _by_weight(cells: Integers, weight: Floats, count: int, rng: np.random.Generator) -> Integers:
    share = weight[cells]
    total = share.sum()
    return rng.choice(cells, size=count, p=share / total if total > 0 else None)
