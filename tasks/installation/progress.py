"""Tell how far a long stage is: a progress artifact in the dashboard, an event for a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from distributed import Client, get_client, get_worker
from prefect.artifacts import create_progress_artifact, update_progress_artifact

from hallmark.mechanisms.execution import Progress

TOPIC = "hallmark-progress"
_SECONDS_BETWEEN = 1.0

Listener = Callable[[str, float, str], None]
"""Called with the stage, the share done in [0, 1] and what is being done: (stage, share, doing)."""


def reporter(stage: str) -> Progress:
    """A progress callback for the Prefect task run that is under way, on a Dask worker or not."""
    artifact = create_progress_artifact(0.0, key=f"{stage}-progress", description=stage)
    assert isinstance(artifact, UUID), "only asynchronous callers get a coroutine"
    last = 0.0

    def report(share: float, doing: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _SECONDS_BETWEEN and share < 1:
            return
        last = now
        update_progress_artifact(artifact, progress=round(100 * share, 1))
        event = {"stage": stage, "share": share, "doing": doing}
        try:
            get_worker().log_event(TOPIC, event)
        except ValueError:  # not on a worker: the flow's own process
            get_client().log_event(TOPIC, event)

    return report


_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have `listener` told of the progress of flows that run in this process meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(stage: str) -> None:
    """Tell the listeners that a stage begins."""
    for listener in _listeners:
        listener(stage, 0.0, "")


def relay(client: Client) -> None:
    """Pass on to the listeners what workers report through the Dask scheduler."""
    if _listeners:
        client.subscribe_topic(TOPIC, _pass_on)


def _pass_on(event: tuple[float, dict[str, Any]]) -> None:
    _, said = event  # Dask adds the worker's name to what was said
    for listener in _listeners:
        listener(said["stage"], said["share"], said["doing"])
