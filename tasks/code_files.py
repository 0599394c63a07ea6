"""Files of coded records in the restricted workspace, one for every batch of the private table.

Dask may run a task again while an earlier execution is still writing: a worker that was given up
for dead may be alive. So each attempt uses its own names (a database may return the rows of a part
in another order), a file appears by an atomic rename, and truncated records never share a name with
all records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes, Mask
from hallmark.tasks.installation.workspace import whole

_DRAFT, _KEPT = ".draft.npy", ".kept.npy"


@dataclass(frozen=True)
class Drafts:
    """Where an attempt to code a part leaves its files.

    Attributes:
        folder: of the release, in the restricted workspace.
        part: the number of the part.
    """

    folder: Path
    part: int
    attempt: str = field(default_factory=lambda: uuid4().hex)

    def write(self, batch: int, codes: AnyCodes, persons: pd.DataFrame | None) -> Path:
        """The file of a batch of the part, shape (rows, columns), and what decides who is kept."""
        suffix = ".npy" if persons is None else _DRAFT
        file = self.folder / f"part-{self.part:05d}-{batch:05d}-{self.attempt}{suffix}"
        _write(file, codes)
        if persons is not None:
            with whole(_persons(file)) as draft:
                persons.to_parquet(draft)
        return file


def persons_of(file: Path) -> pd.DataFrame:
    """What was written beside the records of a file, to decide which of them are kept."""
    return pd.read_parquet(_persons(file))


def write_kept(file: Path, keep: Mask) -> Path:
    """The file of the kept ones among the records of `file`; `keep` has the shape (rows,)."""
    kept = file.with_suffix(_KEPT)
    _write(kept, load(file)[keep])
    return kept


def load(file: Path) -> AnyCodes:
    """The records of a file, shape (rows, columns), of one or two bytes a cell; read where used."""
    codes: AnyCodes = np.load(file, mmap_mode="r", allow_pickle=False)
    return codes


def left_out(files: Sequence[Path]) -> int:
    """The number of coded records missing from `files`, since their persons have too many."""
    return sum(map(_rows, _all_records(files))) - sum(map(_rows, files))


def _all_records(files: Sequence[Path]) -> Iterator[Path]:
    """The files with all coded records; `files` may contain only each person's kept ones."""
    for file in files:
        yield file.with_name(file.name.replace(_KEPT, ".npy"))


def _rows(file: Path) -> int:
    return len(load(file))


def _persons(file: Path) -> Path:
    return file.with_suffix(".persons.parquet")


def _write(file: Path, codes: AnyCodes) -> None:
    # Columns are contiguous: counting reads a few columns of all records.
    with whole(file) as draft, draft.open("wb") as handle:
        np.save(handle, np.asfortranarray(codes))
