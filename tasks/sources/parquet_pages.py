"""The pages of a column in a Parquet file, by their headers alone: nothing is decompressed.

What a footer says of sizes is not checked by whoever decodes the pages: they are as large as their
own headers say. Of a header only what bounds the memory of a reader is looked at.

Source.  PageHeader of the Apache Parquet format, and the compact protocol of Apache Thrift.
Oracle.  tests/tasks/sources/test_parquet_bounds.py compares with what pyarrow writes and reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

_USUAL_HEADER, _LONGEST_HEADER = 2**12, 2**24  # bytes; pyarrow reads no longer one either
_INT32, _STRUCT = 5, 12  # types of the protocol
_TYPE, _SIZE, _COMPRESSED = (1, _INT32), (2, _INT32), (3, _INT32)
_DATA, _DICTIONARY, _DATA_V2 = (5, _STRUCT), (7, _STRUCT), (8, _STRUCT)
_VALUES, _ENCODING, _ENCODING_V2 = (1, _INT32), (2, _INT32), (4, _INT32)
_OF_TYPE = {0: (_DATA, _ENCODING), 2: (_DICTIONARY, _ENCODING), 3: (_DATA_V2, _ENCODING_V2)}
_DICTIONARY_PAGE = 2
_BY_PREFIX, _BY_DICTIONARY = 7, (2, 8)  # DELTA_BYTE_ARRAY; PLAIN_DICTIONARY, RLE_DICTIONARY

_Fields = Mapping[tuple[int, int], Any]  # by number and type, as a reader tells them apart


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        size: in bytes, decompressed.
        values: how many it holds, nulls included.
        is_dictionary: whether others refer to its values.
        refers: whether its values are places in the dictionary.
        by_prefix: whether a value may repeat the start of the one before it at no cost.
    """

    size: int
    values: int
    is_dictionary: bool
    refers: bool
    by_prefix: bool


def pages(handle: BinaryIO, chunk: pq.ColumnChunkMetaData) -> Iterator[Page]:
    """The pages that a reader of the chunk decodes, in order.

    Raises:
        pyarrow.ArrowInvalid: a header is broken, or the chunk ends too early.
    """
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset]
    at, end, left = min(starts), min(starts) + chunk.total_compressed_size, chunk.num_values
    while left > 0 and at < end:
        header, length = _header(handle, at)
        kind, size, compressed = (_counted(header, key) for key in (_TYPE, _SIZE, _COMPRESSED))
        at += length + compressed
        if kind not in _OF_TYPE:  # readers skip it
            continue
        place, encoded = _OF_TYPE[kind]
        values = _counted(header.get(place, {}), _VALUES)
        encoding = _counted(header[place], encoded)
        is_dictionary = kind == _DICTIONARY_PAGE
        left -= 0 if is_dictionary else values
        yield Page(size, values, is_dictionary, encoding in _BY_DICTIONARY, encoding == _BY_PREFIX)


def _counted(fields: _Fields, key: tuple[int, int]) -> int:
    """A field that a sound header has, and that is not negative."""
    value = fields.get(key)
    if not isinstance(value, int) or value < 0:
        raise pa.ArrowInvalid("a page header is broken")
    return value


def _header(handle: BinaryIO, at: int) -> tuple[_Fields, int]:
    """The header that starts `at` this byte, and its length."""
    for most in (_USUAL_HEADER, _LONGEST_HEADER):
        handle.seek(at)
        stream = BytesIO(handle.read(most))
        try:
            return _struct(stream, 0), stream.tell()
        except EOFError:
            continue
    raise pa.ArrowInvalid("a page header has no end")


# The compact protocol

_TRUE, _FALSE, _BYTE, _INTS, _DOUBLE = 1, 2, 3, (4, 5, 6), 7
_BINARY, _LISTS, _MAP = 8, (9, 10), 11
_DEEPEST = 8  # structures within each other; a header has three


def _struct(stream: BytesIO, depth: int) -> _Fields:
    if depth > _DEEPEST:
        raise pa.ArrowInvalid("a page header is nested too deeply")
    fields: dict[tuple[int, int], Any] = {}
    number = 0
    while (start := _byte(stream)) != 0:
        step, kind = start >> 4, start & 0x0F
        number = number + step if step else _zigzag(stream)
        fields[number, kind] = None if kind in (_TRUE, _FALSE) else _value(stream, kind, depth)
    return fields


def _value(stream: BytesIO, kind: int, depth: int) -> Any:
    if kind in _INTS:
        return _zigzag(stream)
    if kind == _STRUCT:
        return _struct(stream, depth + 1)
    if kind in _LISTS:
        start = _byte(stream)
        number = _varint(stream) if start >> 4 == 15 else start >> 4
        for _ in range(number):
            _value(stream, start & 0x0F, depth + 1)
    elif kind == _MAP:
        raise pa.ArrowInvalid("a page header holds a map, and no version of the format has one")
    else:
        sizes = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}
        _skip(stream, _varint(stream) if kind == _BINARY else sizes.get(kind, _LONGEST_HEADER))
    return None


def _skip(stream: BytesIO, number: int) -> None:
    if len(stream.read(number)) < number:
        raise EOFError


def _byte(stream: BytesIO) -> int:
    if not (read := stream.read(1)):
        raise EOFError
    return read[0]


def _varint(stream: BytesIO) -> int:
    value = shift = 0
    while True:
        byte = _byte(stream)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 63:
            raise pa.ArrowInvalid("a page header holds a number without an end")


def _zigzag(stream: BytesIO) -> int:
    value = _varint(stream)
    if value >= 2**32:  # readers keep the last 32 bits of a longer one
        raise pa.ArrowInvalid("a page header holds too large a number")
    return (value >> 1) ^ -(value & 1)
