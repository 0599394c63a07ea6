"""Made-up tables of any size in Parquet parts, and the specs of their releases."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

CLASSES = 8  # of records, each with a law of its own for every column: so columns depend
PART = 1_000_000
_ROW_GROUP = 250_000


def write(parts: Path, *, rows: int, columns: int, cells: int) -> None:
    """A table of whole numbers, in parts of at most `PART` rows.

    Parts beyond the tenth are links to the first ten: reading, checking, coding and counting them
    takes as long as other parts would, and a table of a billion rows takes no disk.
    """
    parts.mkdir(parents=True)
    laws = np.random.default_rng(1).dirichlet(np.full(cells, 0.3), size=(CLASSES, columns))
    for part, start in enumerate(range(0, rows, PART)):
        file = parts / f"{part:04d}.parquet"
        if part >= 10:
            file.symlink_to(f"{part % 10:04d}.parquet")
            continue
        drawn = _part(min(PART, rows - start), laws, np.random.default_rng(part))
        pq.write_table(drawn, file, row_group_size=_ROW_GROUP)


def spec_of(folder: Path, *, rows: int, columns: int, cells: int, made: int) -> Path:
    """The spec to make so many records of the table in `folder`/parts."""
    spec = folder / "spec.yaml"
    spec.write_text(yaml.safe_dump(_spec(rows, columns, cells, made), sort_keys=False))
    return spec


def _part(rows: int, laws: np.ndarray, rng: np.random.Generator) -> pa.Table:
    of = rng.integers(CLASSES, size=rows)
    columns = {}
    for a in range(laws.shape[1]):
        drawn, values = rng.random(rows), np.empty(rows, dtype=np.int64)
        for c, law in enumerate(laws[:, a]):
            values[of == c] = np.searchsorted(law.cumsum(), drawn[of == c])
        columns[f"x{a}"] = np.minimum(values, laws.shape[2] - 1)
    return pa.table(columns)


def _spec(rows: int, columns: int, cells: int, made: int) -> dict[str, Any]:
    column = {
        "type": "numeric",
        "description": "made up",
        "integer": True,
        "minimum": 0,
        "maximum": cells - 1,
        "cells": cells,
        "outside": "refuse",
        "bound_source": {"kind": "public", "reference": "benchmarks/scale"},
    }
    return {
        "hallmark": 1,
        "release": "scale",
        "title": "A table of a benchmark",
        "description": "Made up; it protects nobody.",
        "population": {"account": "scale", "description": "nobody"},
        "data": {"source": "parts", "expected_rows": rows, "record": "a made-up record"},
        "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": 1, "delta": 1e-10},
        "mechanism": {"name": "privpgd"},
        "certificate": {"confidence": 0.95},
        "output": {"rows": made},
        "columns": {f"x{a}": dict(column) for a in range(columns)},
    }
