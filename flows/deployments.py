"""Register what an operator can start on a Prefect server: forms of specs, and a calendar."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.schedules import Cron
from prefect.types.entrypoint import EntrypointType

from hallmark.flows.form import release_form
from hallmark.flows.scheduled import calendar_release
from hallmark.schemas.loading import load_calendar
from hallmark.schemas.spec_form import form_of
from hallmark.tasks.installation.server_mode import POOL
from hallmark.tasks.planning.instances import due
from hallmark.tasks.planning.prepare import prepare


def deploy_forms(specs: Iterable[Path], out: Path) -> list[str]:
    """Register a form for each spec, filled in from the spec; returns the deployments' names.

    Args:
        out: absolute path of the folder in which release folders are made.
    Raises:
        SpecError, PlanRefused: a spec is invalid; no form was registered.
    """
    prepared = [prepare(spec) for spec in specs]
    names = []
    for one in prepared:
        deployment: Any = release_form.to_deployment(
            name=one.spec.release,
            description=f"{one.spec.title}: run it unchanged, or with changes in the form.",
            parameters={
                "form": form_of(one.spec),
                "spec": str(one.path),
                "out": str(out),
            },
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        deployment.apply(work_pool_name=POOL)
        names.append(f"release-form/{deployment.name}")
    return names


def deploy_calendar(calendar: Path, out: Path) -> list[str]:
    """Register a schedule for each entry; removed entries are taken off the server.

    Args:
        out: absolute path of the folder in which release folders are made.
    Raises:
        SpecError, CalendarRefused, PlanRefused: the calendar or a spec is invalid; nothing changed.
    """
    entries = load_calendar(calendar).releases
    for name in entries:
        due(calendar, name, datetime.now(UTC))  # an invalid spec is found now, not at night
    calendar = calendar.absolute()  # keeps links: those of a ConfigMap lead to temporary folders
    for name, entry in entries.items():
        deployment: Any = calendar_release.to_deployment(
            name=name,
            description=f"{entry.spec}, once in every {entry.period}.",
            schedules=[Cron(entry.cron, timezone=entry.timezone)],
            parameters={
                "calendar": str(calendar),
                "entry": name,
                "out": str(out),
            },
            tags=[_tag(calendar)],
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        deployment.apply(work_pool_name=POOL)
    take_off(calendar, keep=entries)
    return [f"calendar-release/{name}" for name in entries]


def take_off(calendar: Path, keep: Collection[str] = ()) -> None:
    """Take the schedules of a calendar off the server, but for these entries."""
    with get_client(sync_client=True) as client:
        ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[_tag(calendar)]))
        for deployment in client.read_deployments(deployment_filter=ours):
            if deployment.name not in keep:
                client.delete_deployment(deployment.id)


def _tag(calendar: Path) -> str:
    return f"calendar:{calendar}"
