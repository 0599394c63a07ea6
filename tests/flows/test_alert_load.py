"""An hour of load with kills, twenty times as fast: who is reported as silent, and who is not.

Runs are played by their states and signs of life, on a real server with the real automations. A
tenth of the runs are killed: they say nothing any more. All others end in one of the ways in which
runs do, and half of these have signs of life that arrive after the end, as happens when they are
sent in the background; that is what once raised false alerts.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

import httpx
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from hallmark.flows import alerts
from hallmark.flows.alerts import FLOWS, SILENT, set_up
from tests.flows.services import standing_server, wait_until
from tests.flows.test_alerts import NAMES, Bell, bell

__all__ = ["bell"]  # a fixture

FASTER = 20
SILENCE = alerts.SILENCE / FASTER
BEAT = timedelta(minutes=3) / FASTER
LOAD = timedelta(hours=1) / FASTER
RUNS = 200
KILLED = 21

ENDS = {
    "Completed": "COMPLETED",
    "AwaitingApproval": "COMPLETED",
    "Embargoed": "COMPLETED",
    "Skipped": "COMPLETED",
    "Failed": "FAILED",  # as a rejected release
    "Cancelled": "CANCELLED",
    "Crashed": "CRASHED",  # as its worker says that saw it die
}
LAST = ("Pending", "Running", "heartbeat")  # what a killed run said last


@pytest.fixture
def server(
    postgres: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    database = postgres.replace("+psycopg", "+asyncpg")
    settings = {"PREFECT_API_DATABASE_CONNECTION_URL": database}
    with standing_server(tmp_path / "server", **settings) as url:
        monkeypatch.setenv("PREFECT_API_URL", url)
        with temporary_settings({PREFECT_API_URL: url}):
            yield url


class Played:
    """The runs that are played, on the server at `url`."""

    def __init__(self, url: str, rng: random.Random) -> None:
        self.killed: set[str] = set()
        self.failed: set[str] = set()
        self._client = httpx.AsyncClient(base_url=url, timeout=60)
        self._rng = rng
        self._flows: dict[str, str] = {}

    async def hour(self) -> None:
        """All of them, begun at any time of the hour."""
        for name in (*FLOWS, "of-somebody-else"):
            answer = await self._client.post("/flows/", json={"name": name})
            self._flows[name] = answer.raise_for_status().json()["id"]
        kills = [None] * (RUNS - KILLED) + [LAST[i % len(LAST)] for i in range(KILLED)]
        await asyncio.gather(*(self._run(number, last) for number, last in enumerate(kills)))
        await self._client.aclose()

    async def _run(self, number: int, last: str | None) -> None:
        rng = self._rng
        await asyncio.sleep(rng.uniform(0, LOAD.total_seconds()))
        flow = rng.choice(FLOWS) if number % 20 else "of-somebody-else"
        name = f"{number}-{last or 'ends'}"
        sent = {"flow_id": self._flows[flow], "name": name, "state": {"type": "PENDING"}}
        made = await self._client.post("/flow_runs/", json=sent)
        run = made.raise_for_status().json()["id"]
        if last is not None and flow in FLOWS:
            self.killed.add(name)
        if last == "Pending":
            return
        await self._state(run, "RUNNING")
        if last == "Running":
            return
        for _ in range(rng.choice((0, 0, 1, 2)) if last is None else 1):
            await self._sign_of_life(run, flow)
            await asyncio.sleep(BEAT.total_seconds())
        if last == "heartbeat":
            return
        end = rng.choice(list(ENDS))
        if end in ("Failed", "Crashed") and flow in FLOWS:
            self.failed.add(name)
        before = datetime.now(UTC)
        await self._state(run, ENDS[end], end)
        if number % 2:
            await asyncio.sleep(rng.uniform(0, 1))
            await self._sign_of_life(run, flow, before)

    async def _state(self, run: str, kind: str, name: str | None = None) -> None:
        state = {"type": kind, "name": name}
        answer = await self._client.post(f"/flow_runs/{run}/set_state", json={"state": state})
        assert answer.raise_for_status().json()["status"] == "ACCEPT", answer.text

    async def _sign_of_life(self, run: str, flow: str, when: datetime | None = None) -> None:
        event: dict[str, Any] = {
            "id": str(uuid4()),
            "event": "prefect.flow-run.heartbeat",
            "occurred": (when or datetime.now(UTC)).isoformat(),
            "resource": {"prefect.resource.id": f"prefect.flow-run.{run}"},
            "related": [
                {
                    "prefect.resource.id": f"prefect.flow.{self._flows[flow]}",
                    "prefect.resource.role": "flow",
                    "prefect.resource.name": flow,
                }
            ],
        }
        (await self._client.post("/events", json=[event])).raise_for_status()


@pytest.mark.service
@pytest.mark.slow  # five minutes, in which it mostly waits
def test_of_an_hour_of_runs_those_that_were_killed_are_missed_and_no_others(
    server: str, bell: Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "SILENCE", SILENCE)
    set_up(webhook=bell.url, block=None, budget_below=Fraction(1, 10))
    played = Played(server, random.Random(29))

    asyncio.run(played.hour())
    # A server under load looks at events late, and its clock for silence stands still meanwhile.
    wait_until(lambda: {said["run"] for said in bell.of(NAMES[1])} >= played.killed, "all are told")
    sleep(2 * SILENCE.total_seconds() + 20)  # whoever else fell silent would be told by now
    told = Counter((said["alert"], said["run"]) for said in bell.told)
    silent = {run for alert, run in told if alert == NAMES[1]}
    assert len(played.killed) > KILLED * 4 / 5  # the others are of somebody else's flow
    assert silent == played.killed
    assert {run for alert, run in told if alert == NAMES[0]} == played.failed
    assert set(told.values()) == {1}
    assert all(said["state"] == SILENT for said in bell.of(NAMES[1]))
