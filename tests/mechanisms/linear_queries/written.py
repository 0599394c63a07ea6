"""Queries written out: a row a query, a column for every combination of codes."""

from collections.abc import Sequence

import numpy as np

from hallmark.mechanisms.linear_queries.kinds import Part
from hallmark.mechanisms.privacy.linear_queries import LinearQueries


def all_records(shape: Sequence[int]) -> np.ndarray:
    """One record of every combination of codes, in C order."""
    return np.indices(shape).reshape(len(shape), -1).T


def written_out(queries: LinearQueries, shape: Sequence[int]) -> np.ndarray:
    """Values of all queries, shape (queries, combinations)."""
    records, rows = all_records(shape), []
    for block in queries.blocks:
        cells = block.cells(records)
        rows += [block.rows.row(query)[cells] for query in range(block.rows.size)]
    return np.stack(rows) / queries.unit


def part_written_out(part: Part, shape: Sequence[int]) -> np.ndarray:
    """As `written_out`, of one part."""
    cells = part.cells(all_records(shape))
    return np.stack([part.rows.row(q)[cells] for q in range(part.rows.size)]) / part.unit
