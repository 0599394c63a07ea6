"""Whether the data files of a release hold the same records, cell by cell and in one order.

The files are read side by side, in batches, as data users read them: a category by its code, a
number or a date by its value, however a format writes it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.output.released import released_source
from hallmark.tasks.planning.coding import Codec, TableCodec
from hallmark.tasks.sources import Cells, SourceError, batches_of_cells, parts, told_of

_Table = Mapping[str, pd.Series]


def record_faults(spec: ReleaseSpec, files: Sequence[Path]) -> Iterator[str]:
    """Where the other files differ from the first, by column; nothing where there is one file."""
    if not files:
        return
    first, *others = files
    for other in others:
        try:
            yield from _differences(spec, first, other)
        except SourceError as error:
            yield f"they cannot be compared: {told_of(first.parent.name, str(error))}"


def _differences(spec: ReleaseSpec, one: Path, other: Path) -> Iterator[str]:
    different: Counter[str] = Counter()
    rows = [0, 0]
    for here, there in _side_by_side(_tables(spec, one), _tables(spec, other)):
        for position, table in enumerate((here, there)):
            rows[position] += _rows(table)
        if _rows(here) and _rows(there):
            for name, values in here.items():
                different[name] += _unequal(values, there[name])
    if rows[0] != rows[1]:
        yield f"{one.name} has {rows[0]} records, and {other.name} {rows[1]}"
    for name, cells in (+different).items():
        yield f"{name}: {cells} values of {other.name} are not those of {one.name}"


def _tables(spec: ReleaseSpec, path: Path) -> Iterator[_Table]:
    """The values of the published columns, batch by batch."""
    codecs = TableCodec.of(spec.published).codecs
    for part in parts(released_source(spec, path)):
        for cells in batches_of_cells(part):
            yield {codec.name: _values(codec, cells[codec.name]) for codec in codecs}


def _values(codec: Codec, cells: Cells) -> pd.Series:
    """The value of every record; null for a text that is none, which is not in the dictionary."""
    values, _ = codec.read(cells.texts)
    return values.iloc[cells.places].reset_index(drop=True)


def _side_by_side(
    one: Iterator[_Table], other: Iterator[_Table]
) -> Iterator[tuple[_Table, _Table]]:
    """Pieces of equal length of both; in the end what one has more, beside nothing."""
    here: _Table = {}
    there: _Table = {}
    while True:
        here = here if _rows(here) else next(one, {})
        there = there if _rows(there) else next(other, {})
        if not here and not there:
            return
        rows = min(_rows(here), _rows(there)) if here and there else None
        yield _first(here, rows), _first(there, rows)
        here, there = ({}, {}) if rows is None else (_rest(here, rows), _rest(there, rows))


def _rows(table: _Table) -> int:
    return len(next(iter(table.values()), ()))


def _first(table: _Table, rows: int | None) -> _Table:
    return {name: values.iloc[:rows] for name, values in table.items()}


def _rest(table: _Table, rows: int) -> _Table:
    return {name: values.iloc[rows:] for name, values in table.items()}


def _unequal(one: pd.Series, other: pd.Series) -> int:
    here, there = one.reset_index(drop=True), other.reset_index(drop=True)
    same = (here == there).fillna(False).to_numpy(dtype=bool)
    return int((~(same | (here.isna() & there.isna()).to_numpy(dtype=bool))).sum())
