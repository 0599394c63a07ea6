"""Write records as CSV the way a spec's private table is written, so that the same spec reads them.

That is its delimiter, encoding, null markers, decimal marks and date formats; thousands signs alone
are left out, which every reader understands.
"""

import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.release_spec import ReleaseSpec

_BYTES_AT_ONCE = 1 << 24


def write_csv(frame: pd.DataFrame, spec: ReleaseSpec, path: Path) -> None:
    """Write columns of the spec, in original units; other columns are written as they are."""
    columns = spec.file_columns
    texts = {
        name: _texts(frame[name], columns[name]).fillna(spec.null_marker(name))
        if name in columns
        else frame[name]
        for name in frame.columns
    }
    pd.DataFrame(texts).to_csv(
        path, index=False, sep=spec.data.delimiter, encoding=spec.data.characters
    )


def join_csv(files: Sequence[Path], spec: ReleaseSpec, path: Path) -> None:
    """One file of the records in several that `write_csv` wrote of the published columns."""
    header = io.BytesIO()
    pd.DataFrame(columns=list(spec.published)).to_csv(
        header, index=False, sep=spec.data.delimiter, encoding=spec.data.characters
    )
    with path.open("wb") as joined:
        joined.write(header.getvalue())
        for file in files:
            with file.open("rb") as part:
                part.seek(len(header.getvalue()))
                shutil.copyfileobj(part, joined, _BYTES_AT_ONCE)


def _texts(values: pd.Series, column: Column) -> pd.Series:
    """The values as CSV writes them; nulls stay nulls."""
    if isinstance(column, DateColumn):
        return values.dt.strftime(column.format).astype("str")
    if isinstance(column, NumericColumn) and not column.integer:
        numbers = values.map(_digits(column), na_action="ignore")
        return numbers.astype("str").str.replace(".", column.marks.decimal, regex=False)
    return values.astype("str")


def _digits(column: NumericColumn) -> Callable[[float], str]:
    """How a number is printed: with the decimals of the column's step, or as many as it has."""
    return repr if column.decimals is None else f"{{:.{column.decimals}f}}".format
