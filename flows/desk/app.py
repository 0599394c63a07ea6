"""The desk: where an agency runs, reviews and answers for its releases.

It calls the same functions as the command line; Prefect runs and retries below it. The entrance
decides who may have what (`entrance`, `routes`). The desk knows no approver's private key: a
decision is signed in the approver's own browser, and entered only if it counts
(`tasks.gates.approvals`). By default it listens on this machine alone.
"""

import gc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.base import RequestResponseEndpoint

from hallmark.flows.desk import (
    accounts,
    agency,
    answers,
    asking,
    assets,
    calendar,
    comparing,
    documentation,
    keys,
    log_in,
    people,
    provider,
    questions,
    releases,
    runs,
    specs,
    tables,
)
from hallmark.flows.desk.entrance import Entrance, genuine
from hallmark.flows.desk.pages import message
from hallmark.flows.desk.visitor import logged_in
from hallmark.flows.engine import EngineMissing
from hallmark.mechanisms.privacy.ledger.errors import AccountRefused, BudgetRefused
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.given_dictionary import DictionaryError
from hallmark.schemas.loading import SpecError
from hallmark.schemas.skeleton import SkeletonError
from hallmark.tasks.gates.gate_history import HistoryBroken
from hallmark.tasks.governance import ChangeRefused
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.rights import Right
from hallmark.tasks.prometheus import CONTENT_TYPE, Exposition

_metrics, _metrics_with_accounts = Exposition(accounts=False), Exposition(accounts=True)


@asynccontextmanager
async def _ready(_: FastAPI) -> AsyncIterator[None]:
    """Read all accounts before anybody comes; afterwards only new entries are read."""
    with suppress(LedgerError):  # the pages tell
        await run_in_threadpool(accounts.look_once)
    # What is imported and read by now stays; searching it for garbage would stop everybody.
    gc.collect()
    gc.freeze()
    yield


desk = FastAPI(
    title="Hallmark desk",
    lifespan=_ready,
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    dependencies=[Depends(genuine)],
)
desk.mount(assets.ADDRESS, assets.files, name="static")
for rooms in (
    log_in, provider, people, agency, releases, asking, runs, specs, answers, questions,
    tables, calendar, comparing, accounts, keys, documentation,
):  # fmt: skip
    desk.include_router(rooms.router)

desk.add_middleware(Entrance)


@desk.middleware("http")  # added last, so that it also sees what the entrance answers
async def _guarded(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Keep pages out of caches and foreign frames, and foreign scripts out of pages."""
    answer = await call_next(request)
    answer.headers.setdefault(
        "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"
    )
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "same-origin"
    answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    is_asset = request.url.path.startswith(f"{assets.ADDRESS}/") and answer.status_code < 400
    answer.headers["Cache-Control"] = assets.KEPT if is_asset else "no-store"
    return answer


@desk.get("/health")
def health() -> dict[str, str]:
    """The answer to health checks."""
    return {"status": "ok"}


@desk.get("/metrics")
def metrics(request: Request) -> Response:
    """Metrics for Prometheus, which sends an access token; of accounts if its owner sees them."""
    sees_accounts = logged_in(request).may(Right.ACCOUNTS)
    told = _metrics_with_accounts if sees_accounts else _metrics
    return Response(told.text(), media_type=CONTENT_TYPE)


@desk.exception_handler(LedgerError)
@desk.exception_handler(HistoryBroken)
@desk.exception_handler(SpecError)  # of the profile or a calendar
@desk.exception_handler(EngineMissing)
def _out_of_order(request: Request, error: Exception) -> Response:
    return message(request, 503, str(error))


@desk.exception_handler(SafeError)
@desk.exception_handler(AccountRefused)
@desk.exception_handler(BudgetRefused)
@desk.exception_handler(DictionaryError)
@desk.exception_handler(SkeletonError)
def _not_possible(request: Request, error: Exception) -> Response:
    return message(request, 409, str(error))


@desk.exception_handler(ChangeRefused)
def _not_sound(request: Request, error: ChangeRefused) -> Response:
    return message(request, 409, str(error), {".".join(keys): w for keys, w in error.at.items()})


@desk.exception_handler(StarletteHTTPException)
def _no_such_page(request: Request, error: HTTPException) -> Response:
    return message(request, error.status_code, str(error.detail))


@desk.exception_handler(RequestValidationError)
def _not_understood(request: Request, error: RequestValidationError) -> Response:
    return message(
        request, 422, f"the desk did not understand: {', '.join(map(_field, error.errors()))}"
    )


def _field(problem: Mapping[str, Any]) -> str:
    """A field that was not understood, and why where one of our own checks says so."""
    name = ".".join(map(str, problem["loc"][1:]))
    why = problem.get("ctx", {}).get("error")
    return f"{name}: {why}" if problem["type"] == "value_error" else name
