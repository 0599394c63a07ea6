"""The periods of a series that are to come, on the page Calendar: the share of each, what waits."""

from collections.abc import Iterator, Sequence
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


def coming(
    entries: Sequence[tuple[str, Instance]], visitor: Visitor, known: Profile
) -> list[tuple[str, list[Coming]]]:
    """By entry of the calendar whose account keeps a series: late periods, and those to come.

    Args:
        entries: names with the release that is due.
    """
    of_series = [one for one in entries if one[1].prepared.period is not None]
    if not of_series:
        return []
    states = {one.release: one for one in releases(ledger(), known)}
    rows = ((name, list(_periods(due, states, visitor))) for name, due in of_series)
    return [(name, found) for name, found in rows if found]


def _periods(due: Instance, states: dict[str, ReleaseState], visitor: Visitor) -> Iterator[Coming]:
    spec, about, book = due.prepared.spec, due.prepared.period, ledger()
    assert about is not None, "it is about a period"
    if not book.has_account(spec.population.account):
        return
    state = book.account(spec.population.account)
    if state.presence is None:
        return
    now, shown = period(about), 0
    for name, (planned, _) in periods_of(state).items():
        release = spec.release.replace(about, name)
        there = states.get(release)
        if planned == Fraction(0) or (there is not None and there.state == "published"):
            continue
        shown += period(name).number >= now.number
        if shown > _MOST:
            return
        waits = "" if there is None else f"{there.state}: {there.words or STATES[there.state]}"
        yield Coming(
            period=name,
            release=release,
            planned=share(state, planned) if visitor.may(Right.ACCOUNTS) else "",
            waits=waits,
            is_late=period(name).number < now.number,
        )
