"""Code a private table: every record becomes a row of cell codes in the restricted workspace.

Dask may run any of this again while an earlier execution still writes: a worker that was given up
for dead may not be. So each attempt has names of its own (a database may give the rows of a part in
another order), a file appears by an atomic rename, and truncated records never share a name with
all records.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd
from distributed import worker_client
from numpy.typing import NDArray
from prefect import task

from schemas.columns import Column
from tasks.coding import TableCodec
from tasks.guard import guarded
from tasks.prepare import Prepared
from tasks.sources import DatabasePart, Part, batches, parts
from tasks.workspace import Workspace, private_folder, whole


@task(name="discretize")
def discretize(prepared: Prepared, workspace: Workspace) -> tuple[Path, ...]:
    """Files of coded records, truncated to the privacy unit's bound; only paths leave the task."""
    folder = private_folder(workspace.codes / uuid4().hex)
    pieces = guarded("discretize", workspace.path, parts)(prepared.source)
    with worker_client() as client:
        written = client.gather(
            client.map(
                guarded("discretize", workspace.path, _code_part),
                pieces,
                range(len(pieces)),
                columns=prepared.spec.columns,
                person=prepared.person,
                folder=folder,
                pure=False,
            )
        )
        files = tuple(file for part in written for file in part)
        if prepared.person is None:
            return files
        truncate = guarded("discretize", workspace.path, _truncate)
        bound = prepared.plan.adjacency.records
        kept: tuple[Path, ...] = client.submit(truncate, files, bound, pure=False).result()
        return kept


def all_records(files: Sequence[Path]) -> Iterator[Path]:
    """The files with all coded records, of which `files` may hold a person's first ones alone."""
    for file in files:
        yield file.with_name(file.name.replace(_KEPT, ".npy"))


def _code_part(
    part: Part,
    index: int,
    *,
    columns: Mapping[str, Column],
    person: str | None,
    folder: Path,
) -> list[Path]:
    codec = TableCodec.of(columns)
    attempt, suffix = uuid4().hex, ".npy" if person is None else _DRAFT
    files = []
    for batch, text in enumerate(batches(part)):
        file = folder / f"part-{index:05d}-{batch:05d}-{attempt}{suffix}"
        codes = codec.encode(text).astype(np.int16)
        _write(file, codes)
        if person is not None:
            order = _lots(codes, text[person]) if isinstance(part, DatabasePart) else {}
            with whole(_persons(file)) as draft:
                pd.DataFrame({_PERSON: text[person], **order}).to_parquet(draft)
        files.append(file)
    return files


_DRAFT, _KEPT = ".draft.npy", ".kept.npy"
_PERSON, _LOTS = "person", ["lot", "lot of equals"]


def _lots(codes: NDArray[np.int16], persons: pd.Series) -> dict[str, NDArray[np.uint64]]:
    """A number for every record, which depends on that record and its person alone."""
    rows = zip(np.ascontiguousarray(codes), persons.fillna("").astype(str), strict=True)
    digests = b"".join(
        blake2b(row.tobytes() + person.encode(), digest_size=16).digest() for row, person in rows
    )
    return dict(zip(_LOTS, np.frombuffer(digests, np.uint64).reshape(-1, 2).T, strict=True))


def _truncate(files: Sequence[Path], records: int) -> tuple[Path, ...]:
    """New files with `records` records of every person: the first ones in the order of the source,
    or those with the smallest lots where the source has no order of its own.

    Which of a person's records are kept depends on that person's records alone, so that adding or
    removing one person changes nobody else's. In a database the place of a row, and the order in
    which a query gives rows, may depend on everybody's; lots do not. The person column must fit in
    memory.
    """
    persons = [pd.read_parquet(_persons(file)) for file in files]
    everyone = pd.concat(persons, ignore_index=True)
    if _LOTS[0] in everyone:
        everyone = everyone.sort_values(_LOTS)
    place = everyone.groupby(_PERSON, sort=False).cumcount().sort_index()
    keep = place.to_numpy() < records
    ends = np.cumsum([len(part) for part in persons])
    kept = []
    for file, mask in zip(files, np.split(keep, ends[:-1]), strict=True):
        kept.append(file.with_suffix(_KEPT))
        _write(kept[-1], np.load(file)[mask])
    return tuple(kept)


def _persons(file: Path) -> Path:
    return file.with_suffix(".persons.parquet")


def _write(file: Path, codes: NDArray[np.int16]) -> None:
    # Columns are contiguous: counting reads a few columns of all records.
    with whole(file) as draft, draft.open("wb") as handle:
        np.save(handle, np.asfortranarray(codes))
