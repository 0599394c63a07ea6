"""Mapping over Dask workers: results as in a loop, in their order, and progress while they come."""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from hallmark.mechanisms.compute import Serial
from hallmark.tasks.installation.compute import DaskCompute


@pytest.fixture(scope="module")
def threads() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=3, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Told:
    """What was said of the progress."""

    def __init__(self) -> None:
        self.said: list[tuple[float, str]] = []

    def __call__(self, share: float, doing: str) -> None:
        self.said.append((share, doing))


def scaled(table: np.ndarray, item: int) -> np.ndarray:
    return table * item


def slower_when_early(item: int) -> int:
    time.sleep(0.02 * (6 - item))
    return item**2


def broken(item: int) -> int:
    if item == 2:
        raise ValueError(f"item {item}: cannot be done")
    return item


def test_results_are_those_of_a_loop(threads: Client) -> None:
    function, items = partial(scaled, np.arange(5)), range(7)
    mapped = DaskCompute(threads, None, Told()).map(function, items, doing="scaling")
    looped = Serial().map(function, items, doing="scaling")
    for one, other in zip(mapped, looped, strict=True):
        np.testing.assert_array_equal(one, other)


def test_results_keep_the_order_of_the_items_whichever_is_done_first(threads: Client) -> None:
    mapped = DaskCompute(threads, None, Told()).map(slower_when_early, range(6), doing="waiting")
    assert list(mapped) == [0, 1, 4, 9, 16, 25]


def test_equal_items_are_all_answered(threads: Client) -> None:
    items = [3, 3, 1, 3]
    mapped = DaskCompute(threads, None, Told()).map(slower_when_early, items, doing="waiting")
    assert list(mapped) == [9, 9, 1, 9]


def test_every_item_done_is_told_of(threads: Client) -> None:
    told = Told()
    list(DaskCompute(threads, None, told).map(slower_when_early, range(4), doing="simulating"))
    assert told.said == [(done / 4, "simulating") for done in (1, 2, 3, 4)]


def test_of_no_item_there_is_no_result_and_nothing_to_tell(threads: Client) -> None:
    told = Told()
    assert list(DaskCompute(threads, None, told).map(slower_when_early, [], doing="nothing")) == []
    assert told.said == []


def test_a_failure_of_one_item_is_that_of_all(threads: Client) -> None:
    with pytest.raises(ValueError, match="item 2: cannot be done"):
        list(DaskCompute(threads, None, Told()).map(broken, range(4), doing="failing"))


def held(client: Client) -> set[str]:
    return {str(key) for keys in client.has_what().values() for key in keys}


def test_no_result_is_left_on_the_workers(threads: Client) -> None:
    before = held(threads)
    assert list(DaskCompute(threads, None, Told()).map(slower_when_early, [5], doing="a")) == [25]
    deadline = time.monotonic() + 60
    while not held(threads) <= before and time.monotonic() < deadline:
        time.sleep(0.02)  # the scheduler forgets them a moment later
    assert held(threads) <= before


def test_the_folder_of_kept_results_is_that_given(threads: Client, tmp_path: Path) -> None:
    assert DaskCompute(threads, tmp_path, Told()).cache == tmp_path
    assert DaskCompute(threads, None, Told()).cache is None


@pytest.fixture(scope="module")
def process() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_functions_of_public_inputs_pickle_to_processes(process: Client) -> None:
    function = partial(scaled, np.arange(5))
    mapped = list(DaskCompute(process, None, Told()).map(function, [2, 1, 3], doing="scaling"))
    np.testing.assert_array_equal(mapped, np.outer([2, 1, 3], np.arange(5)))


def dies_at_first(met: Path, item: int) -> int:
    if item == 2 and not met.exists():
        met.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def test_the_only_worker_may_die_and_nothing_is_lost(process: Client, tmp_path: Path) -> None:
    function = partial(dies_at_first, tmp_path / "met")
    mapped = DaskCompute(process, None, Told()).map(function, range(5), doing="dying")
    assert list(mapped) == [0, 1, 4, 9, 16]
    assert (tmp_path / "met").exists()
