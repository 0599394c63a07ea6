"""Read a Parquet file in bounded memory, whoever wrote it.

A few bytes can stand for gigabytes: equal texts are stored once, and pages are compressed. So texts
are read as places in a dictionary, pages that are too large are refused by their headers, before
they are decompressed, and no more rows are read at once than stay within the bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from hallmark.schemas.given_files import opened
from hallmark.tasks.sources.parquet_pages import Page, pages
from hallmark.tasks.sources.texts import LONGEST_TEXT, Unbounded, longest, refuse_long, too_long

MOST_OPEN = 2**30
"""Bytes of the pages that are open at once, of all columns."""
MOST_TEXT = 2**28
"""Bytes of the texts of a batch, if all are written out."""
_MOST_FOOTER = 2**26  # bytes
_WIDEST_NUMBER = 32  # bytes
_NUMBER = 8  # bytes, at most, of a value that has no length of its own
_PREFIX = 8  # bytes that a page has for a text beside it, at most
_INFLATION = 64  # bytes in memory for one of the file; numbers compress to a tenth
_MEND = "write the table again, with smaller row groups and pages"


def footer(handle: BinaryIO, columns: Sequence[str] | None = None) -> pq.FileMetaData:
    """What the footer of a file says.

    Args:
        columns: to be read, if any are.
    Raises:
        Unbounded: it is too large, or a column holds lists, structures, or numbers of more bytes
            than any needs.
        pyarrow.ArrowException: it is no Parquet file.
    """
    handle.seek(0, 2)
    handle.seek(max(0, handle.tell() - 8))
    length, magic = handle.read(4), handle.read(4)
    if magic == b"PAR1" and int.from_bytes(length, "little") > _MOST_FOOTER:
        raise Unbounded(f"its footer has more than {_MOST_FOOTER:,} bytes; {_MEND}")
    handle.seek(0)
    told = pq.read_metadata(handle)
    for leaf in map(told.schema.column, range(len(told.schema))):
        _refuse_wide(leaf, columns or ())
    return told


def batches(
    handle: BinaryIO, columns: Sequence[str], row_groups: Sequence[int] | None = None, *, rows: int
) -> Iterator[pa.RecordBatch]:
    """The records of some row groups, or of all, at most `rows` at a time.

    Raises:
        Unbounded: as for `footer`, its pages need more than `MOST_OPEN`, or a text is longer than
            `LONGEST_TEXT`.
        pyarrow.ArrowException: the file is broken.
    """
    told = footer(handle, columns)
    groups = range(told.num_row_groups) if row_groups is None else row_groups
    texts = _texts(handle, told, columns, groups)
    width = sum(text.width for text in texts)
    handle.seek(0)
    file = pq.ParquetFile(handle, read_dictionary=[text.name for text in texts if text.is_coded])
    held: list[pa.RecordBatch] = []
    at_once = min(rows, max(1, int(MOST_TEXT // max(1.0, width))))
    for batch in file.iter_batches(at_once, row_groups=list(groups), columns=list(columns)):
        held.append(refuse_long(batch))
        enough = sum(one.num_rows for one in held) >= rows
        if enough or sum(one.nbytes for one in held) >= MOST_TEXT:
            yield from _joined(held, rows)
            held = []
    if held:
        yield from _joined(held, rows)


def whole(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a file that has any columns, such as lists, and is read at once.

    Args:
        columns: to be read; all where it is None.
    Raises:
        Unbounded: it could take more than `MOST_OPEN`, and is many times larger than its file.
        OSError, pyarrow.ArrowException: it cannot be read.
    """
    with opened(path) as handle:
        told = footer(handle)
        worst = 0
        for group in range(told.num_row_groups):
            for position in range(told.num_columns):
                chunk = told.row_group(group).column(position)
                if columns is not None and chunk.path_in_schema not in columns:
                    continue
                is_text = chunk.physical_type == "BYTE_ARRAY"
                number = told.schema.column(position).length or _NUMBER
                worst += _worst(list(pages(handle, chunk)), 0 if is_text else number)
        if worst > max(MOST_OPEN, _INFLATION * handle.seek(0, 2)):
            raise Unbounded(f"its few bytes stand for up to {worst:,}; {_MEND}")
        handle.seek(0)
        return pq.read_table(handle, columns=columns and list(columns))


def _worst(here: Sequence[Page], number: int) -> int:
    """Bytes that a column may take, at most.

    Args:
        number: bytes of each of its values; 0 where these are texts.
    """
    longest_coded = 0 if number else _largest(here, dictionaries=True)
    return sum(
        page.size
        + page.values * (number + longest_coded * page.refers + page.size * page.by_prefix)
        for page in here
        if not page.is_dictionary
    )


def _refuse_wide(leaf: pq.ColumnSchema, columns: Sequence[str]) -> None:
    name = leaf.path if leaf.path in columns else leaf.path.partition(".")[0]
    if name not in columns:
        return
    if leaf.path != name or leaf.max_repetition_level > 0:
        raise Unbounded(f"column {name} holds lists or structures; write texts or numbers")
    of_any_length = leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type == "DECIMAL"
    if of_any_length or leaf.length > _WIDEST_NUMBER:
        raise Unbounded(f"column {name} holds numbers of any length; write texts or numbers")


@dataclass(frozen=True)
class _Text:
    """A column of texts.

    Attributes:
        largest: bytes of its largest page.
        plain: bytes that a page has for a record, on average, where it does not refer to a
            dictionary; the most of all pages.
        is_coded: whether it can be read as places in a dictionary.
    """

    name: str
    largest: int
    plain: float
    is_coded: bool

    @property
    def width(self) -> float:
        """Bytes that a record may take once it is decoded."""
        return self.plain if self.is_coded else self.largest

    def beside(self, other: "_Text") -> "_Text":
        """Both, of different row groups."""
        return _Text(
            self.name,
            max(self.largest, other.largest),
            max(self.plain, other.plain),
            self.is_coded and other.is_coded,
        )


def _texts(
    handle: BinaryIO, told: pq.FileMetaData, columns: Sequence[str], groups: Sequence[int]
) -> list[_Text]:
    """The columns of texts, once the pages of all columns are known to be small enough."""
    found: dict[str, _Text] = {}
    for group in groups:
        is_open = 0  # bytes of pages
        for position in range(told.num_columns):
            chunk = told.row_group(group).column(position)
            name = chunk.path_in_schema
            if name not in columns:
                continue
            here = list(pages(handle, chunk))
            if chunk.physical_type == "BYTE_ARRAY":
                text, before = _text(name, here), found.get(name)
                found[name] = text if before is None else before.beside(text)
            is_open += sum(_largest(here, dictionaries=which) for which in (True, False))
            if is_open > MOST_OPEN:
                raise Unbounded(
                    f"column {name}: the pages of a row group, with those of the columns before "
                    f"it, need more than {MOST_OPEN:,} bytes; {_MEND}"
                )
    return list(found.values())


def _text(name: str, here: Sequence[Page]) -> _Text:
    """How a column of texts is stored in a row group."""
    sizes = [page.size / max(1, page.values) for page in here]
    if any(size > LONGEST_TEXT + _PREFIX for size in sizes):
        raise too_long(name)
    plain = [
        size
        for page, size in zip(here, sizes, strict=True)
        if not page.is_dictionary and not page.refers
    ]
    return _Text(
        name,
        max((page.size for page in here), default=0),
        max(plain, default=0.0),
        is_coded=not any(page.by_prefix for page in here),  # which come in no dictionary
    )


def _largest(here: Sequence[Page], *, dictionaries: bool) -> int:
    """Bytes of the largest page of a kind, of which a reader has one open."""
    return max((page.size for page in here if page.is_dictionary == dictionaries), default=0)


def _joined(held: Sequence[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches as one, or as several where their texts would take more than the bound."""
    widest = sum(max(map(longest, columns)) for columns in zip(*held, strict=True))
    rows = min(rows, max(1, MOST_TEXT // max(1, widest)))
    if len(held) == 1 and held[0].num_rows <= rows:
        yield held[0]
        return
    joined = pa.Table.from_batches(held).unify_dictionaries().combine_chunks()
    yield from joined.to_batches(max_chunksize=rows)
