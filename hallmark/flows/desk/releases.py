"""All releases by name and state, the page of each, decisions about it, and how it is steered."""

import json
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from hallmark.flows import engine
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import logged_in
from hallmark.flows.going_on import go_on
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Approver, Waiting, known_as
from hallmark.schemas.documents.decisions import SignedDecision
from hallmark.schemas.documents.manifest import REPORT_FILE
from hallmark.schemas.profile import Profile
from hallmark.tasks.comparison import compared
from hallmark.tasks.gates import approvals
from hallmark.tasks.gates.approvals import DecisionRefused, decide
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.gates.waiting import asked_now, standing_of, waiting_of
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import give_order
from hallmark.tasks.installation.places import releases_home
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import Workspace, whole
from hallmark.tasks.people.actions import actions, record
from hallmark.tasks.people.comments import comment, comments
from hallmark.tasks.people.rights import Right
from hallmark.tasks.releases import (
    STATES,
    ReleaseState,
    published_files,
    release_of,
    releases,
    withdraw,
)
from hallmark.tasks.spec.confined import refuse_beyond
from hallmark.tasks.spec.places import ordered_spec, specs_folder, tables_folder

router = APIRouter()
_STAGED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


@router.get("/")
def overview(request: Request, state: str = "", find: str = "") -> Response:
    """All releases, those that wait for somebody first."""
    found = releases(ledger(), profile())
    number = Counter(one.state for one in found)
    words = find.casefold().split()
    shown = [
        one
        for one in found
        if (not state or one.state == state)
        and all(word in f"{one.title} {one.release} {one.account}".casefold() for word in words)
    ]
    shown.sort(key=lambda one: one.state not in ("waiting", "failed", "interrupted"))
    return page(
        request,
        "overview",
        rows=shown,
        number=number,
        states=STATES,
        chosen=state,
        find=find,
        everything=len(found),
    )


@router.get("/releases/{release}")
def release_page(request: Request, release: str) -> Response:
    """A release: what it waits for and the form to decide, its history, documents and runs."""
    visitor, book, known = logged_in(request), ledger(), profile()
    one = _release(release, book, known)
    reviews = visitor.may(Right.REVIEW)
    history = History.of(release, book.statements(release))
    decision = _to_decide(one, book) if reviews and one.standing is not None else None
    return page(
        request,
        "release",
        one=one,
        decision=decision,
        approvers=known.approvers,
        report=REPORT_FILE,
        now=datetime.now(UTC).isoformat(timespec="seconds"),
        outcomes=list(history.outcomes()),
        reservation=book.reservation(release) if reviews else None,
        files=published_files(one),
        runs=engine.runs_of(release),
        server=engine.has_server(),
        comments=comments(release) if reviews else [],
        actions=actions(about=release) if reviews else [],
    )


@router.get("/releases/{release}/files/{name}")
def staged_file(request: Request, release: str, name: str) -> Response:
    """A file of the staged release, or of the plan, as it would be published."""
    folder = _shown_folder(_at_gate(release))
    if name not in {path.name for path in folder.iterdir()}:
        raise HTTPException(404, f"{release} has no file {name}")
    record(logged_in(request).actor, "opened", release, file=name)
    return _file(folder / name)


@router.get("/releases/{release}/published/{name}")
def published_file(release: str, name: str) -> Response:
    """A file of a published release."""
    one = _release(release, ledger(), profile())
    if one.folder is None or name not in published_files(one):
        raise HTTPException(404, f"{release} has no published file {name}")
    return _file(one.folder / name)


@router.post("/releases/{release}/comments")
def say(request: Request, release: str, text: Annotated[str, Form(max_length=5000)]) -> Response:
    """Say something about a release, for everybody who reviews it."""
    _release(release, ledger(), profile())
    comment(release, text, by=logged_in(request).actor)
    return RedirectResponse(f"/releases/{release}#comments", 303)


@router.post("/decisions")
def take_decision(request: Request, signed: SignedDecision) -> dict[str, Any]:
    """Enter a signed decision, and continue the release if nothing is missing any more."""
    waiting, visitor = _at_gate(signed.decision.release), logged_in(request)
    book, known = ledger(), profile()
    _refuse_another(signed, visitor.person.login, known, book)
    decide(book, signed, waiting, known.approvers)
    said = signed.decision
    record(
        visitor.actor,
        "decided",
        waiting.release,
        person=said.person,
        role=said.role,
        decision=said.decision,
        gate=waiting.gate,
    )
    there = standing_of(waiting, book, known)
    return {
        "passed": there.passed,
        "rejected": there.rejected is not None,
        "missing": list(there.missing),
        "not_recorded": len(there.blocking),
        "run": go_on(waiting) if there.passed else None,
    }


@router.post("/releases/{release}/start")
def start(
    request: Request,
    release: str,
    again: Annotated[bool, Form()] = False,
    at: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    """Start a release, now or later, or resume it."""
    visitor, one = logged_in(request), _release(release, ledger(), profile())
    spec, folder, out = _ordered_spec(one)
    moment = _moment(at)
    record(
        visitor.actor,
        "scheduled" if moment else "ordered",
        release,
        at="now" if moment is None else moment.isoformat(),
        resume=str(again).lower(),
    )
    parameters = {
        "spec": str(spec),
        "folder": folder,
        "out": out,
        "resume": again,
        "order": give_order(release, visitor.person.login),
    }
    is_certificate = one.waits is not None and one.waits.file is not None
    engine.start(
        engine.CERTIFY if is_certificate else engine.RELEASE,
        parameters | ({"file": one.waits.file} if one.waits and is_certificate else {}),
        release=release,
        at=moment,
    )
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/rehearse")
def rehearse(request: Request, release: str) -> Response:
    """Rehearse a release at no budget."""
    visitor, one = logged_in(request), _release(release, ledger(), profile())
    spec, folder, _ = _ordered_spec(one)
    record(visitor.actor, "ordered", release, rehearsal="true")
    engine.start(engine.REHEARSAL, {"spec": str(spec), "folder": folder}, release=release)
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/stop")
def stop(request: Request, release: str) -> Response:
    """Ask the runs of a release that are under way to end; nothing is lost."""
    record(logged_in(request).actor, "stopped", release)
    if engine.stop(release) == 0:
        raise SafeError(
            f"no run of release {release!r} that was started at the desk is under way; stop others "
            "where they were started"
        )
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/reopen")
def reopen(
    request: Request, release: str, reason: Annotated[str, Form(max_length=2000)]
) -> Response:
    """Reopen the gate at which a release was rejected."""
    visitor = logged_in(request)
    approvals.reopen(ledger(), release, reason=reason, by=visitor.person.login)
    record(visitor.actor, "reopened", release, reason=reason)
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/withdraw")
def give_up(
    request: Request, release: str, reason: Annotated[str, Form(max_length=2000)]
) -> Response:
    """Give a release up; its reservation is given back if nothing was drawn."""
    visitor, book = logged_in(request), ledger()
    one = _release(release, book, profile())
    if one.state in ("running", "published", "withdrawn"):
        raise SafeError(f"release {release!r} is {one.state}; it cannot be given up")
    there = book.reservation(release)
    if there is not None and there.state == "reserved" and not book.calls(release):
        book.cancel(release, by=visitor.person.login, reason=reason)
    withdraw(release, visitor.person.login, reason)
    record(visitor.actor, "withdrawn", release, reason=reason)
    return RedirectResponse(f"/releases/{release}", 303)


def _to_decide(one: ReleaseState, book: Ledger) -> dict[str, Any]:
    """What a page shows for a decision: the contents, what changed, and what to sign."""
    assert one.waits is not None, "it waits at a gate"
    folder = _shown_folder(one.waits)
    plan = json.loads((folder / "plan.json").read_text()) if one.waits.gate == "plan" else None
    return {
        "plan": plan,
        "staged": sorted(path.name for path in folder.iterdir()) if plan is None else [],
        "roles": sorted(set(one.waits.required)),
        "content": json.dumps(asked_now(one.waits, book)),
        "compared": compared(one.waits, book),
    }


def _refuse_another(signed: SignedDecision, login: str, known: Profile, book: Ledger) -> None:
    """Refuse a decision of somebody else than who is logged in, or of who started the release.

    Raises:
        DecisionRefused: it is.
    """
    said = signed.decision
    listed: Approver | None = next(
        (one for one in known.approvers if known_as(one.name) == known_as(said.person)), None
    )
    if listed is not None and listed.login is not None and listed.login != login:
        raise DecisionRefused(
            f"{said.person} has the login {listed.login}, and you are logged in as {login}; "
            "everybody hands in their own decisions"
        )
    history = History.of(said.release, book.statements(said.release))
    if known_as(login) in history.starters:
        raise DecisionRefused(
            f"{login} started the release, and nobody decides about what they started"
        )


def _release(name: str, book: Ledger, known: Profile) -> ReleaseState:
    found = release_of(name, book, known)
    if found is None:
        raise HTTPException(404, f"there is no release {name!r} here")
    return found


def _at_gate(release: str) -> Waiting:
    try:
        return waiting_of(release)
    except DecisionRefused as error:
        raise HTTPException(404, str(error)) from error


def _shown_folder(waiting: Waiting) -> Path:
    workspace = Workspace.of(waiting.release)
    return workspace.path / "plan" if waiting.gate == "plan" else workspace.staging


def _file(path: Path) -> Response:
    return FileResponse(
        path,
        headers={"Content-Security-Policy": _STAGED},
        content_disposition_type="inline" if path.suffix == ".html" else "attachment",
        filename=path.name,
    )


def _ordered_spec(one: ReleaseState) -> tuple[Path, str | None, str | None]:
    """Where a run finds the spec, where its relative sources start, and where it publishes."""
    own = specs_folder() / f"{one.release}.yaml"
    if own.exists():
        copy, there = ordered_spec(one.release), releases_home()
        with whole(copy) as draft:  # what is looked at here is what runs
            shutil.copyfile(own, draft)
            refuse_beyond(draft)
        return copy, str(tables_folder()), None if there is None else str(there)
    if one.waits is not None:
        return Path(one.waits.spec), one.waits.folder, one.waits.out
    raise SafeError(
        f"the desk does not know the spec of release {one.release!r}, which was started elsewhere; "
        "continue it there, or save its spec at the desk"
    )


def _moment(text: str) -> datetime | None:
    """A time in UTC as a form sends it; None for now.

    Raises:
        SafeError: it is none, or has passed.
    """
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip()).replace(tzinfo=UTC)
    except ValueError:
        raise SafeError(f"{text!r} is no time; give one such as 2026-12-01T08:00 (UTC)") from None
    if at <= datetime.now(UTC):
        raise SafeError(f"{text} (UTC) has passed; leave the time empty to start now")
    return at
