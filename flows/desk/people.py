"""The people of an installation, their roles and tokens, and the log of what they did."""

from collections.abc import Collection
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from hallmark.flows.desk.pages import page
from hallmark.flows.desk.visitor import logged_in
from hallmark.schemas.written import Line
from hallmark.tasks.installation.server_mode import desk_address
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions, exported, record
from hallmark.tasks.people.rights import BY_COMMAND_ALONE, RIGHTS, Role
from hallmark.tasks.people.sessions import tokens, withdraw_token

router = APIRouter()
_MOST = 50  # entries of the log on one page
_MOST_NUMBER = 2**63 - 1  # that the database of people knows


@router.get("/people")
def people_page(request: Request) -> Response:
    """Everybody, with roles and tokens."""
    return _page(request)


@router.post("/people")
def add_person(
    request: Request,
    login: Annotated[str, Form(max_length=200)],
    name: Annotated[Line, Form(max_length=500)],
    roles: Annotated[list[Role], Form()] = [],  # noqa: B006
) -> Response:
    """Add somebody, and show the link to send them."""
    by = logged_in(request).actor
    _refuse_by_command(roles)
    made = directory.add(login.strip().lower(), name, roles, by=by)
    return _page(request, made.login, directory.invite(made.login, by=by))


@router.post("/people/{login}/roles")
def set_roles(
    request: Request,
    login: str,
    roles: Annotated[list[Role], Form()] = [],  # noqa: B006
) -> Response:
    """Give somebody other roles."""
    _refuse_by_command({*roles, *_roles_of(login)})
    directory.set_roles(login, roles, by=logged_in(request).actor)
    return RedirectResponse("/people", 303)


@router.post("/people/{login}/invite")
def invite(request: Request, login: str) -> Response:
    """Show a new link for somebody who lost password or telephone."""
    _refuse_by_command(_roles_of(login))
    return _page(request, login, directory.invite(login, by=logged_in(request).actor))


@router.post("/people/{login}/leave")
def leave(request: Request, login: str) -> Response:
    """Let somebody in no more."""
    directory.leave(login, by=logged_in(request).actor)
    return RedirectResponse("/people", 303)


@router.post("/people/tokens/{number}/withdraw")
def withdraw_any_token(request: Request, number: str) -> Response:
    """End anybody's access token."""
    withdraw_token(number, by=logged_in(request).actor)
    return RedirectResponse("/people", 303)


@router.get("/log")
def log_page(
    request: Request,
    about: str | None = None,
    before: Annotated[int | None, Query(le=_MOST_NUMBER)] = None,
) -> Response:
    """What people did, the latest first."""
    found = actions(about=about or None, before=before, most=_MOST)
    more = found[-1].number if len(found) == _MOST else None
    return page(request, "log", actions=found, about=about or "", more=more)


@router.get("/log/export")
def export_log(request: Request) -> Response:
    """The whole log with its signatures, as `hallmark people check-log` reads it."""
    record(logged_in(request).actor, "log-exported")
    return StreamingResponse(
        (f"{line}\n" for line in exported()),
        media_type="application/jsonl",
        headers={"Content-Disposition": 'attachment; filename="action-log.jsonl"'},
    )


def _roles_of(login: str) -> Collection[Role]:
    known = directory.person(login)
    return () if known is None else known.roles


def _refuse_by_command(roles: Collection[Role]) -> None:
    """Refuse to let in somebody at the desk whom an administrator must not be able to become.

    Raises:
        PersonRefused: they are one.
    """
    if found := BY_COMMAND_ALONE & set(roles):
        raise directory.PersonRefused(
            f"{', '.join(sorted(found))}: who is that is decided where the installation is run, by "
            "hallmark people; nobody at the desk adds, changes or invites them"
        )


def _page(request: Request, invited: str | None = None, secret: str | None = None) -> Response:
    everybody = directory.people()
    return page(
        request,
        "people",
        people=everybody,
        by_command=BY_COMMAND_ALONE,
        governing=[one.login for one in everybody if BY_COMMAND_ALONE & set(one.roles)],
        tokens=tokens(),
        roles=RIGHTS,
        invited=invited,
        link=None if secret is None else _link(request, secret),
    )


def _link(request: Request, secret: str) -> str:
    """Where an invitation is accepted: at the desk's address, whatever the request calls it."""
    here = request.url_for("invitation_page", secret=secret)
    at = desk_address()
    return str(here) if at is None else f"{at}{here.path}"
