"""Leave, of a table that was read and coded, the records that count: so many of every person."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import worker_client
from prefect import task

from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.tasks.code_files import persons_of, write_kept
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.truncation import kept


@task(name="discretize")
def discretize(
    adjacency: Adjacency, drafts: Sequence[Path], workspace: Workspace
) -> tuple[Path, ...]:
    """Files of coded records, truncated to the privacy unit's bound; only paths leave the task.

    Args:
        adjacency: whose records are bounded, and how many of each count.
        drafts: files of all records, in the order of the table, as `validate` wrote them.
    """
    if adjacency.person is None:
        return tuple(drafts)
    truncate = guarded("discretize", workspace.path, truncated)
    with worker_client() as client:
        files: tuple[Path, ...] = client.submit(
            truncate, drafts, adjacency.records, pure=False
        ).result()
    return files


def truncated(files: Sequence[Path], records: int) -> tuple[Path, ...]:
    """New files with `records` records of every person (`truncation.kept`).

    The person column must fit in memory.
    """
    persons = [persons_of(file) for file in files]
    keep = kept(pd.concat(persons, ignore_index=True), records)
    ends = np.cumsum([len(part) for part in persons])
    return tuple(
        write_kept(file, mask) for file, mask in zip(files, np.split(keep, ends[:-1]), strict=True)
    )
