"""What a spec names as public: it is read, coded, and refused where it is a private table."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes, Mask
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import PublicData, TableFile
from hallmark.tasks.planning.coding import Codec, TableCodec
from hallmark.tasks.planning.likeness import Likeness, likeness_of_codes
from hallmark.tasks.planning.private_tables import PublicTable, private_at, private_like, whose
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.sources import Source, SourceError, batches, parts, written_as


@dataclass(frozen=True, eq=False)
class PublicRecords:
    """The records of the public table, which may be released as they are."""

    codes: AnyCodes  # shape (rows, columns)
    table: PublicTable

    @property
    def sha256(self) -> str:
        """Digest of the codes."""
        return sha256(np.ascontiguousarray(self.codes, dtype="<i4").tobytes()).hexdigest()


def public_records(spec: ReleaseSpec, folder: Path) -> PublicRecords | None:
    """The records of the spec's public table; None where it names none.

    Raises:
        PlanRefused: the table cannot be used, or it is a private one or a copy.
    """
    table = spec.public_data
    if table is None:
        return None
    where = f"public_data.source: {table.source}"
    mend = "name a table that is published"
    if (owner := private_at(table.located(folder), spec, folder)) is not None:
        raise PlanRefused(f"{where} is the private table of {whose(owner, spec)}; {mend}")
    codes = read_public(table, spec.columns, folder)
    source = public_source(table, spec.columns, folder)
    like = likeness_of_codes(TableCodec.of(spec.columns), codes, source)
    if (owner := private_like(like)) is not None:
        raise PlanRefused(f"{where} is a copy of the private table of {whose(owner, spec)}; {mend}")
    return PublicRecords(codes, PublicTable(where, like))


def category_files(spec: ReleaseSpec, folder: Path) -> Iterator[PublicTable]:
    """The files that categories and lookups were read from, which are published with the spec.

    Raises:
        PlanRefused: one of them is a private table.
    """
    for one in spec.category_files:
        where = f"{'.'.join(map(str, one.path))}.file: {one.file}"
        like = Likeness(frozenset({one.sha256}))
        owner = private_at(str(folder / one.file), spec, folder) or private_like(like)
        if owner is not None:
            raise PlanRefused(
                f"{where} is the private table of {whose(owner, spec)}; name a public file"
            )
        yield PublicTable(where, like)


def read_public(public: PublicData, columns: Mapping[str, Column], folder: Path) -> AnyCodes:
    """The table's records in cell codes, shape (rows, columns).

    Values outside go where the columns' rules send them; where these refuse, so does this.

    Raises:
        PlanRefused: the table cannot be read, is empty, or has values that have no place.
    """
    source = public_source(public, columns, folder)
    try:
        frames = list(_first(source, public.rows))
    except SourceError as error:
        said = re.sub(
            r"\bdata\.(?=source|format|sheet|delimiter|encoding)", "public_data.", str(error)
        )
        raise PlanRefused(said) from error
    text = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    if len(text) == 0:
        raise PlanRefused(f"public_data.source: {public.source} holds no record")
    codec = TableCodec.of(columns)
    for column in codec.codecs:
        _check(column, text[column.name])
    return codec.encode(text).astype(np.int32)


def public_source(table: TableFile, columns: Mapping[str, Column], folder: Path) -> Source:
    """How to read the columns of a public table, whatever other columns it has."""
    return replace(
        written_as(table, columns, location=table.located(folder)),
        format=table.file_format,
        options=table.options,
    )


def _first(source: Source, rows: int | None) -> Iterator[pd.DataFrame]:
    """The table's frames up to so many rows, or all of them."""
    for part in parts(source):
        for frame in batches(part):
            yield frame[:rows]
            if rows is not None:
                rows -= len(frame)
                if rows <= 0:
                    return


def misplaced(codec: Codec, text: pd.Series, *, beyond: bool) -> Iterator[str]:
    """What is wrong with the values of a column that is taken for public, and where first.

    No value is shown: the messages end in dashboards, and what was called public may be private.

    Args:
        beyond: whether values outside the domain are right.
    """
    for what, where in without_place(codec, text, beyond=beyond):
        first = f"first in record {int(where.argmax()) + 1}"
        yield f"column {codec.name}: {int(where.sum())} of {len(text)} values {what}, {first}"


def without_place(codec: Codec, text: pd.Series, *, beyond: bool) -> Iterator[tuple[str, Mask]]:
    """Why values of a column have no place in the domain, in words, and which; `misplaced`."""
    values, unreadable = codec.read(text)
    wrong = {"cannot be read": unreadable}
    if not beyond:
        wrong["lie outside the column's domain"] = codec.outside(values)
    if not codec.column.nulls:
        wrong["are missing, but nulls are not allowed"] = text.isna().to_numpy(dtype=bool)
    return ((what, where) for what, where in wrong.items() if where.any())


def _check(codec: Codec, text: pd.Series) -> None:
    for fault in misplaced(codec, text, beyond=codec.column.outside != "refuse"):
        raise PlanRefused(
            f"public_data.source: {fault}; fix the public table, or widen columns.{codec.name}"
        )
