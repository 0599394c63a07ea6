"""By what a copy of a table is known: the bytes of its files, and its records in any order.

Records count by their cells, so that a copy is known in another format, order or spelling, and
with values moved within their cells. A table with one record more or less, or with one other value,
is another table here: revealing the overlap of two tables would let anyone holding one probe the
other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.compiled import compiled
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.sources import Source, batches, file_hashes, parts


@dataclass(frozen=True)
class Likeness:
    """What copies of a table have in common. As internal as the table."""

    files: frozenset[str]  # SHA-256 of each file; none of a database
    records: str | None = None  # a digest that no order changes; None: not known
    rows: int | None = None

    def is_of(self, other: "Likeness") -> bool:
        """Whether the two are of copies of one table, or share a file."""
        same = self.records is not None and self.records == other.records
        return same or bool(self.files & other.files)


class RecordSums(NamedTuple):
    """What is added up over the records of a table, in any order and in any blocks. As internal
    as the table.

    Every record is hashed to two words of 64 bits by the finaliser of SplitMix64 (Steele, Lea,
    Flood 2014). The sums tell tables apart that nobody made to look alike; a table forged to look
    private is merely refused.
    """

    rows: int = 0
    first: int = 0
    second: int = 0

    @classmethod
    def of(cls, codes: AnyCodes) -> "RecordSums":
        """The sums of some records, shape (rows, columns)."""
        first, second = _hashed(codes)
        return cls(len(codes), int(first), int(second))

    def plus(self, other: "RecordSums") -> "RecordSums":
        """The sums of these and other records."""
        first, second = (self.first + other.first) % 2**64, (self.second + other.second) % 2**64
        return RecordSums(self.rows + other.rows, first, second)


def likeness_of_records(codec: TableCodec, sums: RecordSums, hashes: Iterable[str]) -> Likeness:
    """The likeness of a table of these records, in files with these hashes."""
    columns = [(one.name, one.attribute.cells) for one in codec.codecs]
    content = repr((columns, [sums.first, sums.second], sums.rows))
    return Likeness(frozenset(hashes), sha256(content.encode()).hexdigest(), sums.rows)


def likeness_of_codes(codec: TableCodec, codes: AnyCodes, source: Source) -> Likeness:
    """The likeness of a table whose records were coded already, all in memory."""
    return likeness_of_records(codec, RecordSums.of(codes), file_hashes(source).values())


def likeness(codec: TableCodec, source: Source, most: int | None = None) -> Likeness:
    """The likeness of the table at `source`, whether or not its values are valid.

    Args:
        most: read no further than this number of records, beyond which nothing is a copy.
    Raises:
        SourceError: it cannot be read.
    """
    hashes, sums = file_hashes(source).values(), RecordSums()
    for codes in _codes(codec, source):
        sums = sums.plus(RecordSums.of(codes))
        if most is not None and sums.rows > most:
            return Likeness(frozenset(hashes))
    return likeness_of_records(codec, sums, hashes)


def _codes(codec: TableCodec, source: Source) -> Iterator[NDArray[np.int64]]:
    for text in (text for part in parts(source) for text in batches(part)):
        yield np.column_stack([_column(one, text[one.name]) for one in codec.codecs])


def _column(codec: Any, text: "pd.Series[str]") -> NDArray[np.int64]:
    """The cells of a column, as coding has them; -1 where a value has no place."""
    values, unreadable = codec.read(text)
    codes = np.asarray(codec.encode(values), dtype=np.int64)
    return np.where(unreadable | (codes < 0) | (codes >= codec.attribute.cells), -1, codes)


@compiled()
def _hashed(codes):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    first = second = np.uint64(0)
    for record in range(codes.shape[0]):
        one, two = np.uint64(1), np.uint64(2)
        for column in range(codes.shape[1]):
            code = np.uint64(np.int64(codes[record, column]))
            one, two = _mixed(one + code), _mixed(two + code)
        first += one
        second += two
    return first, second


@compiled(inline="always")
def _mixed(word):  # type: ignore[no-untyped-def]  # compiled, as above
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
