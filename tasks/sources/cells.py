"""Cells as text: what every format says alike, and nulls where the spec's markers stand."""

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.sources.parts import Source

_EXACT_FLOATS = 2.0**53  # above, floats skip whole numbers


def framed(batch: pa.RecordBatch, source: Source) -> pd.DataFrame:
    """The source's columns of a batch as a frame of trimmed texts."""
    table = pa.Table.from_batches([batch]).select(list(source.columns))
    return as_text(table, source.null_markers)


def as_text(table: pa.Table, null_markers: Sequence[str]) -> pd.DataFrame:
    """The table as a frame of trimmed texts."""
    markers = pa.array(null_markers, pa.string())
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        text = pc.utf8_trim_whitespace(_text_of(column))
        columns[name] = pc.if_else(pc.is_in(text, value_set=markers), None, text)
    return pa.table(columns).to_pandas(types_mapper={pa.string(): pd.StringDtype("pyarrow")}.get)


def _text_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    if pa.types.is_timestamp(column.type):
        # Its day as its own clock shows it: columns of a spec know days, not hours.
        column = column if column.type.tz is None else pc.local_timestamp(column)
        return pc.floor_temporal(column, unit="day").cast(pa.date32()).cast(pa.string())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)  # how pandas writes a null
        # 3.0 is written 3, so that whole numbers that became floats through nulls keep their code
        whole = pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), _EXACT_FLOATS))
        as_integer = pc.if_else(whole, column, None).cast(pa.int64(), safe=False)
        return pc.if_else(whole, as_integer.cast(pa.string()), column.cast(pa.string()))
    return column.cast(pa.string())
