"""Put beside the records of a private table what the same people were in the period before.

A private table of a panel has columns about the period before. Who has the two tables by a query
needs none of this; who has them in two files gets a third here. It is as private as they are: what
it holds of a person comes from this person's records in the two tables alone, so that whoever
protects a record of it protects both. Nothing is told of them but that they could be joined.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from hallmark.schemas.columns.columns import Column
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.sources import SourceError, batches, parts, source_of, told_of


class CannotLag(SafeError):
    """The spec asks for no columns about the period before, or tables cannot be read."""


class PeopleUnfit(PrivateFact):
    """People do not have one record in each table; the message tells no more."""


def lag(spec: ReleaseSpec, folder: Path, table: Path, before: Path, person: str) -> Path:
    """Write the private table of a spec with a panel, from those of two periods; where it is.

    The place is `data.source` of the spec. A file that is there is replaced.

    Args:
        folder: at which relative sources of the spec start.
        table: of this period, written as the spec says.
        before: of the period before, likewise.
        person: the column of both that says whose a record is; it is not written unless the spec
            protects persons by it.
    Raises:
        CannotLag: the spec has no columns about the period before or is not for a CSV file, or a
            table cannot be read.
        PeopleUnfit: somebody has two records in a table, or nobody is in both.
    """
    lagged = {} if spec.series is None else spec.series.lagged
    out = Path(spec.data.located(folder))
    if not lagged:
        raise CannotLag(
            "series.panel: the spec asks for no columns about the period before; a table of the "
            "period in which its panel begins is released as it is"
        )
    if spec.data.file_format != "csv" or spec.data.in_database or "://" in spec.data.source:
        raise CannotLag(
            f"data.source: is {spec.data.source}, and the table is written as a CSV file of this "
            "machine; name one (of a database, let data.query join the two periods)"
        )
    if out.resolve() in (table.resolve(), before.resolve()):
        raise CannotLag(f"data.source: is {out}, one of the two tables; name another file")
    own = {name: column for name, column in spec.columns.items() if name not in lagged}
    now = _read(spec, table, own, person)
    then = _read(spec, before, {of: spec.columns[of] for of in lagged.values()}, person)
    known = then.dropna(subset=[person]).set_index(person)
    if not now[person].isin(known.index).any():
        raise PeopleUnfit(
            f"{person}: nobody of {table.name} is in {before.name}; see that both write people "
            "alike"
        )
    joined = now.assign(**{name: now[person].map(known[of]) for name, of in lagged.items()})
    written = joined if spec.privacy.person == person else joined.drop(columns=person)
    markers = {
        name: next(iter(column.markers(spec.data.null_markers)), "")
        for name, column in spec.columns.items()
    }
    with whole(out) as draft:
        draft.touch(mode=0o600)
        written.fillna(markers).to_csv(
            draft, index=False, sep=spec.data.delimiter, encoding=spec.data.characters
        )
    return out


def _read(
    spec: ReleaseSpec, path: Path, columns: Mapping[str, Column], person: str
) -> pd.DataFrame:
    """Columns of a table as text, with the person, who has no two records there."""
    data = spec.data.model_copy(update={"source": str(path.absolute()), "format": None})
    source = source_of(data, Path(), columns, person=person, others_ignored=True)
    try:
        read = [batch for part in parts(source) for batch in batches(part)]
    except SourceError as error:
        raise CannotLag(told_of(str(path), str(error))) from error
    table = pd.concat(read, ignore_index=True)
    if table[person].dropna().duplicated().any():
        raise PeopleUnfit(
            f"{person}: somebody has two records in {path.name}, and a panel has one of each "
            "person and period; leave one of them in the table"
        )
    return table
