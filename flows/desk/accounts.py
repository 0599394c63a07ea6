"""The accounts of privacy budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.chain import Entry
from hallmark.mechanisms.privacy.ledger.history import Step
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Ledger
from hallmark.mechanisms.privacy.ledger.steps import steps
from hallmark.mechanisms.privacy.presence import LENGTHS, Length, Presence, rotating
from hallmark.schemas.exact import read_exact
from hallmark.schemas.section import IDENTIFIER
from hallmark.schemas.series import PERIODS
from hallmark.schemas.written import Line
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.ledger import words
from hallmark.tasks.ledger.rollback import refuse_rolled_back, why_refused
from hallmark.tasks.ledger.series import (
    periods_of,
    planned,
    releases_by_period,
    rho_cap_of_series,
)
from hallmark.tasks.people.actions import doing
from hallmark.tasks.releases import releases

router = APIRouter()
_MOST = 100  # entries of an account, or periods of its series, on one page


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


def look_once() -> None:
    """Fold every account, so that nobody who opens its page waits for that.

    Raises:
        LedgerError: an account breaks the law of accounts.
    """
    book = ledger()
    for account in book.account_names():
        if (found := book.history(account)) is not None:
            state, entries = found
            _latest(state, entries, state.entries)


@router.get("/accounts")
def accounts_page(request: Request) -> Response:
    """All accounts with their gauges."""
    found = [(state, Gauge.of(state)) for state in ledger().accounts()]
    return page(request, "accounts", accounts=found, words=words, lengths=LENGTHS)


@router.get("/accounts/{account}")
def account_page(
    request: Request, account: str, before: int | None = None, start: int | None = None
) -> Response:
    """One account: by which release, when and for what its budget was taken, the latest first.

    Of a series also what each of its periods has and has taken, from the one of number `start` on.
    """
    book = ledger()
    found = book.history(account)
    if found is None:
        raise HTTPException(404, f"there is no account {account!r}")
    state, entries = found
    last = state.entries if before is None else max(0, min(before - 1, state.entries))
    return page(
        request,
        "account",
        state=state,
        part=Gauge.of(state),
        words=words,
        steps=_latest(state, entries, last),
        more=last - _MOST + 1 if last > _MOST else None,
        problem=why_refused(book, account),
        before=before,
        **_series(book, state, entries, start),
    )


def _series(
    book: Ledger, state: AccountState, entries: Sequence[Entry], start: int | None
) -> dict[str, Any]:
    """The periods of a series on one page, those that releases are about now unless others are
    asked for; nothing of them if the account keeps none."""
    if state.presence is None:
        return {"periods": None}
    _, example = PERIODS[state.presence.length]
    found = list(periods_of(state).items())
    if start is None:
        begun = [n for n, (_, (_, taken)) in enumerate(found) if taken]
        start = max([0, *begun]) - _MOST // 2
    start = max(0, min(start, len(found) - 1))
    about = releases_by_period(entries)
    there = {one.release: one.state for one in releases(book, profile())}
    return {
        "periods": [
            (
                name,
                *(words.share(state, rho) for rho in (*shares, book.left_for(state.name, name))),
                [(release, there.get(release)) for release in about.get(name, ())],
            )
            for name, shares in found[start : start + _MOST]
        ],
        "example": example,
        "earlier": max(0, start - _MOST) if start else None,
        "later": start + _MOST if start + _MOST < len(found) else None,
    }


def _latest(state: AccountState, entries: Sequence[Entry], last: int) -> list[Step]:
    """The steps of a page, the latest first, up to the entry of number `last`."""
    return steps(state.name, entries, max(0, last - _MOST), last)[::-1]


@router.post("/accounts")
def open_account(
    request: Request,
    name: Annotated[str, Form(max_length=200)],
    epsilon: Annotated[str, Form(max_length=100)],
    delta: Annotated[str, Form(max_length=100)],
    neighbours: Annotated[Neighbours, Form()],
    reason: Annotated[Line, Form(max_length=2000)],
    person: Annotated[Line, Form(max_length=200)] = "",
    records: Annotated[int, Form(ge=1)] = 1,
    series: Annotated[Length | Literal[""], Form()] = "",
    rotation: Annotated[str, Form(max_length=200)] = "",
    most: Annotated[int | None, Form(ge=1)] = None,
) -> Response:
    """Open an account with a cap that its releases together never exceed."""
    by, cap, why = logged_in(request), _budget(epsilon, delta), _reason(reason)
    if re.fullmatch(IDENTIFIER, name) is None:
        raise SafeError(
            f"{name!r} cannot be the population.account of a spec; use lowercase letters, digits "
            "and dashes between them"
        )
    book = ledger()
    relation = Adjacency(neighbours=neighbours, records=records, person=person or None)
    presence = _presence(series, rotation.strip(), most)
    rho_cap = None if presence is None else rho_cap_of_series(cap)
    with doing(by.actor, "account-opened", name, epsilon=epsilon, delta=delta, reason=why):
        refuse_rolled_back(book, name)
        book.open_account(
            name,
            cap=cap,
            rho_cap=rho_cap,
            presence=presence,
            composition="sum" if cap.is_pure else "zcdp",
            adjacency=relation,
            by=by.person.login,
            reason=why,
        )
    return RedirectResponse(f"/accounts/{name}", 303)


@router.post("/accounts/{account}/cap")
def change_cap(
    request: Request,
    account: str,
    epsilon: Annotated[str, Form(max_length=100)],
    delta: Annotated[str, Form(max_length=100)],
    reason: Annotated[Line, Form(max_length=2000)],
) -> Response:
    """Change the cap of an account; never below what is spent or reserved."""
    by, cap, why, book = logged_in(request), _budget(epsilon, delta), _reason(reason), ledger()
    with doing(by.actor, "cap-changed", account, epsilon=epsilon, delta=delta, reason=why):
        refuse_rolled_back(book, account)
        in_series = book.account(account).presence is not None
        rho_cap = rho_cap_of_series(cap) if in_series else None
        book.set_cap(account, cap, rho_cap=rho_cap, by=by.person.login, reason=why)
    return RedirectResponse(f"/accounts/{account}", 303)


@router.post("/accounts/{account}/plan")
def plan_series(
    request: Request,
    account: str,
    first: Annotated[str, Form(max_length=10)],
    periods: Annotated[int, Form(ge=1, le=1000)],
    reason: Annotated[Line, Form(max_length=2000)],
    decay: Annotated[float, Form()] = 1.0,
    kept: Annotated[float, Form()] = 0.0,
) -> Response:
    """Give the periods of a series their shares of the cap, in place of an earlier plan."""
    by, why, book = logged_in(request), _reason(reason), ledger()
    said = {"periods": f"{periods} from {first}", "decay": f"{decay:g}", "kept": f"{kept:g}"}
    with doing(by.actor, "series-planned", account, **said, reason=why):
        refuse_rolled_back(book, account)
        shares = planned(book.account(account), first.strip(), periods, decay=decay, kept=kept)
        book.plan_series(account, shares, by=by.person.login, reason=why)
    return RedirectResponse(f"/accounts/{account}", 303)


def _presence(series: Length | Literal[""], rotation: str, most: int | None) -> Presence | None:
    """The periods that one unit may be in, if the account is to keep a series.

    Raises:
        SafeError: they are none.
    """
    if not series:
        if rotation or most is not None:
            raise SafeError("say how long the periods of the series are, or leave the rest empty")
        return None
    try:
        pattern = rotating(rotation) if rotation else None
        return Presence(length=series, pattern=pattern, most=most)
    except ValueError as error:
        raise SafeError(str(error)) from error


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
    if len(text) < 3:
        raise SafeError("say why, and who decided it; it stays in the ledger")
    return text
