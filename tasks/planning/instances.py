"""One period's release of a calendar: its spec, its allowance, and when it may be published."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Allowance
from hallmark.schemas.calendar import Scheduled
from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.loading import SpecError, load_calendar
from hallmark.schemas.templates import PERIOD_MARK, filled_in, first_run
from hallmark.schemas.yaml_document import LARGEST
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.planning.places import calendar_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.recurring import sources_folder
from hallmark.tasks.planning.requested import PlanRefused


class CalendarRefused(SafeError):
    """The calendar has no such entry, or the entry's spec does not fit it."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A release of one period, ready to run.

    Attributes:
        entry: of the calendar.
        template: the text of its spec, in which the period is not filled in.
    """

    prepared: Prepared
    allowance: Allowance
    entry: Scheduled
    template: str


def due(calendar: Path, name: str, moment: datetime, period: str | None = None) -> Instance:
    """The release that a run at `moment` would be about. Keeps nothing; else as `instance`."""
    with TemporaryDirectory(dir=private_folder(home() / "tmp")) as folder:
        return _instance(calendar, name, moment, period, Path(folder))


def instance(calendar: Path, name: str, moment: datetime, period: str | None = None) -> Instance:
    """The release of an entry of a calendar for one period, for a run.

    Its spec is kept: after a gate, the release goes on from there. The days of an embargo are
    counted from the first run of the period: no later one puts the publication off.

    Args:
        name: of the entry.
        moment: when the run was scheduled for; it decides on the period and the embargo.
        period: the period instead of the moment's, for a run that was missed.
    Raises:
        SpecError: calendar or spec are wrong.
        CalendarRefused: no such entry or period, or a spec that does not name its period.
        PlanRefused: the mechanism cannot serve the spec.
    """
    return _instance(calendar, name, moment, period, private_folder(calendar_folder() / name))


def _instance(
    calendar: Path, name: str, moment: datetime, period: str | None, folder: Path
) -> Instance:
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
    first = _first_run(calendar_folder() / name / f"{period}.yaml") or moment
    spec = folder / f"{period}.yaml"
    text = _text_of(template)
    with whole(spec) as draft:
        draft.write_text(
            filled_in(text, period, first, entry.embargo, entry.timezone), encoding="utf-8"
        )
    prepared = _prepared(spec, template, sources_folder(calendar, template))
    if period not in prepared.spec.release:
        raise CalendarRefused(
            f"{template}: release: must hold {PERIOD_MARK}, such as {name}-{PERIOD_MARK}, so that "
            "each period has a release of its own"
        )
    budget = Budget(epsilon=entry.budget.epsilon, delta=entry.budget.delta)
    allowance = Allowance(name=f"{name} {period}", budget=budget)
    return Instance(prepared=prepared, allowance=allowance, entry=entry, template=text)


def _prepared(spec: Path, template: Path, sources: Path) -> Prepared:
    """As `prepare`; problems name the template, which has the same lines and is to be mended."""
    try:
        return prepare(spec, sources)
    except SpecError as error:
        lines = [line.replace(str(spec), str(template)) for line in error.problems]
        raise SpecError(lines) from None
    except PlanRefused as error:
        raise PlanRefused(str(error).replace(str(spec), str(template))) from None


def _first_run(spec: Path) -> datetime | None:
    """The moment that the embargo of a kept spec is counted from; None if it has none."""
    try:
        return first_run(spec.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _text_of(template: Path) -> str:
    try:
        return bytes_of(template, LARGEST).decode()
    except OSError as error:
        raise CalendarRefused(
            f"{template}: cannot be read ({error.strerror}); fix the calendar's spec"
        ) from None
