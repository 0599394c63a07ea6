"""Map heavy post-processing over Dask workers, and report its progress."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from distributed import Client, as_completed

from hallmark.mechanisms.execution import Progress

A = TypeVar("A")
B = TypeVar("B")


class DaskCompute:
    """Runs pure functions of public inputs on the workers of a cluster.

    Workers that are threads of one process share its interpreter, so they solve flows one at a
    time; a cluster of several processes solves one per process.
    """

    def __init__(self, client: Client, cache: Path | None, progress: Progress) -> None:
        self.cache = cache
        self._client = client
        self._progress = progress

    def map(self, function: Callable[[A], B], items: Sequence[A], *, doing: str) -> Iterator[B]:
        """Results in the order of `items`, as `mechanisms.compute.Compute` asks."""
        name = getattr(function, "func", function).__name__  # told by Dask's pages and losses
        # All inputs are public, but keys that depend on them would keep results of other releases.
        # Once for all items; what is scattered would be lost with the last worker that has it.
        shared = self._client.submit(_given, function, key=f"function-of-{name}-{uuid4().hex}")
        futures = [
            self._client.submit(_call, shared, item, key=f"{name}-{uuid4().hex}") for item in items
        ]
        # In this client's loop, where their results are fetched: the default client may be another.
        for done, _ in enumerate(as_completed(futures, loop=self._client.loop), 1):
            self._progress(done / len(futures), doing)
        return iter(self._client.gather(futures))


def _given(function: Callable[[A], B]) -> Callable[[A], B]:
    return function


def _call(function: Callable[[A], B], item: A) -> B:
    return function(item)
