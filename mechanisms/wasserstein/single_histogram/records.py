"""Turn a distribution over points into equally weighted records.

Claim.   Every cumulative share along the given path moves by at most 1 / (2 rows), so along a path
         of length l the records lie within l / (2 rows) of the distribution in W1.
Source.  "Private measures, random walks, and synthetic data" (2024), Corollary 7.3, which rounds
         every weight down instead and may move (points / rows) times the diameter.
Oracle.  tests/mechanisms/wasserstein/single_histogram/test_records.py compares with exact
         transport.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.contract import SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain


def records_along(
    order: NDArray[np.int64], masses: NDArray[np.float64], rows: int
) -> NDArray[np.int64]:
    """Point of every record, shape (rows,).

    Args:
        order: the points along a path, shape (size,).
        masses: nonnegative and not all zero, by point, shape (size,).
    """
    cumulative = np.cumsum(masses[order])
    bounds = np.floor(rows * (cumulative / cumulative[-1]) + 0.5).astype(np.int64)
    return np.repeat(order, np.diff(bounds, prepend=0))


def public_records(domain: Domain, rows: int, history: Mapping[str, Any]) -> SyntheticMeasure:
    """A table whose rows are all the same record, the middle cell of every column.

    For tables whose number of records comes out as 0, so that there is nothing to share out.
    """
    middle = [attribute.levels // 2 for attribute in domain.attributes]
    codes = np.tile(np.array(middle, dtype=np.int32), (rows, 1))
    return SyntheticMeasure(codes=codes, history=history)


def refuse_no_rows(rows: int | None) -> None:
    """Refuse to make no records.

    Raises:
        ValueError: fewer than 1 are asked for.
    """
    if rows is not None and rows < 1:
        raise ValueError(f"output.rows: {rows}; ask for at least 1")
