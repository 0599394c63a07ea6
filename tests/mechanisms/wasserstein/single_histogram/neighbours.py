"""All neighbours of tiny tables, and what a plan's queries lose between them."""

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.queries import HistogramQuery


def neighbours(
    shape: Sequence[int], adjacency: Adjacency, rest: Sequence[Sequence[int]] = ()
) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Pairs of tables that differ in what one unit owns, beside a rest that they share."""
    records = [list(codes) for codes in itertools.product(*map(range, shape))]
    owned = [
        list(unit)
        for size in range(adjacency.records + 1)
        for unit in itertools.combinations_with_replacement(records, size)
    ]
    if adjacency.neighbours is Neighbours.ADD_REMOVE:
        pairs: Iterable[tuple[list, list]] = (([], unit) for unit in owned)
    else:
        pairs = itertools.combinations(owned, 2)
    for one, other in pairs:
        if len(one) == len(other) or not adjacency.total_is_public:
            tables = ([*rest, *one], [*rest, *other])
            yield tuple(np.array(t, dtype=int).reshape(-1, len(shape)) for t in tables)


def loss(queries: Sequence[HistogramQuery], one: np.ndarray, other: np.ndarray) -> Fraction:
    """Privacy loss of Laplace noise between two tables, exactly."""
    lost = Fraction(0)
    for query in queries:
        before, after = (
            query.transform(count_codes(table, [query.cells])[0]) for table in (one, other)
        )
        lost += Fraction(int(np.abs(before - after).sum())) / query.noise.scale
    return lost
