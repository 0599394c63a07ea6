"""All releases by name and state, the page of each, decisions about it, and how it is steered."""

import json
import shutil
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from hallmark.flows import engine
from hallmark.flows.desk import runs
from hallmark.flows.desk.drafts import digest
from hallmark.flows.desk.pages import STAGED, ledger, page
from hallmark.flows.desk.specs import prepared_draft
from hallmark.flows.desk.visitor import logged_in
from hallmark.flows.desk.waits import waits_for
from hallmark.flows.going_on import go_on
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Approver, Waiting, known_as
from hallmark.schemas.documents.decisions import Outcome, SignedDecision
from hallmark.schemas.documents.manifest import LABEL_FILE, REPORT_FILE, SERIES_PLAN_FILE
from hallmark.schemas.documents.notice import MOST_REASON
from hallmark.schemas.documents.series_plan import SERIES_PLAN, SeriesPlan
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.profile import Profile
from hallmark.schemas.written import Line, Lines
from hallmark.tasks import asked
from hallmark.tasks.check import Standing, standing
from hallmark.tasks.comparison import compared
from hallmark.tasks.gates import approvals
from hallmark.tasks.gates.approvals import DecisionRefused, decide
from hallmark.tasks.gates.gate_history import REHEARSED, History
from hallmark.tasks.gates.rehearsal import Rehearsal, last_rehearsal
from hallmark.tasks.gates.waiting import asked_now, shown_folder, standing_of, waiting_of
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import end_standing_order, ordering
from hallmark.tasks.installation.places import releases_home
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.ordered_withdrawals import ordered_withdrawal, ordering_withdrawal, said_of
from hallmark.tasks.people.actions import actions, doing, record
from hallmark.tasks.people.comments import comment, comments
from hallmark.tasks.people.rights import Right
from hallmark.tasks.planning.confined import refuse_beyond
from hallmark.tasks.planning.looks import allow_more, looks_at_table_of, refuse_used_up
from hallmark.tasks.planning.places import ordered_spec, specs_folder, tables_folder
from hallmark.tasks.planning.uploads import unchanging
from hallmark.tasks.releases import (
    STATES,
    ReleaseState,
    published_files,
    release_of,
    releases,
)
from hallmark.tasks.verification.documents import Check
from hallmark.tasks.withdrawals import withdraw

router = APIRouter()
_GOING = ("ordered", "running", "interrupted")
"""States in which a run is to begin or under way, or may be begun anew by the orchestrator."""


@router.get("/")
def overview(request: Request, state: str = "", find: str = "") -> Response:
    """All releases, those that wait for somebody first."""
    visitor, known = logged_in(request), profile()
    found, sees_accounts = releases(ledger(), known), visitor.may(Right.ACCOUNTS)
    number = Counter(one.state for one in found)
    words = find.casefold().split()
    shown = [
        one
        for one in found
        if (not state or one.state == state)
        and all(word in _searched(one, sees_accounts).casefold() for word in words)
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
        waits=waits_for(visitor, found, known),
    )


@router.get("/releases/{release}")
def release_page(request: Request, release: str) -> Response:
    """A release: what it waits for and the form to decide, its history, documents and runs."""
    visitor, known = logged_in(request), profile()
    one = _release(release, ledger(), known)
    reviews, ordered = visitor.may(Right.REVIEW), engine.runs_of(release)
    waits = reviews and one.standing is not None
    decision = _to_decide(one, mends=visitor.mends) if waits else None
    return page(
        request,
        "release",
        **runs.standing(one, visitor, known),
        decision=decision,
        approvers=known.approvers,
        report=REPORT_FILE,
        label=LABEL_FILE,
        series_plan=SERIES_PLAN_FILE,
        spec=_kept_spec(one) if visitor.may(Right.PREPARE) else None,
        asked=_asked(one) if reviews else None,
        now=datetime.now(UTC).isoformat(timespec="seconds"),
        outcomes=_outcomes(one),
        files=published_files(one),
        notices=_notices(one),
        withdrawal=ordered_withdrawal(release) if visitor.may(Right.WITHDRAW) else None,
        most_reason=MOST_REASON,
        runs=runs.history(release, ordered),
        live=one.state in runs.MOVING,
        seen=runs.seen(one),
        stoppable=one.state in _GOING or any(run.under_way for run in ordered),
        server=engine.has_server(),
        comments=comments(release) if reviews else [],
        actions=actions(about=release) if reviews else [],
        looks=looks_at_table_of(release) if reviews or visitor.may(Right.MANAGE) else None,
    )


@router.get("/releases/{release}/files/{name}")
def staged_file(request: Request, release: str, name: str) -> Response:
    """A file of the staged release, or of the plan, as it would be published."""
    folder = shown_folder(_at_gate(release))
    if name not in {path.name for path in folder.iterdir()}:
        raise HTTPException(404, f"{release} has no file {name}")
    record(logged_in(request).actor, "opened", release, file=name)
    return _file(folder / name)


@router.get("/releases/{release}/rehearsal/{name}")
def rehearsed_file(request: Request, release: str, name: str) -> Response:
    """A file of the rehearsal of a release that waits at the gate of its plan."""
    rehearsal = _rehearsal(_at_gate(release))
    if rehearsal is None or name not in {path.name for path in Path(rehearsal.folder).iterdir()}:
        raise HTTPException(404, f"the rehearsal of {release} has no file {name}")
    record(logged_in(request).actor, "opened", release, file=f"rehearsal: {name}")
    return _file(Path(rehearsal.folder) / name)


@router.get("/releases/{release}/published/{name}")
def published_file(release: str, name: str) -> Response:
    """A file of a published release."""
    one = _release(release, ledger(), profile())
    if one.folder is None or name not in published_files(one):
        raise HTTPException(404, f"{release} has no published file {name}")
    return _file(one.folder / name)


@router.post("/releases/{release}/comments")
def say(request: Request, release: str, text: Annotated[Lines, Form(max_length=5000)]) -> Response:
    """Say something about a release, for everybody who reviews it."""
    _release(release, ledger(), profile())
    comment(release, text, by=logged_in(request).actor)
    return RedirectResponse(f"/releases/{release}#comments", 303)


@router.post("/decisions")
def take_decision(request: Request, signed: SignedDecision) -> dict[str, Any]:
    """Enter a signed decision, and continue the release if nothing is missing any more."""
    waiting, visitor = _at_gate(signed.decision.release), logged_in(request)
    book, known = ledger(), profile()
    said = signed.decision
    with doing(
        visitor.actor,
        "decided",
        waiting.release,
        person=said.person,
        role=said.role,
        decision=said.decision,
        gate=waiting.gate,
    ):
        _refuse_another(signed, visitor.person.login, known, book)
        decide(book, signed, waiting, known.approvers)
    there = standing_of(waiting, History.in_ledger(book, waiting.release), known)
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
    parameters = {"spec": str(spec), "folder": folder, "out": out, "resume": again}
    file = None if one.waits is None else one.waits.file
    with doing(
        visitor.actor,
        "scheduled" if moment else "ordered",
        release,
        at="now" if moment is None else moment.isoformat(),
        resume=str(again).lower(),
    ):
        start_of_sources = spec.parent if folder is None else Path(folder)
        refuse_used_up(load_spec(spec, start_of_sources), start_of_sources)
        with unchanging(), ordering(release, visitor.person.login, moment) as number:
            engine.start(
                engine.RELEASE if file is None else engine.CERTIFY,
                parameters | {"order": number} | ({} if file is None else {"file": file}),
                release=release,
                at=moment,
            )
        asked.note_started(release, by=visitor.person.login)
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/rehearse")
def rehearse(request: Request, release: str) -> Response:
    """Rehearse a release at no budget."""
    visitor, one = logged_in(request), _release(release, ledger(), profile())
    spec, folder, _ = _ordered_spec(one)
    with doing(visitor.actor, "ordered", release, rehearsal="true"):
        engine.start(engine.REHEARSAL, {"spec": str(spec), "folder": folder}, release=release)
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/stop")
def stop(request: Request, release: str) -> Response:
    """Ask the runs of a release that are under way to end; nothing is lost."""
    with doing(logged_in(request).actor, "stopped", release):
        stopped = engine.stop(release)
        end_standing_order(release)
        if stopped == 0:
            raise SafeError(
                f"no run of release {release!r} that was started at the desk is under way; stop "
                "others where they were started"
            )
    is_left = release_of(release, ledger(), profile()) is not None
    return RedirectResponse(f"/releases/{release}" if is_left else "/", 303)


@router.post("/releases/{release}/reopen")
def reopen(
    request: Request, release: str, reason: Annotated[Lines, Form(max_length=2000)]
) -> Response:
    """Reopen the gate at which a release was rejected."""
    visitor = logged_in(request)
    with doing(visitor.actor, "reopened", release, reason=reason):
        approvals.reopen(ledger(), release, reason=reason, by=visitor.person.login)
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/withdraw")
def give_up(
    request: Request, release: str, reason: Annotated[Line, Form(max_length=2000)]
) -> Response:
    """Give a release up; its reservation is given back if nothing was drawn."""
    visitor, book = logged_in(request), ledger()
    one = _release(release, book, profile())
    if one.state in ("running", "published", "withdrawn"):
        raise SafeError(f"release {release!r} is {one.state}; it cannot be given up")
    with doing(visitor.actor, "withdrawn", release, reason=reason):
        withdraw(release, book, by=visitor.person.login, reason=reason)
    return RedirectResponse(f"/releases/{release}", 303)


@router.post("/releases/{release}/notice")
def order_withdrawal(
    request: Request, release: str, reason: Annotated[Lines, Form(max_length=MOST_REASON)]
) -> Response:
    """Order that a published release is withdrawn; a run signs the notice, which stays for good."""
    visitor, one = logged_in(request), _release(release, ledger(), profile())
    with doing(visitor.actor, "ordered", release, notice="withdrawn", reason=reason):
        refuse_to_withdraw(one)
        with ordering_withdrawal(release, reason, visitor.person.login) as number:
            engine.start(engine.WITHDRAWAL, {"release": release, "order": number}, release=release)
    return RedirectResponse(f"/releases/{release}", 303)


def refuse_to_withdraw(one: ReleaseState) -> None:
    """Refuse to withdraw what is not published, or is withdrawn or about to be.

    Raises:
        SafeError: it is so.
    """
    if one.state != "published":
        raise SafeError(
            f"release {one.release!r} is {one.state}; only what is published is withdrawn"
        )
    for said in _notices(one):
        if said.name == "withdrawn":
            raise SafeError(f"release {one.release!r} was {said.detail}")
    if any(run.flow == "withdrawal" and run.under_way for run in engine.runs_of(one.release)):
        raise SafeError(
            f"that {one.release!r} is withdrawn was ordered already, and the run has not ended"
        )


def _notices(one: ReleaseState) -> list[Check]:
    """What notices say of a published release."""
    return said_of(one.folder) if one.state == "published" and one.folder is not None else []


def _searched(one: ReleaseState, sees_accounts: bool) -> str:
    return f"{one.title} {one.release} {one.account if sees_accounts else ''}"


@router.post("/releases/{release}/looks")
def allow_looks(
    request: Request, release: str, reason: Annotated[Lines, Form(max_length=2000)]
) -> Response:
    """Let runs of the desk look at the private table of a release again."""
    visitor = logged_in(request)
    _release(release, ledger(), profile())
    if visitor.mends:
        raise SafeError(
            "whoever writes specs or runs releases does not allow themselves more looks; ask an "
            "administrator who does neither"
        )
    if len(reason.strip()) < 3:
        raise SafeError("say why, in at least 3 characters; it stays in the log")
    with doing(visitor.actor, "looks-allowed", release, reason=reason.strip()):
        allow_more(release, visitor.person.login)
    return RedirectResponse(f"/releases/{release}", 303)


def _asked(one: ReleaseState) -> dict[str, Any] | None:
    """What a page shows of a request for a release that was not started on it."""
    found = asked.asked_for(one.release)
    if found is None or (found.answered is not None and found.answered.answer == "started"):
        return None
    spec = specs_folder() / f"{one.release}.yaml"
    is_same = spec.exists() and digest(spec.read_text(encoding="utf-8")) == found.spec
    return {"told": found, "changed": not is_same}


def _kept_spec(one: ReleaseState) -> str | None:
    """The name of the desk's spec of a release: its own, or that of every period."""
    entry = None if one.run is None else one.run.entry
    names = [name for name in (one.release, entry) if name is not None]
    return next((name for name in names if (specs_folder() / f"{name}.yaml").exists()), None)


def _to_decide(one: ReleaseState, *, mends: bool) -> dict[str, Any]:
    """What a page shows for a decision: the contents, what changed, and what to sign.

    Args:
        mends: whether it may tell what is known of the private table.
    """
    assert one.waits is not None, "it waits at a gate"
    folder = shown_folder(one.waits)
    plan = json.loads((folder / "plan.json").read_text()) if one.waits.gate == "plan" else None
    rehearsal = _rehearsal(one.waits)
    return {
        "plan": plan,
        "series": _series_plan(one.waits),
        "file": _file_standing(one.waits, mends=mends),
        "rehearsal": rehearsal,
        "named": rehearsal is not None and one.waits.seen.get(REHEARSED) == rehearsal.digest(),
        "staged": sorted(path.name for path in folder.iterdir()) if plan is None else [],
        "roles": sorted(set(one.waits.required)),
        "content": json.dumps(asked_now(one.waits, one.history)),
        "compared": compared(one.waits, one.history),
    }


def _series_plan(waits: Waiting) -> SeriesPlan | None:
    """The plan of the whole series, where a decision is about that, too."""
    if waits.gate != "plan" or SERIES_PLAN not in waits.seen:
        return None
    content = (shown_folder(waits) / SERIES_PLAN_FILE).read_bytes()
    return SeriesPlan.model_validate_json(content)


def _file_standing(waits: Waiting, *, mends: bool) -> Standing:
    if mends:
        with suppress(SpecError, OSError):  # the spec was changed or removed since
            path = Path(waits.spec)
            start = path.parent if waits.folder is None else Path(waits.folder)
            return standing(load_spec(path, start), start)
    return Standing("untold")


def _rehearsal(waits: Waiting) -> Rehearsal | None:
    """The last rehearsal of what waits at the plan's gate."""
    return last_rehearsal(waits.release, waits.seen["spec"]) if waits.gate == "plan" else None


def _outcomes(one: ReleaseState) -> list[Outcome]:
    """All decisions with their outcomes, but for those at a gate that is still open."""
    here = one.waits.gate if one.standing is not None and one.waits is not None else None
    return [said for said in one.history.outcomes() if said.gate != here]


def _refuse_another(signed: SignedDecision, login: str, known: Profile, book: Ledger) -> None:
    """Refuse a decision made for somebody else, or by whoever started or asked for the release.

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
    if known_as(login) in History.in_ledger(book, said.release).starters:
        raise DecisionRefused(
            f"{login} started the release, and nobody decides about what they started"
        )
    request = asked.asked_for(said.release)
    if request is not None and login in request.askers:
        raise DecisionRefused(
            f"{login} asked for the release, and nobody decides about what they asked for"
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


def _file(path: Path) -> Response:
    return FileResponse(
        path,
        headers={"Content-Security-Policy": STAGED},
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
            prepared_draft(draft)
        return copy, str(tables_folder()), None if there is None else str(there)
    if one.waits is not None:
        return Path(one.waits.spec), one.waits.folder, one.waits.out
    if one.run is not None and one.run.entry is not None:
        raise SafeError(
            f"release {one.release!r} is of the calendar; run its entry {one.run.entry!r} for its "
            "period again, on the page Calendar"
        )
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
