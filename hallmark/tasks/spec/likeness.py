"""By what a copy of a table is known: the bytes of its files, and its records in any order.

Records count by their cells, so that a copy is known in another format, order or spelling, and
with values moved within their cells. One with a record more or less, or another value in one, is
another table here: whatever told how many records two tables share would let whoever names one of
them ask who is in the other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.tasks.sources import Source, batches, file_digests, parts
from hallmark.tasks.spec.coding import TableCodec

Words = NDArray[np.uint64]


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


class RecordDigest:
    """A digest of coded records that neither their order nor the blocks they come in change.

    Every record is hashed to two words of 64 bits by the finaliser of SplitMix64 (Steele, Lea,
    Flood 2014), which are added up. It tells tables apart that nobody made to look alike; who makes
    a table that looks private is only refused.
    """

    def __init__(self, codec: TableCodec) -> None:
        self._columns = [(codec.name, codec.attribute.cells) for codec in codec.codecs]
        self._sums = [0, 0]
        self.rows = 0

    def add(self, codes: NDArray[Any]) -> None:
        """Count in some records, of shape (rows, columns)."""
        self.rows += len(codes)
        for lane in range(2):
            words = np.full(len(codes), lane + 1, dtype=np.uint64)
            for column in codes.T:
                words = _mixed(words + column.astype(np.int64).view(np.uint64))
            self._sums[lane] = (self._sums[lane] + int(words.sum(dtype=np.uint64))) % 2**64

    def hex(self) -> str:
        """The digest of what was counted in, in hexadecimal."""
        return sha256(repr((self._columns, self._sums, self.rows)).encode()).hexdigest()


def likeness_of_codes(
    codec: TableCodec, blocks: Iterable[NDArray[Any]], source: Source
) -> Likeness:
    """The likeness of a table whose codes have already been read."""
    digest = RecordDigest(codec)
    for block in blocks:
        digest.add(block)
    return Likeness(file_digests(source), digest.hex(), digest.rows)


def likeness(codec: TableCodec, source: Source, most: int | None = None) -> Likeness:
    """The likeness of the table at `source`, whether or not its values are valid.

    Args:
        most: read no further than this number of records, beyond which nothing is a copy.
    Raises:
        SourceError: it cannot be read.
    """
    files, digest = file_digests(source), RecordDigest(codec)
    for codes in _codes(codec, source):
        digest.add(codes)
        if most is not None and digest.rows > most:
            return Likeness(files)
    return Likeness(files, digest.hex(), digest.rows)


def _codes(codec: TableCodec, source: Source) -> Iterator[NDArray[np.int64]]:
    for text in (text for part in parts(source) for text in batches(part)):
        yield np.column_stack([_column(one, text[one.name]) for one in codec.codecs])


def _column(codec: Any, text: "pd.Series[str]") -> NDArray[np.int64]:
    """The cells of a column, as coding has them; -1 where a value has no place."""
    values, unreadable = codec.read(text)
    codes = np.asarray(codec.encode(values), dtype=np.int64)
    return np.where(unreadable | (codes < 0) | (codes >= codec.attribute.cells), -1, codes)


def _mixed(words: Words) -> Words:
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
