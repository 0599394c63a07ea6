"""Stata and SPSS files as `output.labelled_files` writes them: released ones, on the local disk.

Private tables are not read from them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from hallmark.tasks.sources.parts import BATCH_ROWS, FilePart, Source, SourceError, column_problems


def parts(source: Source, path: str, handle: Any) -> list[FilePart]:
    """The whole file; `handle` is not used, since the reader opens the file itself."""
    form: Literal["dta", "sav"] = "dta" if source.format == "dta" else "sav"
    name = path.rpartition("/")[2]
    header = _read(path, form, metadataonly=True)
    if problems := column_problems(source, list(header.columns)):
        raise SourceError(f"data.source: the header of {name}: {problems}")
    return [FilePart(source=source, path=path, format=form)]


def batches(part: FilePart, handle: Any) -> Iterator[pa.RecordBatch]:
    """The rows, categories as their codes; `handle` is not used."""
    start, whole = 0, False
    while not whole:
        rows = _read(part.path, part.format, row_offset=start, row_limit=BATCH_ROWS)
        start, whole = start + len(rows), len(rows) < BATCH_ROWS
        yield _decoded(rows, part.source)


def _read(path: str, form: str, **which: Any) -> pd.DataFrame:
    import pyreadstat  # slow to import, and few releases need it

    reader = pyreadstat.read_dta if form == "dta" else pyreadstat.read_sav
    try:
        frame, _ = reader(path, **which)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
        raise OSError("no sound file of its format") from None
    return frame


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
