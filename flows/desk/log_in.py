"""Logging in and out, invitations, and what somebody manages for themselves: access tokens."""

import math
from typing import Annotated

import segno
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows.desk.attempts import Attempts
from hallmark.flows.desk.entrance import give_cookie, is_known, take_cookie
from hallmark.flows.desk.pages import page, within
from hallmark.flows.desk.provider import provider_name
from hallmark.flows.desk.visitor import logged_in, visitor_of
from hallmark.schemas.written import Line
from hallmark.tasks.installation.guesses import network_of
from hallmark.tasks.people.actions import Actor, record
from hallmark.tasks.people.directory import (
    LEAST_PASSWORD,
    Person,
    PersonRefused,
    accept,
    authenticated,
    change_password,
    invitation,
    people,
    person,
)
from hallmark.tasks.people.rights import Role
from hallmark.tasks.people.sessions import begin, end, make_token, tokens, withdraw_token

router = APIRouter()
attempts = Attempts()


@router.get("/log-in")
def log_in_page(request: Request, next: str = "/") -> Response:  # noqa: A002
    """The form for login, password and code."""
    if visitor_of(request) is not None:
        return RedirectResponse(within(next), 303)
    return _form(request, next)


@router.post("/log-in")
def log_in(
    request: Request,
    login: Annotated[str, Form(max_length=200)],
    password: Annotated[str, Form(max_length=5000)],
    code: Annotated[str, Form(max_length=20)],
    next: Annotated[str, Form()] = "/",  # noqa: A002
) -> Response:
    """Begin a session, or say that something is wrong, but not what."""
    login = login.strip().lower()
    try:
        somebody = _authenticated(request, login, password, code)
    except _TooMany as error:
        answer = _form(request, next, str(error), login, 429)
        answer.headers["Retry-After"] = str(error.wait)
        return answer
    if somebody is None:
        return _form(request, next, "Login, password or code is wrong.", login, 401)
    secret = begin(somebody, Actor(somebody.login, "password and code"))
    answer = RedirectResponse(within(next), 303)
    give_cookie(answer, secret, somebody)
    return answer


@router.post("/log-out")
def log_out(request: Request) -> Response:
    """End the session."""
    visitor = logged_in(request)
    answer = RedirectResponse("/log-in", 303)
    if visitor.secret is not None:
        end(visitor.secret, visitor.actor)
        take_cookie(answer)
    return answer


@router.get("/invitation/{secret}")
def invitation_page(request: Request, secret: str) -> Response:
    """The form to choose a password and set up one-time codes."""
    return _invitation(request, secret)


@router.post("/invitation/{secret}")
def accept_invitation(
    request: Request,
    secret: str,
    password: Annotated[str, Form(max_length=5000)],
    again: Annotated[str, Form(max_length=5000)],
    code: Annotated[str, Form(max_length=20)],
) -> Response:
    """Set password and codes, and log in."""
    try:
        if password != again:
            raise PersonRefused("the two passwords differ; type the same one twice")
        somebody = accept(secret, password, code)
    except PersonRefused as error:
        return _invitation(request, secret, str(error))
    answer = RedirectResponse("/", 303)
    give_cookie(answer, begin(somebody, Actor(somebody.login, "invitation")), somebody)
    return answer


@router.get("/me")
def me(request: Request) -> Response:
    """Who somebody is here, and their access tokens."""
    return _me(request)


@router.post("/me/password")
def new_password(
    request: Request,
    password: Annotated[str, Form(max_length=5000)],
    again: Annotated[str, Form(max_length=5000)],
    old: Annotated[str, Form(max_length=5000)],
    code: Annotated[str, Form(max_length=20)],
) -> Response:
    """Choose another password; all other browsers of the person are logged out."""
    visitor = logged_in(request)
    if password != again:
        raise PersonRefused("the two passwords differ; type the same one twice")
    if _authenticated(request, visitor.person.login, old, code) is None:
        raise PersonRefused(
            "the old password or the code is wrong; a code counts once, so wait for the next"
        )
    change_password(visitor.person, password, by=visitor.actor)
    answer = RedirectResponse("/me", 303)
    give_cookie(answer, begin(visitor.person, visitor.actor), visitor.person)
    return answer


@router.post("/me/tokens")
def new_token(
    request: Request,
    name: Annotated[Line, Form(max_length=200)],
    days: Annotated[int, Form()],
    roles: Annotated[list[Role], Form()] = [],  # noqa: B006
) -> Response:
    """Make an access token, which is shown once."""
    visitor = logged_in(request)
    made = make_token(visitor.person, name, roles, days, by=visitor.actor)
    return _me(request, made)


@router.post("/me/tokens/{number}/withdraw")
def withdraw_own_token(request: Request, number: str) -> Response:
    """End one's own access token."""
    visitor = logged_in(request)
    withdraw_token(number, by=visitor.actor, of=visitor.person.login)
    return RedirectResponse("/me", 303)


class _TooMany(PersonRefused):
    """Too many attempts were wrong; `wait` is the seconds until another is heard."""

    def __init__(self, wait: int) -> None:
        super().__init__(
            f"Too many attempts that were wrong, perhaps of others. Wait {wait} seconds, or use a "
            "browser that you logged in with before; nothing was checked."
        )
        self.wait = wait


def _authenticated(request: Request, login: str, password: str, code: str) -> Person | None:
    """Somebody who knows their password and shows a code; None where either is wrong.

    Raises:
        _TooMany: nothing was checked.
    """
    address = network_of("local" if request.client is None else request.client.host)
    known = is_known(request, login)
    if seconds := attempts.begin(login, address, known=known):
        raise _TooMany(math.ceil(seconds))
    somebody = authenticated(login, password, code)
    if somebody is not None:
        attempts.right(login, address, known=known)
    elif person(login) is not None:  # else anybody could fill the log with names
        record(Actor("somebody", "nobody"), "log-in-refused", login)
    return somebody


def _form(
    request: Request, wanted: str, says: str = "", login: str = "", status: int = 200
) -> Response:
    return page(
        request,
        "log_in",
        status,
        wanted=within(wanted),
        says=says,
        login=login,
        provider=provider_name(),
        nobody=not people(),
    )


def _invitation(request: Request, secret: str, says: str = "") -> Response:
    found = invitation(secret)
    if found is None:
        says = "This link was used, or is older than three days. Ask for another."
        return page(request, "message", 404, title="No such invitation", says=says)
    picture = segno.make(found.address, error="m").svg_data_uri(scale=5, border=2)
    return page(
        request,
        "invitation",
        409 if says else 200,
        found=found,
        picture=picture,
        says=says,
        least=LEAST_PASSWORD,
    )


def _me(request: Request, made: str | None = None) -> Response:
    visitor = logged_in(request)
    return page(request, "me", tokens=tokens(visitor.person.login), made=made, least=LEAST_PASSWORD)
