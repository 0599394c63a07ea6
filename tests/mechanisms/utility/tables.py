"""Coded tables for the tests of the metrics, and the benchmark's reference implementation."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Table = NDArray[np.int64]

SIZES = (5, 1, 32, 2, 7, 32)
BENCHMARK = Path(__file__).parents[3] / "../shared/data/benchmark"


def table(rows: int, seed: int, sizes: tuple[int, ...] = SIZES) -> Table:
    """Columns that depend on each other and on the seed."""
    rng = np.random.default_rng(seed)
    level = rng.random((rows, 1)) ** (1 + seed / 4)
    mixed = 0.6 * level + 0.4 * rng.random((rows, len(sizes)))
    return np.minimum((mixed * sizes).astype(np.int64), np.array(sizes) - 1)


def benchmark_file(name: str) -> Path:
    """A file of the benchmark; the test is skipped where the benchmark is not."""
    if not BENCHMARK.is_dir():
        pytest.skip(f"the benchmark tables and their reference metrics are not at {BENCHMARK}")
    return BENCHMARK / name


def reference() -> ModuleType:
    """The metrics that other people's synthetic tables were measured with."""
    path = benchmark_file("reference_metrics.py")
    spec = importlib.util.spec_from_file_location("reference_metrics", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
