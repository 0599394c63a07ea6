"""Code a private table: every record becomes a row of cell codes in the restricted workspace.

Dask may run any of this again while an earlier execution is still writing: a worker that was given
up for dead may be alive. So each attempt uses its own names (a database may return the rows of a
part in another order), a file appears by an atomic rename, and truncated records never share a name
with all records.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd
from distributed import worker_client
from numpy.typing import NDArray
from prefect import task

from hallmark.schemas.columns.columns import Column
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace, private_folder, whole
from hallmark.tasks.sources import DatabasePart, Part, batches, parts
from hallmark.tasks.spec.coding import TableCodec
from hallmark.tasks.spec.prepare import Prepared
from hallmark.tasks.spec.truncation import kept, keys


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
        first: tuple[Path, ...] = client.submit(truncate, files, bound, pure=False).result()
        return first


def all_records(files: Sequence[Path]) -> Iterator[Path]:
    """The files with all coded records; `files` may contain only each person's kept ones."""
    for file in files:
        yield file.with_name(file.name.replace(_KEPT, ".npy"))


def left_out(files: Sequence[Path]) -> int:
    """The number of coded records missing from `files`, since their persons have too many."""
    return sum(map(_rows, all_records(files))) - sum(map(_rows, files))


def _rows(file: Path) -> int:
    return len(np.load(file, mmap_mode="r", allow_pickle=False))


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
            ordered = not isinstance(part, DatabasePart)
            with whole(_persons(file)) as draft:
                keys(codes, text[person], ordered=ordered).to_parquet(draft)
        files.append(file)
    return files


_DRAFT, _KEPT = ".draft.npy", ".kept.npy"


def _truncate(files: Sequence[Path], records: int) -> tuple[Path, ...]:
    """New files with `records` records of every person (`truncation.kept`).

    The person column must fit in memory.
    """
    persons = [pd.read_parquet(_persons(file)) for file in files]
    keep = kept(pd.concat(persons, ignore_index=True), records)
    ends = np.cumsum([len(part) for part in persons])
    written = []
    for file, mask in zip(files, np.split(keep, ends[:-1]), strict=True):
        written.append(file.with_suffix(_KEPT))
        _write(written[-1], np.load(file)[mask])
    return tuple(written)


def _persons(file: Path) -> Path:
    return file.with_suffix(".persons.parquet")


def _write(file: Path, codes: NDArray[np.int16]) -> None:
    # Columns are contiguous: counting reads a few columns of all records.
    with whole(file) as draft, draft.open("wb") as handle:
        np.save(handle, np.asfortranarray(codes))
