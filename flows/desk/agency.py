"""The agency's profile at the desk: who may approve, at which gates, where releases run; and the
decisions about proposed changes, of the profile as of the calendar."""

from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from hallmark.flows.desk import forms
from hallmark.flows.desk.intake import Sent
from hallmark.flows.desk.pages import page
from hallmark.flows.desk.schedules import document
from hallmark.flows.desk.visitor import logged_in
from hallmark.schemas.cluster import Adapt, Cluster, LocalCluster, Tls
from hallmark.schemas.section import Section
from hallmark.schemas.spec_answers import Input, at, meaning
from hallmark.schemas.text_edits import Keys
from hallmark.schemas.written import Line, Lines
from hallmark.tasks import governance, profile_changes
from hallmark.tasks.governance import Answer, Document, Proposal
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.people.actions import doing
from hallmark.tasks.profile_changes import KINDS, MOST_TEXT, Place, ProfileText, as_written

router = APIRouter()
Reason = Annotated[Lines, Form(max_length=2000)]
Said = Annotated[Line, Form(max_length=500)]


@router.get("/agency")
def agency_page(request: Request) -> Response:
    """The profile as it is, proposals to change it or the calendar, and earlier ones."""
    known = profile()
    found = governance.proposals()
    return page(
        request,
        "agency",
        known=known,
        text=ProfileText().current(),
        open=undecided(found),
        ended=[one for one in found if one.decided is not None],
        cluster=_cluster(known.cluster),
        place=_place(known.cluster),
    )


@router.post("/agency/proposals")
def propose_text(
    request: Request, text: Annotated[str, Form(max_length=MOST_TEXT)], reason: Reason
) -> Response:
    """Propose a profile as it is written."""
    return _propose(request, as_written(text), reason)


@router.post("/agency/approvers")
def propose_approver(
    request: Request,
    name: Annotated[Line, Form(max_length=200)],
    roles: Said,
    key: Annotated[Line, Form(max_length=5000)],
    reason: Reason,
    login: Annotated[Line, Form(max_length=200)] = "",
) -> Response:
    """Propose an approver, or other roles or another key of one."""
    after = profile_changes.with_approver(
        ProfileText().current(),
        name=name.strip(),
        roles=_listed(roles),
        login=login.strip(),
        key=key,
    )
    return _propose(request, after, reason)


@router.post("/agency/approvers/remove")
def propose_removal(
    request: Request, name: Annotated[Line, Form(max_length=200)], reason: Reason
) -> Response:
    """Propose that somebody approves no more."""
    after = profile_changes.without_approver(ProfileText().current(), name)
    return _propose(request, after, reason)


@router.post("/agency/gates")
def propose_gates(
    request: Request, reason: Reason, plan: Said = "", disclosure: Said = ""
) -> Response:
    """Propose who must approve every release."""
    after = profile_changes.with_gates(
        ProfileText().current(), plan=_listed(plan), disclosure=_listed(disclosure)
    )
    return _propose(request, after, reason)


@router.post("/agency/cluster")
def propose_cluster(
    request: Request, sent: Sent, reason: Reason, place: Annotated[Place, Form()]
) -> Response:
    """Propose where releases run."""
    typed = forms.typed_in(sent, [one for _, one in _cluster_inputs()])
    said = {keys: typed.get(one.name, "").strip() for keys, one in _cluster_inputs()}
    after = profile_changes.with_cluster(ProfileText().current(), place, said)
    return _propose(request, after, reason)


@router.post("/agency/proposals/{number}")
def decide(
    request: Request, number: int, answer: Annotated[Answer, Form()], reason: Reason
) -> Response:
    """Approve or refuse a proposal of somebody else, or withdraw one's own."""
    visitor = logged_in(request)
    with doing(visitor.actor, "change-decided", str(number), answer=answer, reason=reason):
        governance.decide(number, answer, reason, by=visitor.person.login, named=document)
    return RedirectResponse("/agency", 303)


def undecided(found: Iterable[Proposal]) -> list[tuple[Proposal, str]]:
    """The proposals that nobody decided about, each with why it can no longer be approved."""
    return [
        (one, governance.obstacle(one, document(one.document)))
        for one in found
        if one.decided is None
    ]


def propose(request: Request, changed: Document, text: str, reason: str) -> None:
    """Propose another text of a document, and tell the log."""
    visitor = logged_in(request)
    with doing(visitor.actor, "change-proposed", changed.name, reason=reason):
        governance.propose(changed, text, reason, by=visitor.person.login)


def _propose(request: Request, text: str, reason: str) -> Response:
    propose(request, ProfileText(), text, reason)
    return RedirectResponse("/agency", 303)


def _listed(text: str) -> list[str]:
    return [one for part in text.split(",") if (one := part.strip())]


@cache
def _cluster_inputs() -> tuple[tuple[Keys, Input], ...]:
    """The inputs of the form about the cluster, by their keys in its section."""

    def one(model: type[Section], keys: Keys, label: str) -> tuple[Keys, Input]:
        return keys, Input(name=keys[-1], label=label, help=meaning(model, keys[-1]))

    return (
        one(LocalCluster, ("local", "processes"), "Worker processes"),
        one(LocalCluster, ("local", "threads"), "Threads of each"),
        one(LocalCluster, ("local", "memory"), "Memory of each"),
        one(Cluster, ("address",), "Address"),
        one(Tls, ("tls", "ca_file"), "Certificate of the authority"),
        one(Tls, ("tls", "cert_file"), "Own certificate"),
        one(Tls, ("tls", "key_file"), "Own key"),
        one(Cluster, ("class",), "Class"),
        one(Adapt, ("adapt", "minimum"), "The least number of workers"),
        one(Adapt, ("adapt", "maximum"), "The greatest number of workers"),
    )


def _cluster(cluster: Cluster | None) -> dict[str, list[dict[str, Any]]]:
    """The fields of the form about the cluster, by the kind of cluster that they are of."""
    said = {} if cluster is None else cluster.model_dump(mode="json", by_alias=True)
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for keys, one in _cluster_inputs():
        value = at(said, keys)
        kind = next(kind for kind, known in KINDS.items() if keys[0] in known)
        found[kind].append(forms.field(one, "" if value is None else str(value)))
    return found


def _place(cluster: Cluster | None) -> Place:
    if cluster is None:
        return "here"
    return "local" if cluster.local else "address" if cluster.address else "class"
