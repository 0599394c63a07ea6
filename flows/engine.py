"""The orchestrator below the desk: start runs there, stop them, and tell how they go.

Without a server (`PREFECT_API_URL`) the desk shows what is there and starts nothing.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments import run_deployment
from prefect.states import Cancelled, Cancelling

from hallmark.schemas.loading import SpecError
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.server_mode import POOL

RELEASE, CERTIFY, REHEARSAL = "release/on-demand", "certify/on-demand", "rehearsal/on-demand"
VALIDATION, WITHDRAWAL = "validation/on-demand", "withdrawal/on-demand"
CALENDAR_FLOW = "calendar-release"
_FLOW = "flow:"  # begins the tag that says what a run is
_MOST_RUNS = 20  # of a release that are shown
_SILENT = timedelta(minutes=2)  # of a worker, which is heard of every 30 seconds
_UNDER_WAY = (StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING, StateType.PAUSED)


class EngineMissing(SafeError):
    """There is no orchestrator to start or stop anything."""


@dataclass(frozen=True)
class EngineRun:
    """A run as the orchestrator knows it."""

    id: str
    name: str
    flow: str
    state: str
    began: datetime | None  # or is to begin
    url: str | None  # of its page, with its log
    under_way: bool  # or ordered: it can be stopped


@dataclass(frozen=True, kw_only=True)
class CalendarEntry:
    """A recurring release that is registered with the orchestrator."""

    name: str
    calendar: str  # path of its file
    out: str
    schedules: tuple[tuple[str, str], ...]  # fields of cron, and the time zone
    paused: bool
    next: datetime | None


def has_server() -> bool:
    """Whether there is an orchestrator that runs could be started on."""
    return bool(os.environ.get("PREFECT_API_URL"))


def engine_url() -> str | None:
    """Where people reach the orchestrator's own pages."""
    api = os.environ.get("PREFECT_SERVER_UI_API_URL") or os.environ.get("PREFECT_API_URL")
    return None if not api else api.removesuffix("/api")


def start(
    deployment: str,
    parameters: Mapping[str, Any],
    *,
    release: str,
    key: str | None = None,
    at: datetime | None = None,
) -> str:
    """Start a run of a deployment, now or later; returns the run's name.

    Args:
        key: two calls with the same one start one run.
    Raises:
        EngineMissing: there is no server, or it does not answer or know the deployment.
    """
    _need_server()
    try:
        run: Any = run_deployment(
            deployment,
            parameters=dict(parameters),
            timeout=0,
            as_subflow=False,
            idempotency_key=key,
            scheduled_time=at,
            tags=[_tag(release), _FLOW + deployment.partition("/")[0]],
        )
    except Exception as error:  # of the client: many kinds, whose messages name addresses
        raise EngineMissing(
            f"the orchestrator did not take the run ({type(error).__name__}); nothing was started. "
            "Try again, or ask whoever runs the installation, to whom hallmark doctor says why"
        ) from None
    return str(run.name)


def stop(release: str) -> int:
    """Ask all runs of a release that are under way to end; returns how many.

    Raises:
        EngineMissing: there is no server, or it does not answer.
    """
    asked = 0
    with answering(), get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=_of(release)):
            if run.state_type not in _UNDER_WAY:
                continue
            began = run.state_type == StateType.RUNNING
            client.set_flow_run_state(run.id, Cancelling() if began else Cancelled(), force=True)
            asked += 1
    return asked


def runs_of(release: str) -> list[EngineRun]:
    """The latest runs of a release; none where there is no server, or it does not answer."""
    if not has_server():
        return []
    try:
        with get_client(sync_client=True) as client:
            found = client.read_flow_runs(
                flow_run_filter=_of(release),
                sort=FlowRunSort.EXPECTED_START_TIME_DESC,
                limit=_MOST_RUNS,
            )
    except Exception:  # nothing depends on it
        return []
    at = engine_url()
    return [
        EngineRun(
            str(run.id),
            str(run.name),
            next((tag.removeprefix(_FLOW) for tag in run.tags if tag.startswith(_FLOW)), ""),
            run.state_name or "",
            run.start_time or run.expected_start_time,
            f"{at}/runs/flow-run/{run.id}",
            run.state_type in _UNDER_WAY,
        )
        for run in found
    ]


def waits_for_worker() -> str:
    """Why a run that was ordered has not begun, and who can change it; empty where it soon will."""
    if not has_server():
        return "whoever runs the installation: there is no orchestrator; start it with: make up"
    try:
        with get_client(sync_client=True) as client:
            found = client.read_workers_for_work_pool(POOL)
    except Exception:  # of the client: many kinds
        return "whoever runs the installation: the orchestrator does not answer"
    heard = [one.last_heartbeat_time for one in found if one.last_heartbeat_time is not None]
    if not heard or datetime.now(UTC) - max(heard) > _SILENT:
        return "whoever runs the installation: no worker that could begin it has been heard of"
    return ""


def calendar() -> list[CalendarEntry]:
    """All recurring releases that are registered.

    Raises:
        EngineMissing: there is no server, or it does not answer.
    """
    with answering(), get_client(sync_client=True) as client:
        found = client.read_deployments(
            flow_filter=FlowFilter(name=FlowFilterName(any_=[CALENDAR_FLOW])),
            deployment_filter=DeploymentFilter(),
        )
    now = datetime.now(UTC)
    entries = []
    for one in sorted(found, key=lambda deployment: deployment.name):
        schedules: list[Any] = [schedule.schedule for schedule in one.schedules]
        dates = [date for each in schedules for date in _next(each, now)]
        entries.append(
            CalendarEntry(
                name=one.name,
                calendar=str((one.parameters or {}).get("calendar", "")),
                out=str((one.parameters or {}).get("out", "")),
                schedules=tuple((each.cron, each.timezone or "UTC") for each in schedules),
                paused=bool(one.paused),
                next=min(dates, default=None),
            )
        )
    return entries


@contextmanager
def answering() -> Iterator[None]:
    """Ask the orchestrator for something in the block.

    Raises:
        EngineMissing: there is no server, or it does not answer, or not as it should.
    """
    _need_server()
    try:
        yield
    except (SafeError, SpecError):  # not the server's
        raise
    except Exception as error:  # of the client: many kinds, whose messages name addresses
        raise EngineMissing(
            f"the orchestrator does not answer ({type(error).__name__}), so no run can be started, "
            "stopped or scheduled now; all else goes on. Try again, or ask whoever runs the "
            "installation, to whom hallmark doctor says why"
        ) from None


def _next(schedule: Any, now: datetime) -> list[datetime]:
    zone = ZoneInfo(schedule.timezone or "UTC")
    return [next(CronSim(schedule.cron, now.astimezone(zone))).astimezone(UTC)]


def _of(release: str) -> FlowRunFilter:
    return FlowRunFilter(tags=FlowRunFilterTags(all_=[_tag(release)]))


def _tag(release: str) -> str:
    return f"release:{release}"


def _need_server() -> None:
    if not has_server():
        raise EngineMissing(
            "the desk runs without an orchestrator, so nothing can be started or stopped here; "
            "start server mode with: make up"
        )
