"""The agency's profile at the desk: who may approve, at which gates, where releases run; and how it
is changed, by two people."""

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows.desk.pages import page
from hallmark.flows.desk.visitor import logged_in
from hallmark.schemas.written import Line, Lines
from hallmark.tasks import governance
from hallmark.tasks.governance import MOST_TEXT, Answer
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.people.actions import doing

router = APIRouter()
Reason = Annotated[Lines, Form(max_length=2000)]


@router.get("/agency")
def agency_page(request: Request) -> Response:
    """The profile as it is, proposals to change it, and what became of earlier ones."""
    found = governance.proposals()
    return page(
        request,
        "agency",
        known=profile(),
        text=governance.current(),
        open=[one for one in found if one.decided is None],
        ended=[one for one in found if one.decided is not None],
    )


@router.post("/agency/proposals")
def propose(
    request: Request, text: Annotated[str, Form(max_length=MOST_TEXT)], reason: Reason
) -> Response:
    """Propose a profile as it is written."""
    return _propose(request, text, reason)


@router.post("/agency/approvers")
def propose_approver(
    request: Request,
    name: Annotated[Line, Form(max_length=200)],
    roles: Annotated[Line, Form(max_length=500)],
    key: Annotated[Line, Form(max_length=5000)],
    reason: Reason,
    login: Annotated[Line, Form(max_length=200)] = "",
) -> Response:
    """Propose an approver, or other roles or another key of one."""
    after = governance.with_approver(
        governance.current(), name=name.strip(), roles=_listed(roles), login=login.strip(), key=key
    )
    return _propose(request, after, reason)


@router.post("/agency/approvers/remove")
def propose_removal(
    request: Request, name: Annotated[Line, Form(max_length=200)], reason: Reason
) -> Response:
    """Propose that somebody approves no more."""
    return _propose(request, governance.without_approver(governance.current(), name), reason)


@router.post("/agency/gates")
def propose_gates(
    request: Request,
    reason: Reason,
    plan: Annotated[Line, Form(max_length=500)] = "",
    disclosure: Annotated[Line, Form(max_length=500)] = "",
) -> Response:
    """Propose who must approve every release."""
    after = governance.with_gates(
        governance.current(), plan=_listed(plan), disclosure=_listed(disclosure)
    )
    return _propose(request, after, reason)


@router.post("/agency/proposals/{number}")
def decide(
    request: Request, number: int, answer: Annotated[Answer, Form()], reason: Reason
) -> Response:
    """Approve or refuse a proposal of somebody else, or withdraw one's own."""
    visitor = logged_in(request)
    with doing(visitor.actor, "change-decided", str(number), answer=answer, reason=reason):
        governance.decide(number, answer, reason, by=visitor.person.login)
    return RedirectResponse("/agency", 303)


def _propose(request: Request, text: str, reason: str) -> Response:
    visitor = logged_in(request)
    with doing(visitor.actor, "change-proposed", "profile", reason=reason):
        governance.propose(text, reason, by=visitor.person.login)
    return RedirectResponse("/agency", 303)


def _listed(text: str) -> list[str]:
    return [one for part in text.split(",") if (one := part.strip())]
