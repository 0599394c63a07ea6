"""The accounts of privacy budget, and the calendar of recurring releases."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows import engine
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.ledger.history import history
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, LedgerError
from hallmark.schemas.loading import SpecError
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import give_order
from hallmark.tasks.ledger import words
from hallmark.tasks.ledger.rollback import refuse_rolled_back
from hallmark.tasks.people.actions import record
from hallmark.tasks.spec.instances import instance

router = APIRouter()


@dataclass(frozen=True)
class Gauge:
    """How much of an account's cap is spent, reserved and left, in per cent that add up to 100."""

    spent: float
    reserved: float
    left: float

    @classmethod
    def of(cls, state: AccountState) -> "Gauge":
        """What is left is in the account's own currency; the rest is shared by epsilon."""
        left = 100 * float(state.share_left)
        taken = [float(state.spent[0]), float(state.reserved[0])]
        share = taken[0] / sum(taken) if sum(taken) else 1.0
        return cls((100 - left) * share, (100 - left) * (1 - share), left)


@router.get("/accounts")
def accounts_page(request: Request) -> Response:
    """All accounts with their gauges."""
    found = [(state, Gauge.of(state)) for state in ledger().accounts()]
    return page(request, "accounts", accounts=found, words=words)


@router.get("/accounts/{account}")
def account_page(request: Request, account: str) -> Response:
    """One account: by which release, when and for what its budget was taken."""
    book = ledger()
    if not book.has_account(account):
        raise HTTPException(404, f"there is no account {account!r}")
    state, problem = book.account(account), ""
    try:
        refuse_rolled_back(book, account)
    except LedgerError as error:
        problem = str(error)
    steps = list(history(account, book.entries(account)))[::-1]
    return page(
        request,
        "account",
        state=state,
        part=Gauge.of(state),
        words=words,
        steps=steps,
        problem=problem,
    )


@router.get("/calendar")
def calendar_page(request: Request) -> Response:
    """All recurring releases: when each is due, and which release that makes."""
    rows, problem = [], ""
    try:
        for entry in engine.calendar():
            rows.append((entry, *_due(entry)))
    except engine.EngineMissing as error:
        problem = str(error)
    return page(request, "calendar", rows=rows, problem=problem)


@router.post("/calendar/{entry}/run")
def run_entry(
    request: Request, entry: str, period: Annotated[str, Form(max_length=40)] = ""
) -> Response:
    """Run an entry's release now, or that of a missed period."""
    known = {one.name: one for one in engine.calendar()}
    if entry not in known:
        raise HTTPException(404, f"the calendar has no entry {entry!r}")
    one, by = known[entry], logged_in(request)
    due = instance(Path(one.calendar), entry, datetime.now(UTC), period.strip() or None)
    release = due.prepared.spec.release
    record(by.actor, "ordered", release, entry=entry, period=period)
    engine.start(
        f"{engine.CALENDAR_FLOW}/{entry}",
        {
            "calendar": one.calendar,
            "entry": entry,
            "out": one.out or None,
            "period": period.strip() or None,
            "order": give_order(release, by.person.login),
        },
        release=release,
    )
    return RedirectResponse(f"/releases/{release}", 303)


def _due(entry: engine.CalendarEntry) -> tuple[str, str]:
    """The release that is due in the current period, or what is wrong."""
    try:
        due = instance(Path(entry.calendar), entry.name, datetime.now(UTC))
    except (SafeError, SpecError, OSError) as error:
        return "", str(error)
    return due.prepared.spec.release, ""
