"""Reading and counting by worker processes: CPU time, bytes between processes, idle time."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

from hallmark.mechanisms.privacy.cells import marginal
from hallmark.tasks.code_files import Drafts
from hallmark.tasks.counting import DaskCounter
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.reading import PartRead, read_part
from hallmark.tasks.sources import FilePart, parts


def cluster(spec: Path, workers: int) -> Iterator[Mapping[str, Any]]:
    """What each of two stages takes on a local cluster, after every worker has done a part."""
    prepared = prepare(spec)
    shape = prepared.codec.domain.shape
    maps = [marginal(pair, shape) for pair in combinations(range(len(shape)), 2)]
    found = parts(prepared.source)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(  # type: ignore[no-untyped-call]  # Dask
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as started,
        Client(started) as client,  # type: ignore[no-untyped-call]  # Dask
    ):
        read = partial(_read, prepared, Path(folder))
        warm = client.run(read, (len(found), found[0]))
        for one in warm.values():  # compiled, and Parquet's reader imported, before the clock
            DaskCounter(one.files[:1], client).count(maps)
        stages = _Stages(client, workers)
        told: list[PartRead] = client.gather(client.map(read, list(enumerate(found)), pure=False))
        rows = sum(one.sums.rows for one in told)
        yield stages.ended("read, checked, coded", rows)
        DaskCounter(tuple(file for one in told for file in one.files), client).count(maps)
        yield stages.ended(f"{len(maps)} pairs counted", rows)


def _read(prepared: Prepared, folder: Path, part: tuple[int, FilePart]) -> PartRead:
    return read_part(part[1], prepared.spec.columns, None, drafts=Drafts(folder, part[0]))


class _Stages:
    """Differences of clocks and counters since the last stage ended."""

    def __init__(self, client: Client, workers: int) -> None:
        self._client, self._workers = client, workers
        self._last = self._now()

    def _now(self) -> tuple[float, float, int]:
        used = sum(self._client.run(time.process_time).values())
        return time.perf_counter(), used, _sent()

    def ended(self, stage: str, rows: int) -> Mapping[str, Any]:
        """The figures of the stage that has ended."""
        now = self._now()
        wall, used, sent = (b - a for a, b in zip(self._last, now, strict=True))
        self._last = now
        cores = min(self._workers, os.cpu_count() or 1)
        return {
            "stage": stage, "workers": self._workers, "rows": rows, "wall": round(wall, 2),
            "rows a second": round(rows / wall),
            "CPU s a million rows": round(used / rows * 1e6, 3),
            "bytes sent a million rows": round(sent / rows * 1e6),
            "idle share of the cores": round(1 - used / wall / cores, 3),
        }  # fmt: skip


def _sent() -> int:
    """Bytes that went over the loopback device: all that processes of this machine told others."""
    (told,) = [line for line in Path("/proc/net/dev").read_text().splitlines() if " lo:" in line]
    return int(told.split(":")[1].split()[0])
