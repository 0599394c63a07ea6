"""Stata, SPSS and SAS files on the local disk, private ones and those of a release.

Cells are the values that a file holds, without its labels; a missing value of any kind is a null.
The reader is a library in C that opens the file itself, so it reads no URL.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa

from hallmark.tasks.sources.parts import (
    BATCH_ROWS,
    MOST_COLUMNS,
    FilePart,
    LabelledFormat,
    Source,
    SourceError,
    column_problems,
    with_optional,
)
from hallmark.tasks.sources.texts import Unbounded

MOST_OPEN = 2**28
"""Bytes of the rows that are open at once, as the header says their width."""
_NUMBER = 8  # bytes


def parts(source: Source, path: str, handle: Any, *, form: LabelledFormat) -> list[FilePart]:
    """The whole file; `handle` is not used, since the reader opens the file itself."""
    name = path.rpartition("/")[2]
    names = column_names(source, path, handle, form=form)
    if problems := column_problems(source, names):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    return [FilePart(source=with_optional(source, names), path=path, format=form)]


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The rows, categories as their codes; `handle` is not used."""
    columns = list(part.source.columns)
    _, widths = _header(part.path, part.format)
    width = sum(widths[name] for name in columns)
    at_once = max(1, min(BATCH_ROWS, part.source.batch_rows, MOST_OPEN // max(1, width)))
    start, whole = 0, False
    while not whole:
        rows = _read(part.path, part.format, usecols=columns, row_offset=start, row_limit=at_once)
        start, whole = start + len(rows), len(rows) < at_once
        if len(rows):
            yield _decoded(rows, part.source)


def column_names(source: Source, path: str, handle: Any, *, form: LabelledFormat) -> list[str]:
    """Names of the columns; `handle` is not used."""
    _refuse_elsewhere(source, path)
    return _header(path, form)[0]


def _header(path: str, form: str) -> tuple[list[str], dict[str, int]]:
    """The names of the columns, and by name how many bytes a value has at most."""
    told = _metadata(path, form)
    names = list(told.column_names)
    if len(names) > MOST_COLUMNS:
        raise Unbounded(f"it has more than {MOST_COLUMNS:,} columns; save fewer")
    return names, {name: told.variable_storage_width.get(name) or _NUMBER for name in names}


def _metadata(path: str, form: str) -> Any:
    return _attempt(path, form, metadataonly=True)[1]


def _read(path: str, form: str, **which: Any) -> pd.DataFrame:
    frame: pd.DataFrame = _attempt(path, form, **which)[0]
    return frame


def _attempt(path: str, form: str, **which: Any) -> tuple[pd.DataFrame, Any]:
    """What the reader of a format makes of a file.

    Raises:
        OSError: it is no sound file of it; without the reader's message, which may quote a cell.
    """
    import pyreadstat  # slow to import, and few releases need it

    readers: dict[str, Any] = {
        "dta": pyreadstat.read_dta,
        "sav": pyreadstat.read_sav,
        "sas7bdat": pyreadstat.read_sas7bdat,
        "xpt": pyreadstat.read_xport,
    }
    broken = (
        pyreadstat.ReadstatError,
        pyreadstat.PyreadstatError,
        ValueError,  # among them texts that mean nothing in the file's encoding
        OverflowError,  # days beyond the calendar
        MemoryError,
    )
    try:
        found: tuple[pd.DataFrame, Any] = readers[form](path, **which)
    except broken:
        raise OSError("no sound file of its format") from None
    return found


def _refuse_elsewhere(source: Source, path: str) -> None:
    """Refuse a file that is not on the local disk as it is.

    Raises:
        SourceError: it is in a store, or compressed.
    """
    if "://" in source.location and not source.location.startswith(("file://", "local://")):
        raise SourceError(
            "data.source: SPSS, Stata and SAS files are read from this machine's disk alone; copy "
            "the file, or save the table as CSV or Parquet"
        )
    if path.lower().endswith((".gz", ".bz2", ".xz", ".zst")):
        raise SourceError(
            f"data.source: {path.rpartition('/')[2]} is compressed, which only CSV files may be; "
            "unpack it"
        )


def _decoded(rows: pd.DataFrame, source: Source) -> pa.RecordBatch:
    numbers = dict(source.numbers)
    columns = {
        name: _codes(rows[name], numbers[name])
        if name in numbers
        else pa.array(rows[name], from_pandas=True)
        for name in source.columns
    }
    return pa.record_batch(columns)


def _codes(values: pd.Series, numbers: Sequence[tuple[int, str]]) -> pa.Array:
    """The codes of the categories with these numbers; another number stays what it is, in words."""
    known = dict(numbers)
    other = values.notna() & ~values.isin(known)
    texts = values.map(known).astype("object").mask(other, "number " + values.astype("str"))
    return pa.array(texts, pa.string(), from_pandas=True)


class Reader:
    """The reader of one of the formats, in the shape of the modules of the others."""

    def __init__(self, form: LabelledFormat) -> None:
        self.parts = partial(parts, form=form)
        self.column_names = partial(column_names, form=form)
        self.batches = batches
