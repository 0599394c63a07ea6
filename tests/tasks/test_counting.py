"""The counter over Dask partitions agrees to the last unit with the one over arrays."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, Future, LocalCluster, as_completed

from hallmark.mechanisms.privacy.cells import ArrayCounter, CellMap, marginal
from hallmark.tasks import counting
from hallmark.tasks.counting import DaskCounter
from hallmark.tasks.installation.losses import ClusterLost

SHAPE = (7, 3, 5, 2)


def records(rows: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.column_stack([rng.integers(0, k, rows) for k in SHAPE]).astype(np.int16)


def written(codes: np.ndarray, folder: Path, parts: int) -> tuple[Path, ...]:
    files = []
    for index, piece in enumerate(np.array_split(codes, parts)):
        files.append(folder / f"{index}.npy")
        np.save(files[-1], np.asfortranarray(piece))
    return tuple(files)


PAIRS = [marginal((a, b), SHAPE) for a in range(4) for b in range(a)]


@pytest.fixture(scope="module")
def threads() -> Client:
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_counts_of_partitions_add_up_to_those_of_the_table(
    tmp_path: Path, threads: Client, parts: int
) -> None:
    codes = records(1000)
    counter = DaskCounter(written(codes, tmp_path, parts), threads)
    assert counter.rows() == 1000
    for partitioned, whole in zip(
        counter.count(PAIRS), ArrayCounter(codes).count(PAIRS), strict=True
    ):
        np.testing.assert_array_equal(partitioned, whole)


@pytest.mark.parametrize("parts", [1, 40])
def test_partitions_of_fewer_records_than_cells_add_up_too(
    tmp_path: Path, threads: Client, parts: int
) -> None:
    codes, everything = records(150), marginal((0, 1, 2, 3), SHAPE)
    maps = [marginal((1,), SHAPE), everything]
    tables = DaskCounter(written(codes, tmp_path, parts), threads).count(maps)
    for partitioned, whole in zip(tables, ArrayCounter(codes).count(maps), strict=True):
        assert partitioned.dtype == np.int64
        np.testing.assert_array_equal(partitioned, whole)


def test_of_a_large_table_workers_send_the_occupied_cells_and_forget_them_once_added(
    tmp_path: Path, threads: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter of a million cells, as of a deep tree, for a hundred records a partition."""
    codes = np.random.default_rng(4).integers(0, 512, (1000, 2)).astype(np.int16)
    cells = marginal((0, 1), (512, 512))
    sizes = []

    def watched(futures: list[Future], loop: object) -> Iterator[Future]:
        assert loop is threads.loop
        for future in as_completed(futures, loop=loop):
            sizes.append(sum(counts.nbytes for _, counts in future.result()))
            yield future
            deadline = time.monotonic() + 60
            while future.key in threads.futures:  # `futures` holds on to it still
                assert time.monotonic() < deadline, "the workers keep a table that was added"
                time.sleep(0.001)

    monkeypatch.setattr(counting, "as_completed", watched)
    (table,) = DaskCounter(written(codes, tmp_path, 10), threads).count([cells])
    np.testing.assert_array_equal(table, ArrayCounter(codes).count([cells])[0])
    assert len(sizes) == 10
    assert max(sizes) <= 100 * 8  # no more numbers than records


def test_a_scheduler_that_is_lost_is_told(tmp_path: Path) -> None:
    told: list[BaseException] = []

    def count() -> None:
        try:
            DaskCounter(written(records(10), tmp_path, 1), client).count(PAIRS)
        except BaseException as error:
            told.append(error)

    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        client = Client(cluster, timeout=1)
        counting = threading.Thread(target=count)
        counting.start()
        while not client.futures:
            time.sleep(0.001)
        client.close()
        counting.join(timeout=60)
    (error,) = told
    assert isinstance(error, ClusterLost)
    assert "the scheduler was lost" in str(error)


def test_an_empty_partition_counts_nothing(tmp_path: Path, threads: Client) -> None:
    counter = DaskCounter(written(records(2), tmp_path, 4), threads)
    assert sum(table.sum() for table in counter.count(PAIRS)) == 2 * len(PAIRS)


@pytest.mark.slow
def test_counts_are_right_when_a_worker_is_killed_while_it_counts(tmp_path: Path) -> None:
    codes = records(4_000_000)
    files = written(codes, tmp_path, 16)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        tables: list[np.ndarray] = []
        counting = threading.Thread(
            target=lambda: tables.extend(DaskCounter(files, client).count(PAIRS))
        )
        counting.start()
        while not any(client.processing().values()):
            time.sleep(0.001)
        os.kill(victim, signal.SIGKILL)
        assert counting.is_alive(), "the counting was over before the worker was killed"
        counting.join(timeout=120)
    for partitioned, whole in zip(tables, ArrayCounter(codes).count(PAIRS), strict=True):
        np.testing.assert_array_equal(partitioned, whole)


def test_tables_of_any_size_reach_the_workers(threads: Client, tmp_path: Path) -> None:
    """Dask takes a large argument of `map` for a task of its own, and stumbles over it."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 500, (2_000, 3)).astype(np.uint16)
    maps = [CellMap((i % 3,), (rng.integers(0, 10, 500),), 10) for i in range(400)]
    counter = DaskCounter(written(codes, tmp_path, 3), threads)
    for one, other in zip(counter.count(maps), ArrayCounter(codes).count(maps), strict=True):
        np.testing.assert_array_equal(one, other)
