"""Code a private table: every record becomes a row of cell codes in the restricted workspace.

Workers write one file a batch, under a name that the batch alone determines and by an atomic
rename, so that a worker that dies and is replaced leaves the same files.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from prefect import task
from prefect_dask import get_dask_client

from schemas.columns import Column
from tasks.coding import TableCodec
from tasks.guard import guarded
from tasks.prepare import Prepared
from tasks.sources import Part, batches, parts
from tasks.workspace import Workspace


@task(name="discretize")
def discretize(prepared: Prepared, workspace: Workspace) -> tuple[Path, ...]:
    """Files of coded records, truncated to the privacy unit's bound; only paths leave the task."""
    shutil.rmtree(workspace.codes)
    pieces = guarded("discretize", workspace.path, parts)(prepared.source)
    with get_dask_client() as client:
        written = client.gather(
            client.map(
                guarded("discretize", workspace.path, _code_part),
                pieces,
                range(len(pieces)),
                columns=prepared.spec.columns,
                person=prepared.person,
                folder=workspace.codes,
                pure=False,
            )
        )
        files = tuple(file for part in written for file in part)
        if prepared.person is not None:
            truncate = guarded("discretize", workspace.path, _truncate)
            client.submit(truncate, files, prepared.plan.adjacency.records, pure=False).result()
    return files


def _code_part(
    part: Part,
    index: int,
    *,
    columns: Mapping[str, Column],
    person: str | None,
    folder: Path,
) -> list[Path]:
    codec = TableCodec.of(columns)
    files = []
    for batch, text in enumerate(batches(part)):
        file = folder / f"part-{index:05d}-{batch:05d}.npy"
        _write(file, codec.encode(text).astype(np.int16))
        if person is not None:
            text[[person]].to_parquet(_persons(file))
        files.append(file)
    return files


def _truncate(files: Sequence[Path], records: int) -> None:
    """Keep the first `records` records of every person, in the order of the source.

    Which of a person's records are kept depends on that person's records alone, so that adding or
    removing one person changes nobody else's. The person column must fit in memory.
    """
    persons = pd.concat(
        [pd.read_parquet(_persons(file)).iloc[:, 0] for file in files], ignore_index=True
    )
    keep = persons.groupby(persons, sort=False).cumcount().to_numpy() < records
    start = 0
    for file in files:
        codes = np.load(file)
        rows = len(pd.read_parquet(_persons(file)))
        if len(codes) == rows:  # else it was truncated before this worker took over
            _write(file, codes[keep[start : start + rows]])
        start += rows


def _persons(file: Path) -> Path:
    return file.with_suffix(".persons.parquet")


def _write(file: Path, codes: NDArray[np.int16]) -> None:
    # Columns are contiguous: counting reads a few columns of all records.
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as handle:
        np.save(handle, np.asfortranarray(codes))
    temporary.replace(file)
