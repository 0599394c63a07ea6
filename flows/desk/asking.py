"""Releases that people ask for who write specs and run none: asked for, and declined.

Starting the release answers the request as well (`releases`).
"""

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows.desk import drafts
from hallmark.flows.desk.specs import looked_at
from hallmark.flows.desk.visitor import logged_in
from hallmark.schemas.templates import PERIOD_MARK
from hallmark.schemas.written import Lines
from hallmark.tasks import asked
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import doing

router = APIRouter()
Words = Annotated[Lines, Form(max_length=2000)]


@router.post("/releases/{release}/ask")
def ask(request: Request, release: str, words: Words = "") -> Response:
    """Ask an operator to start a release of a complete spec."""
    visitor = logged_in(request)
    text = drafts.existing(release).read_text(encoding="utf-8")
    with doing(visitor.actor, "asked", release, words=words):
        if PERIOD_MARK in text:
            raise SafeError(f"{release} is about every period; an operator schedules it")
        looked_at(release, text)
        asked.ask(release, by=visitor.person.login, spec=drafts.digest(text), words=words.strip())
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/decline")
def decline(request: Request, release: str, reason: Words) -> Response:
    """Decline to start a release that somebody asks for."""
    visitor = logged_in(request)
    with doing(visitor.actor, "declined", release, reason=reason):
        asked.decline(release, by=visitor.person.login, reason=reason)
    return RedirectResponse(f"/releases/{release}", 303)
