"""How time and memory grow with rows, columns, cells and workers.

    python -m benchmarks.scale count                    # beside numpy, pandas, DuckDB and Polars
    python -m benchmarks.scale release --rows 1e7       # a whole release, stage by stage
    python -m benchmarks.scale cluster --processes 2    # reading and counting by workers
    python -m benchmarks.scale curves                   # releases along each axis

A line of JSON for each measurement. CPU seconds are of all processes together; peak memory is that
of the largest process. Tables are made below `build/scale`, those with the same shape once.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from benchmarks.comparison.environments import interpreter
from benchmarks.data import ROOT
from benchmarks.scale.cluster import cluster
from benchmarks.scale.peers import LIBRARIES
from benchmarks.scale.tables import spec_of, write
from hallmark.tasks.forecast.time import time_forecast
from hallmark.tasks.planning.prepare import prepare

_HOME = ROOT / "build/scale"
_POLLED = 0.2  # seconds between two looks at the memory of all processes
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


_MADE = 1_000_000  # records at most, where nothing else is asked for


def table(rows: int, columns: int, cells: int, made: int = _MADE) -> Path:
    """The spec to make at most so many records of such a table, made unless it is there."""
    folder = _HOME / f"{rows}x{columns}x{cells}"
    if not (folder / "parts").exists():
        write(folder / "parts", rows=rows, columns=columns, cells=cells)
    return spec_of(folder, rows=rows, columns=columns, cells=cells, made=min(rows, made))


def count(rows: int, columns: int, cells: int) -> Iterator[Mapping[str, Any]]:
    """All pairs of one Parquet file, by us and by each library; all must count the same."""
    spec = table(rows, columns, cells)
    file = spec.parent / "parts/0000.parquet"
    python, script = interpreter("counting"), Path(__file__).with_name("peers.py")
    ours = [sys.executable, "-m", "benchmarks.scale", "ours", "--spec", str(spec)]
    counted = {"hallmark, from the file: checked, coded, counted": _told(ours)}
    for library in LIBRARIES:
        counted[library] = _told([str(python), str(script), library, str(file)])
    assert len({told["digest"] for told in counted.values()}) == 1, "they count alike"
    for method, told in counted.items():
        per_second = told["rows"] / told["cpu"]
        yield {"counted by": method, "rows a CPU second": round(per_second), "peak": told["peak"]}
        if "counting" in told:
            yield {
                "counted by": "hallmark, from codes",
                "rows a CPU second": round(told["rows"] / told["counting"]),
            }


def _told(command: list[str]) -> Mapping[str, Any]:
    done = subprocess.run(
        command, env=os.environ | _ONE_THREAD, capture_output=True, text=True, check=True
    )
    told: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def ours(spec: Path) -> Mapping[str, Any]:
    """What `count` asks of us: the pass over the first part, and the pairs from its codes."""
    import tempfile

    from hallmark.mechanisms.privacy.cells import count_codes, marginal
    from hallmark.tasks.code_files import Drafts, load
    from hallmark.tasks.planning.prepare import prepare
    from hallmark.tasks.reading import read_part
    from hallmark.tasks.sources import parts

    prepared = prepare(spec)
    shape = prepared.codec.domain.shape
    maps = [marginal(pair, shape) for pair in combinations(range(len(shape)), 2)]
    part = parts(prepared.source)[0]
    with tempfile.TemporaryDirectory() as folder:
        for warm in (True, False):  # compiled, and Parquet's reader imported, before the clock
            before = time.process_time()
            drafts = Drafts(Path(folder), int(warm))
            read = read_part(part, prepared.spec.columns, None, drafts=drafts)
            reading = time.process_time()
            counted = [count_codes(load(file), maps) for file in read.files]
            counting = time.process_time()
    digest = hashlib.sha256()
    for tables in zip(*counted, strict=True):
        digest.update(sum(tables).astype("<i8").tobytes())  # type: ignore[union-attr]  # arrays
    return {
        "rows": read.sums.rows,
        "cpu": counting - before,
        "counting": counting - reading,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "digest": digest.hexdigest(),
    }


def release(
    rows: int, columns: int, cells: int, processes: int, made: int = _MADE
) -> Mapping[str, Any]:
    """A release by the command line, in a home of its own: each stage's time, CPU and memory."""
    spec = table(rows, columns, cells, made)
    home = _HOME / "home"
    shutil.rmtree(home, ignore_errors=True)
    env = os.environ | {"HALLMARK_HOME": str(home)} | _ONE_THREAD
    hallmark = str(Path(sys.executable).with_name("hallmark"))
    account = ["ledger", "open", "scale", "--epsilon", "1", "--delta", "1e-9", "--reason", "none"]
    subprocess.run([hallmark, *account], env=env, check=True, capture_output=True)
    command = [hallmark, "release", str(spec), "--out", str(home / "out")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began, peak = time.perf_counter(), 0
    with (home / "log").open("wb") as log:
        running = subprocess.Popen(
            [*command, "--processes", str(processes)],
            env=env, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        while running.poll() is None:
            peak = max(peak, _largest(running.pid))
            time.sleep(_POLLED)
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        raise RuntimeError(f"the release failed; see {home / 'log'}")
    prepared = prepare(spec)
    forecast = time_forecast(prepared, prepared.plan.forecast())
    assert forecast is not None, "privpgd tells how long it takes"
    return {
        "rows": rows, "columns": columns, "cells": cells, "made": min(rows, made),
        "processes": processes,
        "wall": round(took, 1),
        "forecast wall": round(forecast.on(processes), 1), "forecast cpu": round(forecast.total, 1),
        "cpu": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "peak": peak,
        "stages": _stages(home / "work/scale/stages.jsonl"),
    }  # fmt: skip


def _largest(session: int) -> int:
    """Peak resident memory so far of the largest process of a session, bytes."""
    largest = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) != session:
                continue
            status = (process / "status").read_text()
        except OSError:  # it is gone
            continue
        told = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
        largest = max(largest, *(int(kib) * 1024 for kib in told), 0)
    return largest


def _stages(file: Path) -> Mapping[str, float]:
    """Seconds of each stage, by what the run noted of when they began."""
    noted = [json.loads(line) for line in file.read_text().splitlines()]
    times = [(name, datetime.fromisoformat(at)) for name, at in noted]
    return {
        name or "start": (later - at).total_seconds() for (name, at), (_, later) in pairwise(times)
    }


_CURVES: tuple[tuple[float, int, int, int], ...] = (
    *((rows, 20, 32, 2) for rows in (1e5, 1e6, 1e7, 1e8)),
    *((2e4, columns, 16, 1) for columns in (10, 30, 60, 100)),
    *((1e5, 10, cells, 1) for cells in (4, 16, 64, 256)),
    *((1e7, 20, 32, workers) for workers in (1, 4)),
)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("what", choices=("count", "release", "cluster", "curves", "ours"))
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--made", type=float, default=_MADE, help="records at most")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--spec", type=Path, help="of what `count` asks of us")
    asked = parser.parse_args()
    size = (int(asked.rows), asked.columns, asked.cells)
    match asked.what:
        case "count":
            for line in count(*size):
                print(json.dumps(line), flush=True)
        case "ours":
            print(json.dumps(ours(asked.spec)))
        case "release":
            print(json.dumps(release(*size, asked.processes, int(asked.made))))
        case "cluster":
            for line in cluster(table(*size), asked.processes):
                print(json.dumps(line), flush=True)
        case "curves":
            for rows, columns, cells, processes in _CURVES:
                print(json.dumps(release(int(rows), columns, cells, processes)), flush=True)


if __name__ == "__main__":  # Dask starts processes from it
    main()
