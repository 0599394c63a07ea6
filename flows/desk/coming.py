"""The periods of a series on the page Calendar: those to come, with the share of each and what
waits, and those that can be revised."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hallmark.flows.desk.pages import ledger
from hallmark.flows.desk.visitor import Visitor
from hallmark.mechanisms.privacy.presence import period
from hallmark.schemas.profile import Profile
from hallmark.tasks.ledger.series import periods_of
from hallmark.tasks.ledger.words import share
from hallmark.tasks.people.rights import Right
from hallmark.tasks.planning.instances import Instance
from hallmark.tasks.releases import STATES, ReleaseState, releases

_MOST = 6  # periods of a series from the one that is due on


@dataclass(frozen=True)
class Coming:
    """A period that has a share and is not published.

    Attributes:
        release: its name.
        planned: its share in words; empty for whoever does not see accounts.
        waits: the state of the release and what mends it; empty where it was not begun.
        is_late: whether a later period is due already.
    """

    period: str
    release: str
    planned: str
    waits: str
    is_late: bool


@dataclass(frozen=True)
class SeriesPeriods:
    """The periods of a series that somebody can still do something about.

    Attributes:
        entry: of the calendar.
        coming: late periods, and those to come.
        published: names of the periods that can be revised, the latest first.
    """

    entry: str
    coming: Sequence[Coming]
    published: Sequence[str]


def coming(
    entries: Sequence[tuple[str, Instance]], visitor: Visitor, known: Profile
) -> list[SeriesPeriods]:
    """The periods of every entry of the calendar whose account keeps a series.

    Args:
        entries: names with the release that is due.
    """
    of_series = [one for one in entries if one[1].prepared.period is not None]
    if not of_series:
        return []
    states = {one.release: one for one in releases(ledger(), known)}
    found = [_periods(name, due, states, visitor) for name, due in of_series]
    return [one for one in found if one.coming or one.published]


def _periods(
    entry: str, due: Instance, states: dict[str, ReleaseState], visitor: Visitor
) -> SeriesPeriods:
    spec, about, book = due.prepared.spec, due.prepared.period, ledger()
    assert about is not None, "it is about a period"
    found, published = list[Coming](), list[str]()
    account = spec.population.account
    state = book.account(account) if book.has_account(account) else None
    if state is None or state.presence is None:
        return SeriesPeriods(entry, found, published)
    now, shown = period(about), 0
    for name, (planned, _) in periods_of(state).items():
        release = spec.release.replace(about, name)
        there = states.get(release)
        if there is not None and there.state == "published":
            published.insert(0, name)
            continue
        if planned == Fraction(0):
            continue
        shown += period(name).number >= now.number
        if shown > _MOST:
            break
        waits = "" if there is None else f"{there.state}: {there.words or STATES[there.state]}"
        found.append(
            Coming(
                period=name,
                release=release,
                planned=share(state, planned) if visitor.may(Right.ACCOUNTS) else "",
                waits=waits,
                is_late=period(name).number < now.number,
            )
        )
    return SeriesPeriods(entry, found, published)
