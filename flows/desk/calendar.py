"""The calendar: what recurs and when, and how people without a shell propose to change it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows import engine
from hallmark.flows.desk.agency import Reason, propose, undecided
from hallmark.flows.desk.coming import coming
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.recurrence import as_cron, as_day, in_words
from hallmark.flows.desk.schedules import ScheduleText, document, is_schedule, written
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.ledger.terms import shown
from hallmark.schemas.calendar import Period, PlanApproved
from hallmark.schemas.loading import SpecError, load_calendar
from hallmark.schemas.written import Lines
from hallmark.schemas.yaml_document import read_document
from hallmark.tasks import governance
from hallmark.tasks.governance import ChangeRefused
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
    templates,
)
from hallmark.tasks.releases import release_of
from hallmark.tasks.revisions import revision as revised

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
def calendar_page(request: Request, entry: Annotated[str, Query(max_length=64)] = "") -> Response:
    """All recurring releases: when each is due, and which release that makes."""
    rows, problem = list[Row](), ""
    try:
        rows = [_row(entry) for entry in engine.calendar()]
    except engine.EngineMissing as error:
        problem = str(error)
    changes = [one for one in governance.proposals() if is_schedule(one.document)]
    return page(
        request,
        "calendar",
        rows=rows,
        problem=problem,
        templates=templates(),
        budget=shown,
        open=undecided(changes),
        ended=[one for one in changes if one.decided is not None],
        entry=_shown(entry) if entry else _NEW,
        chosen=entry,
        coming=coming(
            [(row.entry.name, row.due) for row in rows if row.due is not None],
            logged_in(request),
            profile(),
        ),
    )


@router.post("/calendar/{entry}/run")
def run_entry(
    request: Request,
    entry: str,
    period: Annotated[str, Form(max_length=40)] = "",
    revision: Annotated[Lines, Form(max_length=1000)] = "",
) -> Response:
    """Run an entry's release now, or that of a missed period; or release a published one again.

    Args:
        revision: why a published period is released again; empty where none is.
    """
    one, by, why = _entry(entry), logged_in(request), " ".join(revision.split()) or None
    calendar, moment, about = Path(one.calendar), datetime.now(UTC), period.strip() or None
    again = None
    if why is not None:
        again = revised(calendar, entry, moment, about, reason=why, out=out_folder(one.out or None))
    found = due(calendar, entry, moment, about, again)
    release = found.prepared.spec.release
    if again is not None:
        _refuse_published(release)
    more = {} if why is None else {"revision": why}
    with doing(by.actor, "ordered", release, entry=entry, period=period, **more):
        refuse_used_up(found.prepared.spec, found.prepared.folder)
        with ordering(release, by.person.login) as number:
            engine.start(
                f"{engine.CALENDAR_FLOW}/{entry}",
                {
                    "calendar": one.calendar,
                    "entry": entry,
                    "out": one.out or None,
                    "period": about,
                    "order": number,
                    "revision": why,
                },
                release=release,
            )
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/calendar")
def propose_entry(
    request: Request,
    spec: Annotated[str, Form(max_length=200)],
    period: Annotated[Period, Form()],
    epsilon: Annotated[str, Form(max_length=100)],
    reason: Reason,
    delta: Annotated[str, Form(max_length=100)] = "0",
    day: Annotated[str, Form(max_length=10)] = "1",
    at: Annotated[str, Form(max_length=5)] = "",
    cron: Annotated[str, Form(max_length=200)] = "",
    lag: Annotated[str, Form(max_length=10)] = "1",
    timezone: Annotated[str, Form(max_length=100)] = "UTC",
    embargo_days: Annotated[str, Form(max_length=10)] = "",
    embargo_at: Annotated[str, Form(max_length=5)] = "00:00",
    plan_approved: Annotated[PlanApproved, Form()] = "each",
) -> Response:
    """Propose that the releases of a template recur, or do so otherwise."""
    if spec not in templates():
        what = f"there is no spec {spec!r} whose release is named {spec}-{{period}}; save one first"
        raise ChangeRefused(what, {("spec",): what})
    entry: dict[str, Any] = {
        "period": period,
        "lag": lag.strip(),
        "cron": cron.strip() or as_cron(period, day, at),
        "timezone": timezone.strip(),
        "budget": {"epsilon": epsilon.strip(), "delta": delta.strip()},
    }
    if embargo_days.strip():
        entry["embargo"] = {"days": embargo_days.strip(), "at": embargo_at}
    if plan_approved != "each":
        entry["plan_approved"] = plan_approved
    text = (specs_folder() / f"{spec}.yaml").read_text(encoding="utf-8")
    propose(request, ScheduleText(spec), written(entry, text), reason)
    return RedirectResponse("/calendar", 303)


@router.post("/calendar/proposals/{number}")
def withdraw(request: Request, number: int, reason: Reason) -> Response:
    """Withdraw one's own proposal; somebody else's is refused."""
    visitor = logged_in(request)
    with doing(visitor.actor, "change-decided", str(number), answer="withdrawn", reason=reason):
        governance.decide(number, "withdrawn", reason, by=visitor.person.login, named=document)
    return RedirectResponse("/calendar", 303)


@router.post("/calendar/{entry}/remove")
def propose_removal(request: Request, entry: str, reason: Reason) -> Response:
    """Propose that an entry recurs no more; what was released stays."""
    if recurring_calendar(entry) not in recurring_calendars():
        raise HTTPException(404, f"nothing was scheduled at the desk as {entry!r}")
    propose(request, ScheduleText(entry), "", reason)
    return RedirectResponse("/calendar", 303)


_NEW = {
    "period": "month", "lag": "1", "day": "3", "at": "02:00", "cron": "", "timezone": "UTC",
    "epsilon": "", "delta": "1e-6", "embargo_days": "", "embargo_at": "09:00",
    "plan_approved": "each",
}  # fmt: skip
"""What the form proposes of an entry that there is not yet."""


def _shown(entry: str) -> dict[str, str]:
    """What the form shows of an entry that was scheduled at the desk.

    Raises:
        HTTPException: there is none.
    """
    calendar = recurring_calendar(entry)
    if calendar not in recurring_calendars():
        raise HTTPException(404, f"nothing was scheduled at the desk as {entry!r}")
    found = load_calendar(calendar).releases[entry]
    when, embargo = as_day(found.period, found.cron), dict[str, str]()
    if found.embargo is not None:
        embargo = {"embargo_days": str(found.embargo.days), "embargo_at": found.embargo.at}
    return _NEW | {
        "period": found.period,
        "lag": str(found.lag),
        **({"cron": found.cron} if when is None else {"day": when[0], "at": when[1]}),
        "timezone": found.timezone,
        **read_document(calendar).content["releases"][entry]["budget"],  # as it was written
        **embargo,
        "plan_approved": found.plan_approved,
    }


def _entry(name: str) -> engine.CalendarEntry:
    known = {one.name: one for one in engine.calendar()}
    if name not in known:
        raise HTTPException(404, f"the calendar has no entry {name!r}")
    return known[name]


def _refuse_published(revision: str) -> None:
    """Refuse a revision that is published already, which a run would leave alone."""
    there = release_of(revision, ledger(), profile())
    if there is not None and there.state == "published":
        raise SafeError(
            f"{revision} was made for this reason, and is published; for a further revision give "
            "the reason of that one"
        )


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
