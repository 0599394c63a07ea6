"""Cells as text: what every format says alike, and nulls where the spec's markers stand.

Numbers come out with a decimal point and without thousands signs, however a CSV file writes them.
"""

from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hallmark.schemas.columns.number_marks import PLAIN, NumberMarks
from hallmark.tasks.sources.parts import Source

_EXACT_FLOATS = 2.0**53  # above, floats skip whole numbers


def framed(batch: pa.RecordBatch, source: Source, *, written: bool = False) -> pd.DataFrame:
    """The source's columns of a batch as a frame of trimmed texts.

    Args:
        written: whether the batch holds texts of a CSV file, in which numbers have its marks.
    """
    own, marks = dict(source.own_markers), dict(source.marks) if written else {}
    columns = {}
    for name in source.columns:
        text = pc.utf8_trim_whitespace(_text_of(batch.column(name)))
        markers = pa.array(own.get(name, source.null_markers), pa.string())
        text = pc.if_else(pc.is_in(text, value_set=markers), None, text)
        columns[name] = _with_plain_numbers(text, marks[name]) if name in marks else text
    return pa.table(columns).to_pandas(types_mapper={pa.string(): pd.StringDtype("pyarrow")}.get)


def plain_text(text: str, name: str, source: Source) -> str | None:
    """One text of a column as `framed` gives it, where a person writes it as a CSV file would."""
    narrowed = replace(source, columns=(name,))
    frame = framed(pa.record_batch({name: pa.array([text], pa.string())}), narrowed, written=True)
    value = frame[name].iloc[0]
    return None if pd.isna(value) else str(value)


def _with_plain_numbers(text: pa.Array, marks: NumberMarks) -> pa.Array:
    """Numbers as Hallmark writes them; what is none in these marks stays none.

    Where the comma is the decimal mark, 1.5 is no number, but would be one in our own marks: such
    texts are put into quotes.
    """
    plain = text
    for sign, instead in ((marks.thousands, ""), (marks.decimal, PLAIN.decimal)):
        if sign:
            plain = pc.replace_substring(plain, pattern=sign, replacement=instead)
    quoted = pc.binary_join_element_wise('"', text, '"', "")
    return pc.if_else(pc.match_substring_regex(text, pattern=marks.pattern), plain, quoted)


def _text_of(column: pa.Array) -> pa.Array:
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
