"""Which records a rehearsal runs on: made up from the spec, or a table that it says is unprotected.

A rehearsal is charged to nobody and may be repeated, so on the private table it would give it away.
A spec can therefore only be rehearsed on a table that it declares public or made up, and not where
that is the private table by another name, or a copy of it (`tasks.planning.private_tables`).
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hallmark.schemas.table_sections import RehearsalData
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.output.writing import write_csv
from hallmark.tasks.planning.likeness import Likeness, likeness
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.private_tables import private_at, private_like, whose
from hallmark.tasks.planning.public_data import public_source
from hallmark.tasks.planning.rule_tables import rules_on
from hallmark.tasks.planning.rule_values import decode
from hallmark.tasks.sources import Source, SourceError, consistent, file_hashes, is_there


class RehearsalRefused(SafeError):
    """The table that the spec declares for rehearsals cannot be rehearsed on."""


@dataclass(frozen=True)
class RehearsalTable:
    """The records of a rehearsal. Public.

    Attributes:
        data: what the rehearsal's spec says of its table, beside what the release's says.
        records: which records these are, in words.
        rows: how many.
        as_released: whether its codes are those of a release, so that none is recoded.
    """

    data: dict[str, Any]
    records: str
    rows: int
    as_released: bool = False
    _source: Source | None = None
    _files: frozenset[str] = frozenset()

    def refuse_changes(self) -> None:
        """Refuse another table than the one that was examined.

        Raises:
            RehearsalRefused: another one, which nobody examined, lies in its place.
        """
        if self._source is None:
            return
        if frozenset(file_hashes(self._source).values()) != self._files:
            raise RehearsalRefused(
                "rehearsal.source: the table changed while it was rehearsed on, so nothing of the "
                "rehearsal was kept; run again when it is complete"
            )


def rehearsal_table(prepared: Prepared, place: Path) -> RehearsalTable:
    """The table that the spec declares, else a file of made-up records in `place`.

    Made-up records are as many as the spec expects; every cell of a column is as likely, and they
    obey the edit rules.

    Raises:
        RehearsalRefused: the declared table is a private one or a copy, cannot be read, or the
            private table cannot be read to be compared with.
    """
    if prepared.spec.rehearsal is not None:
        return _declared(prepared, prepared.spec.rehearsal)
    rows = prepared.spec.data.expected_rows
    file = _made_up(prepared, rows, place)
    written = prepared.spec.data.model_dump(mode="json", include=_WRITING, exclude_unset=True)
    data = written | {"source": str(file)}
    return RehearsalTable(data, "made up from the spec", rows, as_released=True)


_WRITING = {"null_markers", "delimiter", "encoding"}  # of the private table, where it is a CSV file


def _declared(prepared: Prepared, table: RehearsalData) -> RehearsalTable:
    spec, folder = prepared.spec, prepared.folder
    location = table.located(folder)
    where = f"rehearsal.source: {table.source}"
    mend = (
        "a rehearsal is charged to nobody, so it would give the records away; declare a table that "
        "is published or made up, or none, and records are made up from the spec"
    )
    if (owner := private_at(location, spec, folder)) is not None:
        raise RehearsalRefused(f"{where} is the private table of {whose(owner, spec)}; {mend}")
    source = public_source(table, spec.columns, folder)
    try:
        like = likeness(prepared.codec, source)
    except SourceError as error:
        said = re.sub(
            r"\bdata\.(?=source|format|sheet|delimiter|encoding)", "rehearsal.", str(error)
        )
        raise RehearsalRefused(said) from error
    assert like.rows is not None, "it was read to its end"
    if (owner := private_like(like)) is not None:
        raise RehearsalRefused(
            f"{where} is a copy of the private table of {whose(owner, spec)}; {mend}"
        )
    compared = is_there(prepared.source)
    if compared and like.is_of(_own(prepared, like.rows)):
        raise RehearsalRefused(f"{where} is a copy of the private table of this release; {mend}")
    stated = table.model_dump(mode="json", exclude={"kind", "reference"}, exclude_unset=True)
    return RehearsalTable(
        data={**stated, "source": location, "ignore": list(spec.data.ignore)},
        records=f"the {table.kind} table {table.source} ({table.reference})"
        + ("" if compared else "; not compared with the private table, which is not there yet"),
        rows=like.rows,
        _source=source,
        _files=like.files,
    )


def _own(prepared: Prepared, rows: int) -> Likeness:
    """What identifies a copy of the private table, if it has no more rows than that."""

    def read() -> Likeness:
        with consistent(prepared.source) as source:
            return likeness(prepared.codec, source, most=rows)

    try:
        return guarded("rehearse", Workspace.of(prepared.spec.release).path, read)()
    except SourceError as error:
        raise RehearsalRefused(
            f"{error}. A declared table is rehearsed on once it was compared with the private one; "
            "without a section rehearsal, records are made up and nothing is compared"
        ) from error


def _made_up(prepared: Prepared, rows: int, place: Path) -> Path:
    """A file of made-up records that the spec's private table could hold."""
    codec, rng = prepared.codec, np.random.default_rng(0)
    codes = np.column_stack(
        [rng.integers(attribute.cells, size=rows) for attribute in codec.domain.attributes]
    ).astype(np.int32)
    codes = prepared.plan.domain.rules.repair(codes, rng)
    frame = decode(codec, codes, prepared.spec.rules, rules_on(prepared.spec.rules, codec), rng)
    if prepared.person is not None:
        frame[prepared.person] = pd.Series(np.arange(rows) // prepared.spec.privacy.max_records)
    path = place / "made-up.csv"
    write_csv(frame, prepared.spec, path)
    return path
