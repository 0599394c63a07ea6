"""One period's release of a calendar: its spec, its allowance, and when it may be published."""

import re
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
from hallmark.schemas.text_edits import NotChanged, changed
from hallmark.schemas.yaml_document import LARGEST, Unreadable, read_text
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
        revision: of the period, from 1 on; 0 for its first release.
    """

    prepared: Prepared
    allowance: Allowance
    entry: Scheduled
    template: str
    revision: int = 0


@dataclass(frozen=True)
class Revision:
    """A further release of a period.

    Attributes:
        number: from 1 on.
        reason: why the period is released again.
    """

    number: int
    reason: str


def due(
    calendar: Path,
    name: str,
    moment: datetime,
    period: str | None = None,
    revision: Revision | None = None,
) -> Instance:
    """The release that a run at `moment` would be about. Keeps nothing; else as `instance`."""
    with TemporaryDirectory(dir=private_folder(home() / "tmp")) as folder:
        return _instance(calendar, name, moment, period, Path(folder), revision)


def instance(
    calendar: Path,
    name: str,
    moment: datetime,
    period: str | None = None,
    revision: Revision | None = None,
) -> Instance:
    """The release of an entry of a calendar for one period, for a run.

    Its spec is kept: after a gate, the release goes on from there. The days of an embargo are
    counted from the first run of the period: no later one puts the publication off.

    Args:
        name: of the entry.
        moment: when the run was scheduled for; it decides on the period and the embargo.
        period: the period instead of the moment's, for a run that was missed.
        revision: of the period, which has a spec and a budget of its own.
    Raises:
        SpecError: calendar or spec are wrong.
        CalendarRefused: no such entry or period, or a spec that does not name its period.
        PlanRefused: the mechanism cannot serve the spec.
    """
    folder = private_folder(calendar_folder() / name)
    return _instance(calendar, name, moment, period, folder, revision)


def kept_revisions(name: str, period: str) -> dict[int, Path]:
    """The specs of revisions of a period that were run before, by their numbers."""
    form = re.compile(rf"{re.escape(period)}-r([1-9][0-9]*)\.yaml")
    files = (calendar_folder() / name).glob(f"{period}-r*.yaml")
    return {int(found[1]): file for file in files if (found := form.fullmatch(file.name))}


def entry_of(calendar: Path, name: str) -> Scheduled:
    """An entry of a calendar.

    Raises:
        SpecError: the calendar is wrong.
        CalendarRefused: it has no such entry.
    """
    entries = load_calendar(calendar).releases
    if name not in entries:
        raise CalendarRefused(
            f"{calendar}: releases has no entry {name!r}; there are {', '.join(sorted(entries))}"
        )
    return entries[name]


def period_of(calendar: Path, name: str, moment: datetime, period: str | None) -> str:
    """The period that a run of an entry is about.

    Raises:
        SpecError: the calendar is wrong.
        CalendarRefused: it has no such entry, or the period is none of its.
    """
    entry = entry_of(calendar, name)
    try:
        return entry.check_period(period) if period else entry.period_of(moment)
    except ValueError as error:
        raise CalendarRefused(f"{calendar}: releases.{name}: {error}") from None


def release_in(template: Path, period: str) -> str:
    """The name of a period's release, as a template has it.

    Raises:
        CalendarRefused: the template cannot be read, or is no spec.
    """
    try:
        document, _ = read_text(_text_of(template).replace(PERIOD_MARK, period))
    except Unreadable as error:
        raise CalendarRefused(f"{template}: {error.what}") from None
    return str(document.content.get("release"))


def _instance(
    calendar: Path,
    name: str,
    moment: datetime,
    period: str | None,
    folder: Path,
    revision: Revision | None = None,
) -> Instance:
    entry, period = entry_of(calendar, name), period_of(calendar, name, moment, period)
    called = period if revision is None else f"{period}-r{revision.number}"
    template = calendar.parent / entry.spec
    first = _first_run(calendar_folder() / name / f"{called}.yaml") or moment
    spec = folder / f"{called}.yaml"
    text = _text_of(template)
    filled = filled_in(text, period, first, entry.embargo, entry.timezone)
    if revision is not None:
        filled = _revised(filled, template, period, revision)
    with whole(spec) as draft:
        draft.write_text(filled, encoding="utf-8")
    prepared = _prepared(spec, template, sources_folder(calendar, template))
    if period not in prepared.spec.release:
        raise CalendarRefused(
            f"{template}: release: must hold {PERIOD_MARK}, such as {name}-{PERIOD_MARK}, so that "
            "each period has a release of its own"
        )
    budget = Budget(epsilon=entry.budget.epsilon, delta=entry.budget.delta)
    return Instance(
        prepared=prepared,
        allowance=Allowance(name=f"{name} {called}", budget=budget),
        entry=entry,
        template=text,
        revision=0 if revision is None else revision.number,
    )


def _revised(filled: str, template: Path, period: str, revision: Revision) -> str:
    """The spec of a period with the name of its revision, and why it is revised."""
    name = f"{release_in(template, period)}-r{revision.number}"
    values = {("release",): name, ("series", "revised"): revision.reason}
    try:
        return changed(filled, values)
    except NotChanged as error:
        raise CalendarRefused(f"{template}: a revision cannot be made of it: {error}") from None


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
