"""Count coded records partition by partition on Dask workers.

Workers do what may safely be done twice: they count. Counts of partitions are integers that add up
in any order, so counting a partition again after a worker died changes nothing; the curator draws
noise, in the process that runs the flow, after all counts are summed.

A table may have millions of cells but a partition fewer records, so a worker sends the occupied
cells with their counts if that is smaller, and forgets them once they are added. It counts as many
tables in one pass over a partition as fit into memory beside it. Of many partitions it counts
several before it sends their sum, so that what is sent doesn't grow with the records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from distributed import Client, as_completed

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.cells import CellMap, terms_of
from hallmark.mechanisms.privacy.tally import Terms, tally
from hallmark.tasks.code_files import load
from hallmark.tasks.installation.losses import losses_told

_MOST_TASKS = 64  # that a round of counting is cut into: enough for workers of unlike speed
_CELLS_AT_ONCE = 1 << 22  # of tables that a worker counts in one pass, 8 bytes each


@dataclass(frozen=True)
class DaskCounter:
    """Counts the records coded in `files`; each is an integer array of shape (n_i, d).

    Agrees exactly with `ArrayCounter` on the concatenated records. The files are in the release's
    restricted workspace, which workers on other machines must share.
    """

    files: tuple[Path, ...]
    client: Client

    def rows(self) -> int:
        return sum(len(load(file)) for file in self.files)

    def count(self, maps: Sequence[CellMap]) -> list[Counts]:
        # `pure=False`: a key that names its inputs could be answered by an earlier run's result.
        # Not as an argument: Dask would make a large one a task, with the argument's name as key.
        count = partial(_count_files, passes=list(_passes(maps)))
        together = -(-len(self.files) // _MOST_TASKS) or 1
        starts = range(0, len(self.files), together)
        groups = [self.files[start : start + together] for start in starts]
        futures = self.client.map(count, groups, pure=False)
        totals = [np.zeros(cells.size, dtype=np.int64) for cells in maps]
        with losses_told():
            for future in as_completed(futures, loop=self.client.loop):
                for total, (cells, counts) in zip(totals, future.result(), strict=True):
                    total[cells] += counts
                future.release()  # otherwise the workers would keep the tables of all files
        return totals


_Occupied = tuple[Counts | slice, Counts]
"""Occupied cells with their numbers of records; all other cells are empty."""


def _passes(maps: Sequence[CellMap]) -> Iterator[Terms]:
    """The maps in their order, as many together as a worker counts at once."""
    together: list[CellMap] = []
    for each in maps:
        if together and sum(m.size for m in together) + each.size > _CELLS_AT_ONCE:
            yield terms_of(together)
            together = []
        together.append(each)
    if together:
        yield terms_of(together)


def _count_files(files: Sequence[Path], passes: Sequence[Terms]) -> list[_Occupied]:
    found: list[_Occupied] = []
    for terms in passes:
        total = tally(load(files[0]), terms)
        for file in files[1:]:
            total += tally(load(file), terms)
        found += [_occupied(table) for table in terms.split(total)]
    return found


def _occupied(table: Counts) -> _Occupied:
    cells = np.flatnonzero(table)
    # A copy: a view would hold, and send, the tables of the whole pass.
    return (cells, table[cells]) if 2 * len(cells) < len(table) else (slice(None), table.copy())
