"""How long a text in a table may be: one cell must not fill the memory, in any format."""

import pyarrow as pa
import pyarrow.compute as pc

LONGEST_TEXT = 2**14
"""Bytes of one cell; a category or a number has some ten."""


class Unbounded(Exception):
    """A table would fill the memory; the message names columns that were asked for, no value."""


def longest(column: pa.Array) -> int:
    """Bytes of the longest text in a column, or in its dictionary; 0 where it holds no texts."""
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    kind = values.type
    if not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        return 0
    return pc.max(pc.binary_length(values)).as_py() or 0


def refuse_long(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, whose texts are no longer than `LONGEST_TEXT`.

    Raises:
        Unbounded: a column has a longer one.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if longest(column) > LONGEST_TEXT:
            raise too_long(name)
    return batch


def too_long(name: str) -> Unbounded:
    """The refusal of a column with such a text."""
    return Unbounded(
        f"column {name} has a text of more than {LONGEST_TEXT:,} bytes; shorten it, or list the "
        "column under data.ignore"
    )
