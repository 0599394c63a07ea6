"""Put beside the records of a private table what the same people were in earlier periods.

A private table of a panel has columns about earlier periods. Whoever has them in a database joins
them by a query; whoever has files gets another one here. It is as private as they are: what a
record of it holds comes from records of its person alone, so that changing one person's records in
all periods changes one record here. Nothing is told of the tables but that they could be joined.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from hallmark.mechanisms.privacy.presence import period
from hallmark.schemas.calendar import PERIOD_MARK
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import DataSource
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.workspace import Workspace, whole
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.sources import SourceError, batches, parts, source_of, told_of


class CannotLag(SafeError):
    """The spec asks for no columns about the period before, or tables cannot be read."""


class PeopleUnfit(PrivateFact):
    """People do not have one record in each table; the message tells no more."""


def spec_about(path: Path, period: str | None) -> ReleaseSpec:
    """The spec of a period: the one in a file, or a calendar's template filled in with the period.

    Raises:
        SpecError: it is wrong.
    """
    if period is None:
        return load_spec(path)
    with TemporaryDirectory() as folder:
        filled_in = Path(folder) / path.name
        filled_in.write_bytes(path.read_bytes().replace(PERIOD_MARK.encode(), period.encode()))
        try:
            return load_spec(filled_in, path.parent)
        except SpecError as error:
            lines = [line.replace(str(filled_in), str(path)) for line in error.problems]
            raise SpecError(lines) from None


def lag(spec: ReleaseSpec, folder: Path, table: Path, before: Sequence[Path], person: str) -> Path:
    """Write the private table of a spec with a panel, from those of its periods; where it is.

    The place is `data.source` of the spec. A file that is there is replaced.

    Args:
        folder: at which relative sources of the spec start.
        table: of this period, written as the spec says.
        before: of the periods before, the nearest first, likewise: as many as the spec looks
            back, or as the panel has had.
        person: the column of all that says whose a record is; it is not written unless the spec
            protects persons by it.
    Raises:
        CannotLag: the spec has no columns about the period before or is not for a CSV file, or
            tables are missing or cannot be read.
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
    if out.resolve() in [one.resolve() for one in (table, *before)]:
        raise CannotLag(f"data.source: is {out}, one of the tables; name another file")
    series = spec.series
    assert series is not None, "columns are lagged"
    assert series.panel is not None, "likewise"
    had = period(series.period).number - period(series.panel.begins).number
    if len(before) != (needed := min(series.panel.back, had)):
        raise CannotLag(
            f"series.panel: looks {needed} period{'s' * (needed > 1)} back, and {len(before)} "
            "tables of periods before are named; name those of all, the nearest first"
        )
    workspace = Workspace.of(spec.release)
    for one in (table, *before):  # private from now on, wherever a spec names them
        note(workspace, spec.model_copy(update={"data": _like(spec, one)}), Path(), None)
    own = {name: column for name, column in spec.columns.items() if name not in lagged}
    now = _read(spec, table, own, person)
    joined = now.copy()
    for back, one in enumerate(before, start=1):
        told = {name: lag.of for name, lag in lagged.items() if lag.back == back}
        then = _read(spec, one, {of: spec.columns[of] for of in told.values()}, person)
        known = then.dropna(subset=[person]).set_index(person)
        if back == 1 and not now[person].isin(known.index).any():
            raise PeopleUnfit(
                f"{person}: nobody of {table.name} is in {one.name}; see that both write people "
                "alike"
            )
        joined = joined.assign(**{name: now[person].map(known[of]) for name, of in told.items()})
    joined = joined.reindex(columns=[*now.columns, *lagged]).astype("object")
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


def _like(spec: ReleaseSpec, path: Path) -> DataSource:
    """Another table that is written as that of the spec."""
    return spec.data.model_copy(update={"source": str(path.absolute()), "format": None})


def _read(
    spec: ReleaseSpec, path: Path, columns: Mapping[str, Column], person: str
) -> pd.DataFrame:
    """Columns of a table as text, with the person, who has no two records there."""
    source = source_of(_like(spec, path), Path(), columns, person=person, others_ignored=True)
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
