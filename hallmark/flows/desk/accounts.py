"""The accounts of privacy budget, and the calendar of recurring releases."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows import engine
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.history import history
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, LedgerError
from hallmark.schemas.exact import read_exact
from hallmark.schemas.loading import SpecError
from hallmark.schemas.section import IDENTIFIER
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


@router.post("/accounts")
def open_account(
    request: Request,
    name: Annotated[str, Form(max_length=200)],
    epsilon: Annotated[str, Form(max_length=100)],
    delta: Annotated[str, Form(max_length=100)],
    neighbours: Annotated[Neighbours, Form()],
    reason: Annotated[str, Form(max_length=2000)],
    person: Annotated[str, Form(max_length=200)] = "",
    records: Annotated[int, Form(ge=1)] = 1,
) -> Response:
    """Open an account with a cap that its releases together never exceed."""
    by, cap = logged_in(request), _budget(epsilon, delta)
    if re.fullmatch(IDENTIFIER, name) is None:
        raise SafeError(
            f"{name!r} cannot be the population.account of a spec; use lowercase letters, digits "
            "and dashes between them"
        )
    book = ledger()
    refuse_rolled_back(book, name)
    book.open_account(
        name,
        cap=cap,
        composition="sum" if cap.is_pure else "zcdp",
        adjacency=Adjacency(neighbours=neighbours, records=records, person=person.strip() or None),
        by=by.person.login,
        reason=_reason(reason),
    )
    record(by.actor, "account-opened", name, epsilon=epsilon, delta=delta, reason=reason)
    return RedirectResponse(f"/accounts/{name}", 303)


@router.post("/accounts/{account}/cap")
def change_cap(
    request: Request,
    account: str,
    epsilon: Annotated[str, Form(max_length=100)],
    delta: Annotated[str, Form(max_length=100)],
    reason: Annotated[str, Form(max_length=2000)],
) -> Response:
    """Change the cap of an account; never below what is spent or reserved."""
    by, book = logged_in(request), ledger()
    refuse_rolled_back(book, account)
    book.set_cap(account, _budget(epsilon, delta), by=by.person.login, reason=_reason(reason))
    record(by.actor, "cap-changed", account, epsilon=epsilon, delta=delta, reason=reason)
    return RedirectResponse(f"/accounts/{account}", 303)


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


def _budget(epsilon: str, delta: str) -> Budget:
    """A cap from the texts of a form.

    Raises:
        SafeError: they are no budget.
    """
    try:
        return Budget(epsilon=read_exact(epsilon.strip()), delta=read_exact(delta.strip()))
    except ValueError as error:
        raise SafeError(f"epsilon {epsilon!r}, delta {delta!r}: no budget ({error})") from None


def _reason(text: str) -> str:
    if len(text.strip()) < 3:
        raise SafeError("say why, and who decided it; it stays in the ledger")
    return text.strip()


def _due(entry: engine.CalendarEntry) -> tuple[str, str]:
    """The release that is due in the current period, or what is wrong."""
    try:
        due = instance(Path(entry.calendar), entry.name, datetime.now(UTC))
    except (SafeError, SpecError, OSError) as error:
        return "", str(error)
    return due.prepared.spec.release, ""
