"""The calendar: what recurs and when, and how it is scheduled by somebody without a shell."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows import engine
from hallmark.flows.deployments import deploy_calendar, take_off
from hallmark.flows.desk.coming import coming
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.recurrence import as_cron, in_words
from hallmark.flows.desk.specs import looked_at
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.ledger.terms import shown
from hallmark.schemas.calendar import Period
from hallmark.schemas.loading import SpecError
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import ordering
from hallmark.tasks.installation.places import out_folder
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.people.actions import doing
from hallmark.tasks.planning.instances import Instance, due
from hallmark.tasks.planning.looks import refuse_used_up
from hallmark.tasks.planning.places import specs_folder
from hallmark.tasks.planning.recurring import (
    recurring_calendar,
    recurring_calendars,
    scheduled_by,
    scheduling,
    templates,
)
from hallmark.tasks.releases import release_of

router = APIRouter()


@dataclass(frozen=True)
class Row:
    """One entry of the calendar as the page shows it."""

    entry: engine.CalendarEntry
    due: Instance | None  # None where something is wrong
    problem: str
    by: str | None  # who scheduled it at the desk
    begun: bool = False  # whether the release that is due has a page

    @property
    def words(self) -> list[str]:
        """When it runs, in words; empty where only cron says it."""
        said = [(in_words(cron), zone) for cron, zone in self.entry.schedules]
        return [f"{words} ({zone})" for words, zone in said] if all(w for w, _ in said) else []


@router.get("/calendar")
def calendar_page(request: Request) -> Response:
    """All recurring releases: when each is due, and which release that makes."""
    rows, problem = list[Row](), ""
    try:
        rows = [_row(entry) for entry in engine.calendar()]
    except engine.EngineMissing as error:
        problem = str(error)
    return page(
        request,
        "calendar",
        rows=rows,
        problem=problem,
        templates=templates(),
        budget=shown,
        coming=coming(
            [(row.entry.name, row.due) for row in rows if row.due is not None],
            logged_in(request),
            profile(),
        ),
    )


@router.post("/calendar/{entry}/run")
def run_entry(
    request: Request, entry: str, period: Annotated[str, Form(max_length=40)] = ""
) -> Response:
    """Run an entry's release now, or that of a missed period."""
    one, by = _entry(entry), logged_in(request)
    found = due(Path(one.calendar), entry, datetime.now(UTC), period.strip() or None)
    release = found.prepared.spec.release
    with doing(by.actor, "ordered", release, entry=entry, period=period):
        refuse_used_up(found.prepared.spec, found.prepared.folder)
        with ordering(release, by.person.login) as number:
            engine.start(
                f"{engine.CALENDAR_FLOW}/{entry}",
                {
                    "calendar": one.calendar,
                    "entry": entry,
                    "out": one.out or None,
                    "period": period.strip() or None,
                    "order": number,
                },
                release=release,
            )
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/calendar")
def recur(
    request: Request,
    spec: Annotated[str, Form(max_length=200)],
    period: Annotated[Period, Form()],
    at: Annotated[str, Form(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")],
    epsilon: Annotated[str, Form(max_length=100)],
    delta: Annotated[str, Form(max_length=100)] = "0",
    day: Annotated[int, Form(ge=1, le=28)] = 1,
    about: Annotated[Literal["this", "last"], Form()] = "last",
    timezone: Annotated[str, Form(max_length=100)] = "UTC",
    embargo_days: Annotated[str, Form(max_length=3)] = "",
    embargo_at: Annotated[str, Form(max_length=5)] = "00:00",
) -> Response:
    """Let the releases of a template recur, or change when they do."""
    if spec not in templates():
        raise SafeError(
            f"there is no spec {spec!r} whose release is named {spec}-{{period}}; save one first"
        )
    by, text = logged_in(request), (specs_folder() / f"{spec}.yaml").read_text(encoding="utf-8")
    looked_at(spec, text)
    entry: dict[str, Any] = {
        "period": period,
        "lag": int(about == "last"),
        "cron": as_cron(period, day, at),
        "timezone": timezone.strip(),
        "budget": {"epsilon": epsilon.strip(), "delta": delta.strip()},
    }
    if embargo_days.strip():
        entry["embargo"] = {"days": embargo_days.strip(), "at": embargo_at}
    with doing(by.actor, "scheduled", spec, period=period, cron=entry["cron"], epsilon=epsilon):
        _refuse_taken(spec)
        with scheduling(spec, text, entry, by.person.login) as calendar, engine.answering():
            deploy_calendar(calendar, out_folder(None))
    return RedirectResponse("/calendar", 303)


@router.post("/calendar/{entry}/remove")
def no_more(request: Request, entry: str) -> Response:
    """Let an entry recur no more; what was released stays."""
    calendar = recurring_calendar(entry)
    if calendar not in recurring_calendars():
        raise HTTPException(404, f"nothing was scheduled at the desk as {entry!r}")
    with doing(logged_in(request).actor, "unscheduled", entry), engine.answering():
        take_off(calendar)
        calendar.unlink()
    return RedirectResponse("/calendar", 303)


def _entry(name: str) -> engine.CalendarEntry:
    known = {one.name: one for one in engine.calendar()}
    if name not in known:
        raise HTTPException(404, f"the calendar has no entry {name!r}")
    return known[name]


def _row(entry: engine.CalendarEntry) -> Row:
    """An entry with the release that is due in the current period, or what is wrong."""
    calendar, by = Path(entry.calendar), None
    try:
        by = scheduled_by(calendar, entry.name)
        found = due(calendar, entry.name, datetime.now(UTC))
        begun = release_of(found.prepared.spec.release, ledger(), profile()) is not None
        return Row(entry, found, "", by, begun)
    except (SafeError, SpecError, OSError) as error:
        return Row(entry, None, str(error), by)


def _refuse_taken(name: str) -> None:
    for one in engine.calendar():
        if one.name == name and Path(one.calendar) != recurring_calendar(name):
            raise SafeError(
                f"the calendar {one.calendar} has an entry {name!r} already; give the spec another "
                "name, or take that entry out"
            )
