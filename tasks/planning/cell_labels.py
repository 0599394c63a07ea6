"""Labels for the cells of a column, for people."""

from itertools import pairwise

import numpy as np

from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.tasks.planning.coding import Codec


def cell_labels(codec: Codec) -> tuple[str, ...]:
    """Labels of all cells of a column, for people; the null cell comes last."""
    column = codec.column
    if isinstance(column, NumericColumn):
        last = 1 if column.integer else 0
        # Ten digits: with the six of a plain `g`, cells of large sums would look the same.
        labels = [
            f"{low:.10g}"
            if column.integer and high - low == 1
            else f"{low:.10g} to {high - last:.10g}"
            for low, high in pairwise(column.edges)
        ]
    elif isinstance(column, DateColumn):
        days = np.asarray(column.edges).astype("datetime64[D]")
        labels = [f"{a} to {b - 1}" for a, b in pairwise(days)]
    else:
        labels = [label or code for code, label in zip(column.codes, column.labels, strict=True)]
    return (*labels, "null") if column.nulls else tuple(labels)
