"""The Prefect server with its scheduler and work pool, and the desk, checked over HTTP.

They are checked like by any client, not through Prefect's library, which would start its own server
if none answers.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any

import httpx

from hallmark.tasks.doctor import Finding, ok, warn, wrong
from hallmark.tasks.installation.server_mode import DESK_HOSTS, DESK_URL, POOL
from hallmark.tasks.people.directory import people
from hallmark.tasks.people.rights import Right

NEW = timedelta(minutes=3)  # the scheduler checks deployments once a minute
APART = timedelta(seconds=30)  # clocks of this machine and of the server
_SECONDS = 10
_PAGE = 200  # deployments per answer of the server


def prefect_server(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Whether the server answers, lets in only us, schedules runs, and has a worker."""
    url = environment.get("PREFECT_API_URL")
    if not url:
        yield ok("server", "PREFECT_API_URL is not set; releases run without a server")
        return
    password = environment.get("PREFECT_API_AUTH_STRING")
    with httpx.Client(base_url=url, timeout=_SECONDS) as stranger:
        try:
            answer = stranger.get("/health")
            open_to_all = stranger.get("/admin/version").is_success
        except httpx.HTTPError as error:
            yield wrong(
                "server",
                f"{url} does not answer ({type(error).__name__})",
                "start it (make up, or: python -m deploy.dashboard), or fix PREFECT_API_URL",
            )
            return
    user, _, secret = (password or "").partition(":")
    auth = (user, secret) if password else None
    with httpx.Client(base_url=url, timeout=_SECONDS, auth=auth) as client:
        told = client.get("/admin/version")
        if not told.is_success:
            yield wrong(
                "server",
                f"{url} does not let us in ({told.status_code})",
                "set PREFECT_API_AUTH_STRING to the server's user:password",
            )
            return
        yield from _versions(url, told.json(), open_to_all)
        yield from _clock(answer)
        yield from _scheduler(client)
        yield from _pool(client)


def _versions(url: str, theirs: str, open_to_all: bool) -> Iterator[Finding]:
    ours = version("prefect")
    if theirs != ours:
        yield wrong(
            "server",
            f"{url} runs Prefect {theirs}, but this installation has {ours}",
            f"install prefect=={ours} where the server runs, and restart it",
        )
    elif open_to_all:
        yield warn(
            "server",
            f"{url} asks for no password: anybody who reaches it can start runs",
            "set PREFECT_SERVER_API_AUTH_STRING for the server and PREFECT_API_AUTH_STRING here",
        )
    else:
        yield ok("server", f"{url} runs Prefect {theirs}, and asks for a password")


def _clock(answer: httpx.Response) -> Iterator[Finding]:
    apart = abs(datetime.now(UTC) - parsedate_to_datetime(answer.headers["date"]))
    if apart > APART:
        yield warn(
            "clock",
            f"the clocks of this machine and the server differ by {apart.total_seconds():.0f} "
            "seconds",
            "set both clocks by NTP: timedatectl set-ntp true",
        )


def _scheduler(client: httpx.Client) -> Iterator[Finding]:
    """Whether scheduled deployments have upcoming runs; a dead scheduler creates none at all."""
    deployments = _deployments(client)
    scheduled = [
        one
        for one in deployments
        if not one["paused"] and any(schedule["active"] for schedule in one["schedules"])
    ]
    if not deployments:
        mend = "prefect --no-prompt deploy --all, and: hallmark deploy --help"
        yield warn("scheduler", "nothing is deployed on the server", mend)
        return
    now = datetime.now(UTC)
    idle = [one for one in scheduled if not _runs(client, one["id"], after=now)]
    names = ", ".join(one["name"] for one in idle)
    if idle and len(idle) == len(scheduled):
        says = f"no deployment with an active schedule has an upcoming run ({names})"
        if all(now - datetime.fromisoformat(one["updated"]) < NEW for one in idle):
            yield warn("scheduler", f"{says} yet", "check again in three minutes")
        else:
            yield wrong(
                "scheduler",
                says,
                "look for schedule_deployments in the server's log; the usual cause is "
                "SQLAlchemy 2.1 or newer where the server runs (constraints.txt pins it)",
            )
    elif idle:
        yield warn(
            "scheduler",
            f"{names} has no upcoming run",
            "this is fine if the next run is more than 100 days away; else switch its schedule off "
            "and on",
        )
    else:
        yield ok("scheduler", f"{len(scheduled)} of {len(deployments)} deployments have a schedule")
    late = _count(client, {"state": {"name": {"any_": ["Late"]}}})
    if late:
        mend = "start a worker: prefect worker start --pool hallmark"
        yield warn("scheduler", f"{late} runs should have started but have not", mend)


def _deployments(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = _asked(client, "/deployments/filter", limit=_PAGE, offset=len(found))
        found += page
        if len(page) < _PAGE:
            return found


def _runs(client: httpx.Client, deployment: str, *, after: datetime) -> int:
    return _count(
        client,
        {
            "deployment_id": {"any_": [deployment]},
            "state": {"type": {"any_": ["SCHEDULED"]}},
            "next_scheduled_start_time": {"after_": after.isoformat()},
        },
    )


def _count(client: httpx.Client, runs: Mapping[str, Any]) -> int:
    count: int = _asked(client, "/flow_runs/count", flow_runs=runs)
    return count


def _pool(client: httpx.Client) -> Iterator[Finding]:
    pool = client.get(f"/work_pools/{POOL}")
    if pool.status_code == httpx.codes.NOT_FOUND:
        mend = "run python -m deploy.registration, which creates it with Hallmark's job template"
        yield wrong("workers", f"the server has no work pool {POOL}", mend)
        return
    if pool.raise_for_status().json()["is_paused"]:
        mend = f"prefect work-pool resume {POOL}"
        yield warn("workers", f"the work pool {POOL} is paused; nothing starts", mend)
        return
    workers = _asked(client, f"/work_pools/{POOL}/workers/filter")
    online = [worker["name"] for worker in workers if worker["status"] == "ONLINE"]
    if online:
        yield ok("workers", f"{len(online)} online in the work pool {POOL}")
    else:
        mend = f"prefect worker start --pool {POOL}"
        yield wrong("workers", f"no worker of the work pool {POOL} is online", mend)


def _asked(client: httpx.Client, path: str, **body: Any) -> Any:
    return client.post(path, json=body).raise_for_status().json()


def desk(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Whether the desk answers, lets in no stranger, and has somebody who lets others in."""
    url = environment.get(DESK_URL)
    if not url:
        yield ok("desk", f"{DESK_URL} is not set; decide with: hallmark approve")
        return
    try:
        healthy = httpx.get(f"{url}/health", timeout=_SECONDS).is_success
        stranger = httpx.get(f"{url}/", timeout=_SECONDS)
    except httpx.HTTPError as error:
        yield wrong(
            "desk",
            f"{url} does not answer ({type(error).__name__})",
            f"start it (make up, or: uvicorn hallmark.flows.desk:desk), or fix {DESK_URL}",
        )
        return
    if stranger.status_code == httpx.codes.MISDIRECTED_REQUEST:
        mend = f"where the desk runs, set {DESK_URL} to it, or name its host in {DESK_HOSTS}"
        yield wrong("desk", f"the desk does not answer as {url}", mend)
    elif not healthy or stranger.status_code != httpx.codes.UNAUTHORIZED:
        yield wrong("desk", f"{url} is not the desk", f"set {DESK_URL} to the desk's address")
    elif not any(Right.MANAGE in one.rights and one.ready for one in people()):
        mend = 'hallmark people add LOGIN --name "FULL NAME" --role administrator'
        yield warn("desk", f"{url} answers, but no administrator can log in", mend)
    else:
        yield ok("desk", f"{url} answers, and asks who you are")
