"""The runs of a release, watched: how far one is, what it waits for, and whoever can act.

A page that shows a release has a stream of this kept open (server-sent events), so that nobody has
to load it again. A stream ends by itself after `_LONGEST` seconds and the page asks for another:
the entrance looks each time whether whoever asks may still have it.

Source: WHATWG, HTML Living Standard, section 9.2 (server-sent events).
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from time import monotonic
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from hallmark.flows import engine
from hallmark.flows.desk.pages import ledger, rendered
from hallmark.flows.desk.visitor import Visitor, logged_in
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.profile import Profile
from hallmark.tasks.gates.approvals import could_approve
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.releases import ReleaseState, release_of
from hallmark.tasks.run_log import LoggedRun, kind_of, last_run, logged_runs

router = APIRouter()
_LONGEST = 20.0  # seconds of a stream
_EVERY = 1.0  # seconds between two looks
_UNSEEN = 5.0  # seconds after which a look is taken though no note of a run changed
_MOST = 8  # streams of one person
_LINES = 30  # of the log of a run that are shown while it is under way
MOVING = ("ordered", "running", "interrupted", "waiting")
"""States in which something may change that nobody does on this page."""

_open: Counter[str] = Counter()  # streams, by login


@dataclass(frozen=True)
class Row:
    """One run in the history of a release.

    Attributes:
        kind: what was run.
        how: how it ended, or how it is.
        began: or when it is to begin.
        url: its page at the orchestrator, if that knows it.
        run: what the log tells of it, if that does.
    """

    kind: str
    how: str
    began: datetime | None
    url: str | None
    run: LoggedRun | None


def history(release: str, runs: list[engine.EngineRun]) -> list[Row]:
    """All runs of a release, the newest first: those that the log knows, and the orchestrator's."""
    logged = {run.flow_run: run for run in logged_runs(release)}
    rows = []
    for known in runs:
        run = logged.pop(known.id, None)
        how = run.how if run is not None and run.how else known.state.lower()
        rows.append(Row(kind_of(known.flow), how, known.began, known.url, run))
    rows += [Row(kind_of(run.flow), run.how, run.began, None, run) for run in logged.values()]
    return sorted(rows, key=lambda row: row.began.timestamp() if row.began else 0.0, reverse=True)


def standing(one: ReleaseState, visitor: Visitor, known: Profile) -> dict[str, Any]:
    """What the page of a release says of where it stands.

    What is inside a run is told to people who write specs or run releases alone.
    """
    watched = visitor.mends and one.state in ("running", "interrupted")
    run = last_run(one.release) if watched else None
    return {
        "one": one,
        "mends": visitor.mends,
        "lines": () if run is None else run.lines[-_LINES:],
        "acts": _acts(one, known),
    }


def seen(one: ReleaseState) -> str:
    """What tells a page whether more of it changed than where the release stands."""
    return sha256(f"{one.state} {one.history.head}".encode()).hexdigest()[:16]


@router.get("/releases/{release}/live")
async def live(request: Request, release: str, seen: str = "") -> Response:
    """Where a release stands, told whenever that changes.

    Args:
        seen: of the page that asks; the event `changed` says that it is not so any more.
    """
    visitor = logged_in(request)
    if _open[visitor.person.login] >= _MOST:
        raise HTTPException(
            429, f"{_MOST} pages of {visitor.person.login} are kept up to date already; close some"
        )
    if await run_in_threadpool(_look, release, visitor) is None:
        raise HTTPException(404, f"there is no release {release!r} here")
    return StreamingResponse(
        _told(release, visitor, seen),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},  # a proxy passes each event on at once
    )


async def _told(release: str, visitor: Visitor, shown: str) -> AsyncIterator[str]:
    began, last, looked, notes = monotonic(), "", 0.0, None
    with _counted(visitor.person.login):
        yield "retry: 1000\n\n"
        while monotonic() - began < _LONGEST:
            now = await run_in_threadpool(_notes, release)
            if now != notes or monotonic() - looked > _UNSEEN:
                notes, looked = now, monotonic()
                try:
                    found = await run_in_threadpool(_look, release, visitor)
                except LedgerError:  # its pages tell, and this one asks again
                    return
                text, key = found or ("", "")
                if key != shown:
                    yield "event: changed\ndata:\n\n"
                    return
                if text != last:
                    last = text
                    yield "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
            await asyncio.sleep(_EVERY)


@contextmanager
def _counted(login: str) -> Iterator[None]:
    _open[login] += 1
    try:
        yield
    finally:
        _open[login] -= 1


def _look(release: str, visitor: Visitor) -> tuple[str, str] | None:
    """What the page says of where a release stands, and what it has `seen`; None if it is gone."""
    known = profile()
    one = release_of(release, ledger(), known)
    if one is None:
        return None
    return rendered("standing", **standing(one, visitor, known)), seen(one)


def _notes(release: str) -> tuple[tuple[str, int], ...]:
    """When the notes about a release changed."""
    folder = Workspace.at(release).path
    try:
        return tuple(sorted((f.name, f.stat().st_mtime_ns) for f in folder.glob("*.json")))
    except OSError:  # one was replaced just now
        return ()


def _acts(one: ReleaseState, known: Profile) -> str:
    """Who can bring a release further, and how; empty where nobody need do anything."""
    match one.state:
        case "draft":
            return "an operator starts it"
        case "ordered":
            return engine.waits_for_worker()
        case "interrupted" | "stopped":
            return "an operator resumes it"
        case "failed":
            return "whoever writes its spec mends what is wrong, and an operator resumes it"
        case "rejected":
            return "an operator reopens its gate, once what was objected to is changed"
        case "waiting" if one.standing is not None:
            return "; ".join(
                f"as {role}: {' or '.join(people) or 'nobody that the profile lists'}"
                for role, people in could_approve(
                    one.history, one.standing, known.approvers
                ).items()
            )
    return ""
