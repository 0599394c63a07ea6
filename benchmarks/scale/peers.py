"""Count all pairs of a Parquet file with another library, on one thread; run in its environment.

    python peers.py LIBRARY FILE

Prints rows, CPU seconds after the imports, peak memory in bytes, and a digest of the counts. Knows
nothing of Hallmark.
"""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow.parquet as pq

Counts = Iterator[tuple[str, str, np.ndarray]]


def with_numpy(file: str, names: list[str], cells: int) -> Counts:
    """One `bincount` a pair."""
    read = pq.read_table(file)
    columns = {name: read.column(name).to_numpy() for name in names}
    for a, b in combinations(names, 2):
        yield a, b, np.bincount(columns[a] * cells + columns[b], minlength=cells * cells)


def with_pandas(file: str, names: list[str], cells: int) -> Counts:
    """One `crosstab` a pair."""
    import pandas as pd

    frame = pd.read_parquet(file)
    for a, b in combinations(names, 2):
        table = pd.crosstab(frame[a], frame[b]).reindex(index=range(cells), columns=range(cells))
        yield a, b, table.fillna(0).to_numpy(dtype=np.int64).ravel()


def with_duckdb(file: str, names: list[str], cells: int) -> Counts:
    """One GROUP BY a pair, from a table in memory."""
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    database.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{file}')")
    for a, b in combinations(names, 2):
        found = database.execute(f"SELECT {a}, {b}, count(*) FROM t GROUP BY {a}, {b}").fetchnumpy()
        yield a, b, dense(*found.values(), cells)


def with_polars(file: str, names: list[str], cells: int) -> Counts:
    """One `group_by` a pair."""
    import polars as pl

    frame = pl.read_parquet(file)
    for a, b in combinations(names, 2):
        found = frame.group_by(a, b).len()
        yield a, b, dense(*(found[name].to_numpy() for name in found.columns), cells)


def dense(one: Any, other: Any, rows: Any, cells: int) -> np.ndarray:
    """The whole table, from its occupied cells."""
    table = np.zeros(cells * cells, dtype=np.int64)
    table[np.asarray(one, np.int64) * cells + np.asarray(other, np.int64)] = rows
    return table


LIBRARIES = {
    "numpy": with_numpy,
    "pandas": with_pandas,
    "duckdb": with_duckdb,
    "polars": with_polars,
}


def main(library: str, file: str) -> None:
    """Count, and print what it took."""
    metadata = pq.ParquetFile(file)
    names = metadata.schema_arrow.names
    cells = 1 + max(
        metadata.metadata.row_group(g).column(c).statistics.max
        for g in range(metadata.num_row_groups)
        for c in range(len(names))
    )
    __import__(library)
    digest = hashlib.sha256()
    began = time.process_time()
    for _, _, table in LIBRARIES[library](file, names, cells):
        digest.update(np.ascontiguousarray(table, dtype="<i8").tobytes())
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows = metadata.metadata.num_rows
    print(json.dumps({"rows": rows, "cpu": took, "peak": peak, "digest": digest.hexdigest()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
