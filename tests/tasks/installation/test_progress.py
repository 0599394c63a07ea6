"""Progress: listeners are told while they listen, from this process and from workers."""

import time

import pytest
from distributed import Client

from hallmark.tasks.installation.progress import TOPIC, announce, listening, relay

Told = tuple[str, float, str]


def test_a_listener_is_told_of_stages_while_it_listens() -> None:
    told: list[Told] = []
    announce("before")
    with listening(lambda *said: told.append(said)):
        announce("validate")
    announce("after")
    assert told == [("validate", 0.0, "")]


def test_a_listener_is_forgotten_when_the_run_fails() -> None:
    told: list[Told] = []
    with pytest.raises(RuntimeError), listening(lambda *said: told.append(said)):
        raise RuntimeError
    announce("after")
    assert told == []


def test_what_a_worker_says_reaches_the_listener() -> None:
    told: list[Told] = []
    with (
        Client(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as client,
        listening(lambda *said: told.append(said)),
    ):
        relay(client)
        deadline = time.monotonic() + 60
        while not told and time.monotonic() < deadline:
            # Said again until it is heard: the subscription may reach the scheduler after it.
            client.log_event(TOPIC, {"stage": "generate", "share": 0.5, "doing": "sweeps"})
            time.sleep(0.01)
    assert set(told) == {("generate", 0.5, "sweeps")}
