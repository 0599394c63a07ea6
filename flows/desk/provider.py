"""Logging in by a provider of identities (OpenID Connect).

The browser is sent to the provider by a link, and comes back with a code. A signed cookie shows
that it is the browser that began; the cookie is good for ten minutes and one answer, and holds what
the code and the ID token must match, and where to go next. Its key lives as long as the process, so
a new process takes no answer a second time either.
"""

import os
import time
from dataclasses import asdict
from hmac import compare_digest

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.concurrency import run_in_threadpool

from hallmark.flows.desk.entrance import cookie_name, give_cookie, is_secure
from hallmark.flows.desk.pages import message, within
from hallmark.flows.desk.visitor import visitor_of
from hallmark.schemas.visible import visible
from hallmark.tasks.people.actions import Actor, record
from hallmark.tasks.people.directory import Person, vouched_for
from hallmark.tasks.people.provider import (
    ANSWER_PATH,
    AnswerRefused,
    Attempt,
    ProviderFault,
    Vouched,
    begun,
    provider_name,
    vouched,
)
from hallmark.tasks.people.sessions import begin

__all__ = ["provider_name", "router"]

router = APIRouter()

_WAITED_FOR = 600  # seconds that somebody has for logging in at the provider
_LONGEST_PATH = 1000  # characters of where to go then; browsers keep cookies of 4096 bytes
_ANEW = (
    "this is no answer to a log-in that this browser began in the last ten minutes, or it was "
    "used; open the desk at its own address and log in anew"
)
_serializer = URLSafeTimedSerializer(os.urandom(32), salt="log-ins begun at the provider")
_used: dict[str, float] = {}
"""States that had their answer, and when."""


@router.get("/log-in/provider")
async def to_provider(request: Request, next: str = "/") -> Response:  # noqa: A002
    """Send the browser to the provider."""
    wanted = within(next[: _LONGEST_PATH + 1])
    wanted = wanted if len(wanted) <= _LONGEST_PATH else "/"
    if visitor_of(request) is not None:
        return RedirectResponse(wanted, 303)
    try:
        address, attempt = await begun()
    except ProviderFault as error:
        return message(request, 502, str(error))
    answer = RedirectResponse(address, 303)
    answer.set_cookie(
        _cookie(),
        str(_serializer.dumps({"attempt": asdict(attempt), "next": wanted})),
        max_age=_WAITED_FOR,
        secure=is_secure(),
        httponly=True,
        samesite="lax",  # not strict: the provider's page leads back here
    )
    return answer


@router.get(ANSWER_PATH)
async def from_provider(
    request: Request,
    state: str = "",
    code: str = "",
    error: str = "",
    iss: str | None = None,
) -> Response:
    """Begin a session for whom the provider vouches, or say why not."""
    found = _began(request, state)
    if found is None:
        return message(request, 403, _ANEW)
    attempt, wanted = found
    answer = await _answered(request, attempt, wanted, code, error, iss)
    answer.delete_cookie(_cookie(), secure=is_secure(), httponly=True, samesite="lax")
    return answer


async def _answered(
    request: Request, attempt: Attempt, wanted: str, code: str, error: str, issuer: str | None
) -> Response:
    if error or not code:
        says = visible(error)[:80] or "no code"
        return message(request, 403, f"the provider did not let you log in: {says}")
    try:
        who = await vouched(attempt, code, issuer)
    except ProviderFault as fault:
        return message(request, 502, str(fault))
    except AnswerRefused as refused:
        if refused.grave:
            await run_in_threadpool(_refuse, "", str(refused))
        return message(request, 403, str(refused))
    somebody = await run_in_threadpool(vouched_for, who.subject, who.login)
    if somebody is None:
        return await run_in_threadpool(_unknown, request, who)
    secret = await run_in_threadpool(_begin, somebody)
    answer = RedirectResponse(wanted, 303)
    give_cookie(answer, secret, somebody)
    return answer


def _began(request: Request, state: str) -> tuple[Attempt, str] | None:
    """The attempt that this browser began, unless it was answered before."""
    try:
        said = _serializer.loads(request.cookies.get(_cookie(), ""), max_age=_WAITED_FOR)
    except BadSignature:
        return None
    attempt, now = Attempt(**said["attempt"]), time.monotonic()
    if not compare_digest(attempt.state.encode(), state.encode()):
        return None
    for old in [old for old, at in _used.items() if now - at > _WAITED_FOR + 1]:
        del _used[old]
    if attempt.state in _used:
        return None
    _used[attempt.state] = now
    return attempt, within(said["next"])


def _begin(somebody: Person) -> str:
    return begin(somebody, Actor(somebody.login, "provider"))


def _unknown(request: Request, who: Vouched) -> Response:
    login = visible(who.login)[:64]
    _refuse(login, "nobody was added for this", subject=visible(who.subject))
    if not login:
        says = (
            "nobody added you, and the provider says no login to add: neither a "
            "preferred_username of plain letters nor a verified email; ask whoever runs it"
        )
    else:
        says = (
            f"nobody added you; ask an administrator to add {login} for log-in by the provider. "
            "Whoever has a password here logs in with it"
        )
    return message(request, 403, says)


def _refuse(about: str, why: str, subject: str = "") -> None:
    actor = Actor("somebody", "provider")
    record(actor, "log-in-refused", about, why=why, subject=subject)


def _cookie() -> str:
    return cookie_name("hallmark-desk-provider")
