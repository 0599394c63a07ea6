"""Coded tables as the metrics look at them: checked, cut to few cells, embedded, by column."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes, Floats

Columns = NDArray[np.unsignedinteger]

MOST_CELLS = 32  # of a column, in the tables that the paper compares


def check(codes: AnyCodes, sizes: Sequence[int], *, what: str, least: int = 1) -> None:
    """Do nothing if `codes` is a table of at least `least` records with `sizes[i]` cells a column.

    Raises:
        ValueError: it is not; names the table as `what` and the column by its position.
    """
    if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(
            f"{what}: an array of {codes.dtype} of shape {codes.shape}; give integer codes of "
            "shape (records, columns)"
        )
    if not sizes or codes.shape[1] != len(sizes):
        raise ValueError(f"{what}: {codes.shape[1]} columns, but {len(sizes)} sizes; give as many")
    if len(codes) < least:
        raise ValueError(f"{what}: too few records to compare; give {least} at least")
    outside = np.flatnonzero((codes.min(axis=0) < 0) | (codes.max(axis=0) >= np.asarray(sizes)))
    if len(outside):
        column = int(outside[0])
        raise ValueError(
            f"{what}: column {column} has a code outside 0..{sizes[column] - 1}; code it with the "
            "domain that the sizes are of"
        )


def by_column(codes: AnyCodes, sizes: Sequence[int]) -> Columns:
    """The columns one after the other, shape (columns, records), in the narrowest unsigned type.

    A query reads three columns of all records, so it is as fast as their bytes are few.
    """
    narrowest = np.min_scalar_type(max(sizes) - 1)
    return np.ascontiguousarray(codes.T, dtype=narrowest)


def centres(size: int) -> Floats:
    """Where the codes of a column with `size` cells lie in [0, 1]."""
    centres: Floats = (np.arange(size) + 0.5) / size
    return centres


def coarsen(
    codes: AnyCodes, sizes: Sequence[int], *, nulls: Sequence[bool], most: int = MOST_CELLS
) -> tuple[AnyCodes, tuple[int, ...]]:
    """The table with at most `most` cells a column, and its sizes; neighbouring cells are merged.

    Of k cells, cell i goes to i * most // k, so that merged cells hold as many as can be. A null
    cell, the last one where `nulls` says so, stays a cell of its own. Columns with few cells
    stay as they are.

    Raises:
        ValueError: `most` is below 2.
    """
    if most < 2:
        raise ValueError(f"most: {most} cells; keep 2 at least, one of them for nulls")
    merged = np.empty(codes.shape, dtype=np.min_scalar_type(max(*sizes, most) - 1))
    kept = []
    for column, (size, null) in enumerate(zip(sizes, nulls, strict=True)):
        levels = size - null
        left = min(levels, most - null)
        table = np.append(np.arange(levels) * left // max(levels, 1), [left] * null)
        merged[:, column] = table[codes[:, column]]
        kept.append(left + null)
    return merged, tuple(kept)


def relative(error: float, size: float) -> float | None:
    """`error / size`; 0 where the error is 0, None where an error stands against nothing."""
    if error == 0:
        return 0.0
    return error / size if size > 0 else None
