"""One period's release of a calendar: its spec, its allowance, and when it may be published."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Allowance
from hallmark.schemas.calendar import PERIOD_MARK, Scheduled
from hallmark.schemas.loading import load_calendar
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.spec.prepare import Prepared, prepare


class CalendarRefused(SafeError):
    """The calendar has no such entry, or the entry's spec does not fit it."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A release of one period, ready to run."""

    prepared: Prepared
    allowance: Allowance


def instance(calendar: Path, name: str, moment: datetime, period: str | None = None) -> Instance:
    """The release of an entry of a calendar for one period.

    Args:
        name: of the entry.
        moment: when the run was scheduled for; it decides on the period and the embargo.
        period: the period instead of the moment's, for a run that was missed.
    Raises:
        SpecError: calendar or spec are wrong.
        CalendarRefused: no such entry or period, or a spec that does not name its period.
        PlanRefused: the mechanism cannot serve the spec.
    """
    entries = load_calendar(calendar).releases
    if name not in entries:
        raise CalendarRefused(
            f"{calendar}: releases has no entry {name!r}; there are {', '.join(sorted(entries))}"
        )
    entry = entries[name]
    try:
        period = entry.check_period(period) if period else entry.period_of(moment)
    except ValueError as error:
        raise CalendarRefused(f"{calendar}: releases.{name}: {error}") from None
    template = calendar.parent / entry.spec
    spec = private_folder(home() / "calendar" / name) / f"{period}.yaml"
    with whole(spec) as draft:
        draft.write_text(_filled_in(template, entry, period, moment), encoding="utf-8")
    prepared = prepare(spec, template.parent)
    if period not in prepared.spec.release:
        raise CalendarRefused(
            f"{template}: release: must hold {PERIOD_MARK}, such as {name}-{PERIOD_MARK}, so that "
            "each period has a release of its own"
        )
    budget = Budget(epsilon=entry.budget.epsilon, delta=entry.budget.delta)
    return Instance(prepared=prepared, allowance=Allowance(name=f"{name} {period}", budget=budget))


def _filled_in(template: Path, entry: Scheduled, period: str, moment: datetime) -> str:
    try:
        text = template.read_text(encoding="utf-8")
    except OSError as error:
        raise CalendarRefused(
            f"{template}: cannot be read ({error.strerror}); fix the calendar's spec"
        ) from None
    text = text.replace(PERIOD_MARK, period)
    until = entry.embargo_of(moment)
    return text if until is None else f"{text.rstrip()}\nembargo: {until.isoformat()}\n"
