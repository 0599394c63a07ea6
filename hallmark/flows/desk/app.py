"""The pages of the review desk, and the only entrance for decisions.

The desk shows what a decision is about and takes signed decisions. It knows no approver's private
key: a decision is signed in the approver's own browser, and entered only if it counts
(`tasks.gates.approvals`). So anybody who reaches the desk can read, but not decide. What it shows
is not published yet, so it asks for a password if one is set, and by default listens only on this
machine.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.base import RequestResponseEndpoint

from hallmark.flows.desk.keys import keys
from hallmark.flows.desk.pages import pages
from hallmark.flows.door import Door
from hallmark.flows.going_on import go_on
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.decisions import SignedDecision
from hallmark.schemas.documents.manifest import REPORT_FILE
from hallmark.schemas.loading import SpecError
from hallmark.tasks.gates.approvals import DecisionRefused, decide
from hallmark.tasks.gates.waiting import asked_now, standing_of, waiting_of, waiting_releases
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.server_mode import DESK_AUTH, DEVICE
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.prometheus import CONTENT_TYPE, Exposition

_HERE = Path(__file__).parent
_OWN = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
_OWN += "'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
_STAGED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

_metrics = Exposition()


desk = FastAPI(
    title="Hallmark review desk",
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
)
desk.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
desk.include_router(keys)


@desk.middleware("http")
async def _guarded(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Keep pages out of caches and foreign frames, and foreign scripts out of pages."""
    answer = await call_next(request)
    answer.headers.setdefault("Content-Security-Policy", _OWN)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "no-referrer"
    answer.headers["Cache-Control"] = "no-store"
    return answer


# Added last, so that it runs first.
desk.add_middleware(
    Door,
    name="desk",
    password=lambda: os.environ.get(DESK_AUTH),
    is_open=lambda _method, path: path == "/health",
    devices=[device] if (device := os.environ.get(DEVICE)) else [],
)


@desk.get("/health")
def health() -> dict[str, str]:
    """The answer to health checks."""
    return {"status": "ok"}


@desk.get("/metrics")
def metrics() -> Response:
    """Metrics for Prometheus, which must also give the desk's password."""
    return Response(_metrics.text(), media_type=CONTENT_TYPE)


@desk.get("/", response_class=HTMLResponse)
def overview() -> str:
    """The page with all waiting releases."""
    book, known = open_ledger(ledger_url()), profile()
    rows = [
        (waiting, None if waiting.gate == "embargo" else standing_of(waiting, book, known))
        for waiting in waiting_releases()
    ]
    return pages.get_template("overview.html.j2").render(rows=rows)


@desk.get("/releases/{release}", response_class=HTMLResponse)
def decision_page(release: str) -> str:
    """The page with what a release is waiting for, what to review, and the form for a decision."""
    waiting = _at_gate(release)
    book, known, workspace = open_ledger(ledger_url()), profile(), Workspace.of(release)
    summary, staged = None, []
    if waiting.gate == "plan":
        summary = json.loads((workspace.path / "plan" / "plan.json").read_text())
    else:
        staged = sorted(path.name for path in workspace.staging.iterdir())
    return pages.get_template("decision.html.j2").render(
        waiting=waiting,
        there=standing_of(waiting, book, known),
        approvers=known.approvers,
        roles=sorted(set(waiting.required)),
        plan=summary,
        staged=staged,
        report=REPORT_FILE,
        content=json.dumps(asked_now(waiting, book)),
        now=datetime.now(UTC).isoformat(timespec="seconds"),
    )


@desk.get("/releases/{release}/files/{name}")
def staged_file(release: str, name: str) -> Response:
    """A file of the staged release, or of the plan, as it would be published."""
    waiting = _at_gate(release)
    workspace = Workspace.of(release)
    folder = workspace.path / "plan" if waiting.gate == "plan" else workspace.staging
    if name not in {path.name for path in folder.iterdir()}:
        raise HTTPException(404, f"{release} has no file {name}")
    is_page = name.endswith(".html")
    return FileResponse(
        folder / name,
        headers={"Content-Security-Policy": _STAGED},
        content_disposition_type="inline" if is_page else "attachment",
        filename=name,
    )


@desk.post("/decisions")
def take_decision(signed: SignedDecision) -> dict[str, Any]:
    """Enter a signed decision, and continue the release if nothing is missing any more."""
    waiting = _at_gate(signed.decision.release)
    book, known = open_ledger(ledger_url()), profile()
    decide(book, signed, waiting, known.approvers)
    there = standing_of(waiting, book, known)
    return {
        "passed": there.passed,
        "rejected": there.rejected is not None,
        "missing": list(there.missing),
        "not_recorded": len(there.blocking),
        "run": go_on(waiting) if there.passed else None,
    }


@desk.exception_handler(LedgerError)
@desk.exception_handler(SpecError)  # of the profile
def _out_of_order(_request: Request, error: LedgerError | SpecError) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=503)


@desk.exception_handler(SafeError)
def _not_possible(_request: Request, error: SafeError) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=409)


def _at_gate(release: str) -> Waiting:
    try:
        return waiting_of(release)
    except DecisionRefused as error:
        raise HTTPException(404, str(error)) from error
