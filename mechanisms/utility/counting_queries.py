"""3-sparse counting queries: how many records lie in a box over three attributes.

Claim.   `counting_error` is mean |answer on synthetic - answer on real| over mean answer on real,
         answers being shares of records, over queries drawn from the real table.
Source.  Donhauser et al. (2024), section 4.1: three distinct attributes, lo uniform over the
         codes, hi uniform from lo on; kept if 5 % to 95 % of the real records lie in the box.
Oracle.  tests/mechanisms/utility/test_queries.py: record by record; and the benchmark's reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.utility.coded import Columns, relative

QUERIES = 200
ATTRIBUTES = 3
ACCEPTED = (0.05, 0.95)  # shares of the real records
MOST_TRIES = 500_000
MOST_IN_VAIN = 20_000  # one after the other
_ROUNDING = 1e-9  # of sums of shares; in doubt, records are counted


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """The errors of a set of queries.

    Attributes:
        relative: mean absolute error over the mean answer on the real table; None where all of
            these answers are 0 and the synthetic ones are not.
        absolute: mean absolute error, a share of records.
        queries: how many there were.
    """

    relative: float | None
    absolute: float
    queries: int


@dataclass(frozen=True, kw_only=True)
class Box:
    """Records whose code in each of `columns` is in low..high, both ends included."""

    columns: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def counting_error(
    real: Columns, synthetic: Columns, sizes: Sequence[int], *, rng: np.random.Generator
) -> QueryError | None:
    """The error of queries drawn from `real`; None where none was found (see `draw_boxes`)."""
    boxes = draw_boxes(real, sizes, rng=rng)
    return query_error(box_shares(real, boxes), box_shares(synthetic, boxes))


def draw_boxes(
    real: Columns, sizes: Sequence[int], *, rng: np.random.Generator, queries: int = QUERIES
) -> list[Box]:
    """Boxes that hold neither few nor almost all real records; over all columns if these are few.

    There may be fewer than `queries`, or none: tables of (nearly) constant columns have no such
    box. The search ends after 20,000 tries in vain, or 500,000 in all.

    Records are looked at only where the shares of single columns leave it open whether a box holds
    few of them, or almost all: of skewed columns, nearly every box can be told from those.
    """
    upto = [_cumulated(real[column], size) for column, size in enumerate(sizes)]
    boxes: list[Box] = []
    in_vain = 0
    for _ in range(MOST_TRIES):
        columns = rng.choice(len(sizes), size=min(ATTRIBUTES, len(sizes)), replace=False).tolist()
        low = [int(rng.integers(0, sizes[c])) for c in columns]
        high = [int(rng.integers(a, sizes[c])) for a, c in zip(low, columns, strict=True)]
        box = Box(columns=tuple(columns), low=tuple(low), high=tuple(high))
        in_vain += 1
        if _may_be_accepted(upto, box) and ACCEPTED[0] <= _share(real, box) <= ACCEPTED[1]:
            boxes.append(box)
            in_vain = 0
        if len(boxes) == queries or in_vain == MOST_IN_VAIN:
            break
    return boxes


def box_shares(table: Columns, boxes: Sequence[Box]) -> Floats:
    """The share of records in every box."""
    return np.array([_share(table, box) for box in boxes])


def query_error(real: Floats, synthetic: Floats) -> QueryError | None:
    """The error of answers on the synthetic table; None without a query."""
    if len(real) == 0:
        return None
    absolute = float(np.abs(synthetic - real).mean())
    return QueryError(
        relative=relative(absolute, float(real.mean())), absolute=absolute, queries=len(real)
    )


def _cumulated(column: Columns, size: int) -> Floats:
    """The share of records with a code below each number from 0 to `size`."""
    counts = np.bincount(column, minlength=size)
    return np.concatenate([[0.0], counts.cumsum() / len(column)])


def _may_be_accepted(upto: Sequence[Floats], box: Box) -> bool:
    """False only for boxes that hold too few records or too many, by the columns' own shares p: the
    box has at most min p and at least 1 - sum (1 - p)."""
    shares = [
        float(upto[column][high + 1] - upto[column][low])
        for column, low, high in zip(box.columns, box.low, box.high, strict=True)
    ]
    least, most = 1 - sum(1 - share for share in shares), min(shares)
    return most >= ACCEPTED[0] - _ROUNDING and least <= ACCEPTED[1] + _ROUNDING


def _share(table: Columns, box: Box) -> float:
    inside = np.ones(table.shape[1], dtype=bool)
    for column, low, high in zip(box.columns, box.low, box.high, strict=True):
        # Codes below `low` wrap around to large ones: one comparison serves both ends.
        inside &= (table[column] - table.dtype.type(low)) <= high - low
    return float(np.count_nonzero(inside) / len(inside))
