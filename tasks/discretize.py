"""Code a private table: every record becomes a row of cell codes in the restricted workspace.

Dask may run any of this again while an earlier execution still writes: a worker that was given up
for dead may not be. So each attempt has a folder of its own, each file in it has one possible
content and appears by an atomic rename, and truncated records never share a name with all records.
"""

from collections.abc import Mapping, Sequence
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
from tasks.sources import Part, batches, parts
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


def _code_part(
    part: Part,
    index: int,
    *,
    columns: Mapping[str, Column],
    person: str | None,
    folder: Path,
) -> list[Path]:
    codec = TableCodec.of(columns)
    suffix = ".npy" if person is None else _DRAFT
    files = []
    for batch, text in enumerate(batches(part)):
        file = folder / f"part-{index:05d}-{batch:05d}{suffix}"
        _write(file, codec.encode(text).astype(np.int16))
        if person is not None:
            with whole(_persons(file)) as draft:
                text[[person]].to_parquet(draft)
        files.append(file)
    return files


_DRAFT = ".draft.npy"


def _truncate(files: Sequence[Path], records: int) -> tuple[Path, ...]:
    """New files with the first `records` records of every person, in the order of the source.

    Which of a person's records are kept depends on that person's records alone, so that adding or
    removing one person changes nobody else's. The person column must fit in memory.
    """
    persons = [pd.read_parquet(_persons(file)).iloc[:, 0] for file in files]
    everyone = pd.concat(persons, ignore_index=True)
    keep = everyone.groupby(everyone, sort=False).cumcount().to_numpy() < records
    ends = np.cumsum([len(part) for part in persons])
    kept = []
    for file, mask in zip(files, np.split(keep, ends[:-1]), strict=True):
        kept.append(file.with_suffix(".kept.npy"))
        _write(kept[-1], np.load(file)[mask])
    return tuple(kept)


def _persons(file: Path) -> Path:
    return file.with_suffix(".persons.parquet")


def _write(file: Path, codes: NDArray[np.int16]) -> None:
    # Columns are contiguous: counting reads a few columns of all records.
    with whole(file) as draft, draft.open("wb") as handle:
        np.save(handle, np.asfortranarray(codes))
