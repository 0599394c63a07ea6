"""3-sparse threshold queries: how many records lie beyond a plane over three attributes.

Claim.   `threshold_error` is mean |answer on synthetic - answer on real| over mean answer on real,
         answers being shares of records with theta . x > b for embedded codes x.
Source.  Donhauser et al. (2024), section 4.1, where the sign of b is not consistent and the law of
         theta is not given. Here theta is uniform on the sphere, and b is uniform between the
         least and the largest theta . x among the real records.
Oracle.  tests/mechanisms/utility/test_queries.py: record by record; and the benchmark's reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.utility.coded import Columns, centres
from hallmark.mechanisms.utility.counting_queries import (
    ATTRIBUTES,
    QUERIES,
    QueryError,
    query_error,
)


@dataclass(frozen=True, kw_only=True)
class HalfSpace:
    """Records beyond a threshold along a unit vector over `columns`."""

    columns: tuple[int, ...]
    direction: tuple[float, ...]
    threshold: float


def threshold_error(
    real: Columns, synthetic: Columns, sizes: Sequence[int], *, rng: np.random.Generator
) -> QueryError:
    """The error of queries drawn from `real`.

    A query over columns that are constant in `real` has answer 0 there, and counts.
    """
    spaces = draw_half_spaces(real, sizes, rng=rng)
    error = query_error(
        half_space_shares(real, sizes, spaces), half_space_shares(synthetic, sizes, spaces)
    )
    assert error is not None, "there is always a half-space"
    return error


def draw_half_spaces(
    real: Columns, sizes: Sequence[int], *, rng: np.random.Generator, queries: int = QUERIES
) -> list[HalfSpace]:
    """Half-spaces whose plane passes between real records; over all columns if these are few."""
    spaces = []
    for _ in range(queries):
        columns = rng.choice(len(sizes), size=min(ATTRIBUTES, len(sizes)), replace=False)
        direction = rng.standard_normal(len(columns))
        direction /= np.linalg.norm(direction)
        along = _along(real, sizes, columns.tolist(), direction.tolist())
        spaces.append(
            HalfSpace(
                columns=tuple(columns.tolist()),
                direction=tuple(direction.tolist()),
                threshold=float(rng.uniform(along.min(), along.max())),
            )
        )
    return spaces


def half_space_shares(table: Columns, sizes: Sequence[int], spaces: Sequence[HalfSpace]) -> Floats:
    """The share of records in every half-space."""
    records = table.shape[1]
    return np.array(
        [
            np.count_nonzero(_along(table, sizes, s.columns, s.direction) > s.threshold) / records
            for s in spaces
        ]
    )


def _along(
    table: Columns, sizes: Sequence[int], columns: Sequence[int], direction: Sequence[float]
) -> Floats:
    """How far every record lies along a direction."""
    total = np.zeros(table.shape[1])
    for column, slope in zip(columns, direction, strict=True):
        total += (centres(sizes[column]) * slope)[table[column]]
    return total
