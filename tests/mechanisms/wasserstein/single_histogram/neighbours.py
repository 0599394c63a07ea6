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
    return _lost(queries, _answers(queries, one), _answers(queries, other))


def most_lost(
    queries: Sequence[HistogramQuery],
    shape: Sequence[int],
    adjacency: Adjacency,
    rest: Sequence[Sequence[int]] = (),
) -> Fraction:
    """Largest privacy loss over all neighbours; 0 where there are none."""
    answers: dict[bytes, list[np.ndarray]] = {}

    def answered(table: np.ndarray) -> list[np.ndarray]:
        key = table.tobytes()
        if key not in answers:
            answers[key] = _answers(queries, table)
        return answers[key]

    pairs = neighbours(shape, adjacency, rest)
    return max(
        (_lost(queries, answered(one), answered(other)) for one, other in pairs),
        default=Fraction(0),
    )


def _answers(queries: Sequence[HistogramQuery], table: np.ndarray) -> list[np.ndarray]:
    counts = count_codes(table, [query.cells for query in queries])
    return [query.transform(counted) for query, counted in zip(queries, counts, strict=True)]


def _lost(
    queries: Sequence[HistogramQuery], before: list[np.ndarray], after: list[np.ndarray]
) -> Fraction:
    return sum(
        (
            Fraction(int(np.abs(one - other).sum())) / query.noise.scale
            for query, one, other in zip(queries, before, after, strict=True)
        ),
        Fraction(0),
    )
