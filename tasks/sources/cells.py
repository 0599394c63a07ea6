"""Cells as text: what every format says alike, and nulls where the spec's markers stand.

Numbers come out with a decimal point and without thousands signs, however a CSV file writes them.
Codes come out as the spec's rule recodes them. A column has few different cells compared with its
records: they are made text once each, and where the file holds numbers, and numbers are what is
wanted, they stay numbers (`Cells.numbers`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hallmark.schemas.columns.number_marks import PLAIN, NumberMarks
from hallmark.tasks.sources.parts import Recoded, Source

_EXACT_FLOATS = 2.0**53  # above, floats skip whole numbers


def framed(batch: pa.RecordBatch, source: Source, *, written: bool = False) -> pd.DataFrame:
    """The source's columns of a batch as a frame of trimmed texts.

    Args:
        written: whether the batch holds texts of a CSV file, in which numbers have its marks.
    """
    own, marks = dict(source.own_markers), dict(source.marks) if written else {}
    recodes = {one.name: one for one in source.recodes}
    columns = {}
    for name in source.columns:
        text = pc.utf8_trim_whitespace(_text_of(batch.column(name)))
        markers = pa.array(own.get(name, source.null_markers), pa.string())
        text = pc.if_else(pc.is_in(text, value_set=markers), None, text)
        if name in marks:
            text = _with_plain_numbers(text, marks[name])
        columns[name] = _recoded(text, recodes[name]) if name in recodes else text
    return pa.table(columns).to_pandas(types_mapper={pa.string(): pd.StringDtype("pyarrow")}.get)


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of a batch.

    Attributes:
        name: of the column.
        different: its different cells as the file has them, perhaps with some that no record has.
        places: which of them every record has, shape (records,).
        source: how they are written.
        written: as of `framed`.
    """

    name: str
    different: pa.Array
    places: NDArray[np.int32]
    source: Source
    written: bool

    @cached_property
    def texts(self) -> pd.Series:
        """The different cells as `framed` has them."""
        return _texts(self.name, self.different, self.source, written=self.written)

    @property
    def originals(self) -> pd.Series:
        """The different cells as texts before any recode, as whoever has the file finds them."""
        plain = replace(self.source, recodes=())
        return _texts(self.name, self.different, plain, written=self.written)

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers that the texts say, NaN for a null; None where the file holds no numbers, or
        shorter ones than these, whose texts say others."""
        kind = self.different.type
        if not (pa.types.is_integer(kind) or pa.types.is_float64(kind)):
            return None
        values = self.different.to_numpy(zero_copy_only=False).astype(np.float64)
        markers = dict(self.source.own_markers).get(self.name, self.source.null_markers)
        meant = [value for marker in markers for value in _meant(marker, kind)]
        null = pc.is_in(self.different, value_set=pa.array(meant, kind))
        return np.where(null.to_numpy(zero_copy_only=False), np.nan, values)

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """How many records have each of the different cells."""
        return np.bincount(self.places, minlength=len(self.different))


def encoded(batch: pa.RecordBatch, source: Source, *, written: bool = False) -> Mapping[str, Cells]:
    """The source's columns of a batch, each cell that differs once.

    Args: as of `framed`.
    """
    found = {}
    for name in source.columns:
        different, places = _different(batch.column(name))
        found[name] = Cells(name, different, places, source, written)
        if found[name].numbers is None:
            found[name].texts  # noqa: B018  # read here, where what cannot be read is told
    return found


def _different(column: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """The different cells, with a null where there is one, and the place of every record's."""
    if pa.types.is_dictionary(column.type):
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        places = column.indices.cast(pa.int32()).fill_null(len(values) - 1)
        return values, places.to_numpy(zero_copy_only=False)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    coded = column.dictionary_encode(null_encoding="encode")
    return coded.dictionary, coded.indices.to_numpy(zero_copy_only=False)


def _meant(marker: str, kind: pa.DataType) -> list[int] | list[float]:
    """The number of this type that is written as the marker, if there is one."""
    try:
        number = int(marker) if pa.types.is_integer(kind) else float(marker)
        written = _text_of(pa.array([number], kind))[0].as_py()
    except (ValueError, OverflowError, pa.ArrowInvalid):
        return []
    return [number] if written == marker else []


def _texts(name: str, cells: pa.Array, source: Source, *, written: bool) -> pd.Series:
    narrowed = replace(source, columns=(name,))
    return framed(pa.record_batch({name: cells}), narrowed, written=written)[name]


def plain_text(text: str, name: str, source: Source) -> str | None:
    """One text of a column as `framed` gives it, where a person writes it as a CSV file would."""
    value = _texts(name, pa.array([text], pa.string()), source, written=True).iloc[0]
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


def _recoded(text: pa.Array, recoded: Recoded) -> pa.Array:
    """What codes become by the rule, as `Recode.of_code` has them; nulls stay."""
    rule = recoded.rule
    if rule.codes is not None:
        places = pc.index_in(text, value_set=pa.array(list(rule.codes.by_old), pa.string()))
        found = pa.array(list(rule.codes.by_old.values()), pa.string()).take(places)
    else:
        length = pc.utf8_length(text)
        fits = (
            pc.greater_equal(length, rule.first) if rule.of is None else pc.equal(length, rule.of)
        )
        found = pc.if_else(fits, pc.utf8_slice_codeunits(text, 0, rule.first), None)
    return pc.if_else(pc.is_null(text), None, pc.fill_null(found, recoded.uncovered))


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
