"""The entrance of the desk: who sends a request, and whether they may have what they ask for.

Every request passes here before anything of its body is read. A browser is known by the cookie of
its session, a program by its access token. A request of a browser that changes anything must come
from a page of the desk itself: its `Origin` says so, which no page of another site can state, and
it carries the session's second secret, which none can read.

Source: OWASP, Cross-Site Request Forgery Prevention; Session Management; Authentication.
"""

import hmac
import os
from urllib.parse import quote

from fastapi import HTTPException, Request
from itsdangerous import BadSignature, URLSafeSerializer
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from hallmark.flows.desk.hosts import answers_to, host_of
from hallmark.flows.desk.intake import taken
from hallmark.flows.desk.pages import message
from hallmark.flows.desk.routes import BY_ITSELF, BY_NO_PROGRAM, NEEDED, InPerson, LoggedIn, Open
from hallmark.flows.desk.visitor import Visitor, visitor_of
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.secret_files import kept_secret
from hallmark.tasks.installation.server_mode import DESK_HOSTS, DESK_URL, desk_address
from hallmark.tasks.installation.workspace import home
from hallmark.tasks.people.actions import Actor
from hallmark.tasks.people.directory import Person
from hallmark.tasks.people.rights import Right, roles_with
from hallmark.tasks.people.sessions import LONGEST, bearer, session

_PATTERNS = [
    (route, compile_path(route[1])[0])
    # A path that is spelled out comes before one with a part that varies, as in the application.
    for route in sorted(NEEDED, key=lambda one: one[1].count("{"))
]
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_KNOWN_FOR = 180 * 24 * 3600  # seconds that a browser somebody logged in with is remembered
CSRF_FIELD, CSRF_HEADER = "csrf", "X-CSRF"


class Entrance:
    """An ASGI application behind the entrance.

    Args:
        app: the application; its routes are those of `routes.NEEDED`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = await self._refusal(scope)
        if answer is None:
            try:
                receive = taken(_route_of(scope["method"], scope["path"]), scope, receive)
            except HTTPException as error:
                answer = message(Request(scope), error.status_code, error.detail)
        await (self._app if answer is None else answer)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        if not answers_to(scope):
            return _misdirected(scope)
        if scope["path"].startswith("/static/"):
            return None
        needed = needed_for(scope["method"], scope["path"])
        request = Request(scope)
        visitor = await run_in_threadpool(
            _visitor, request, used=_route_of(scope["method"], scope["path"]) not in BY_ITSELF
        )
        scope.setdefault("state", {})["visitor"] = visitor
        if scope["method"] not in _SAFE_METHODS and not _is_from_here(request, visitor):
            return message(
                request, 403, "this request was not sent by a page of the desk; open it anew"
            )
        if needed == "open":
            return None
        if visitor is None:
            return _log_in(request)
        if needed is None:
            return message(request, 404, "there is no such page")
        if visitor.is_program and needed in BY_NO_PROGRAM:
            return message(
                request,
                403,
                "no program does this with an access token; log in to the desk with a browser",
            )
        if needed == "logged in" or needed == "in person":
            return None
        if not visitor.may(needed):
            return message(
                request,
                403,
                f"this needs the right to {needed.words}, which {visitor.person.login} does not "
                f"have; ask an administrator for a role that has it: {_any_of(needed)}",
            )
        return None


def needed_for(method: str, path: str) -> Right | Open | LoggedIn | InPerson | None:
    """What the route asks for; None where there is none, so that nobody gets anything."""
    route = _route_of(method, path)
    return None if route is None else NEEDED[route]


def _route_of(method: str, path: str) -> tuple[str, str] | None:
    """The key of the table of routes that a request is for."""
    method = "GET" if method == "HEAD" else method
    found = (one for one, path_of in _PATTERNS if one[0] == method and path_of.match(path))
    return next(found, None)


async def genuine(request: Request) -> None:
    """Check the secret of the form, once its body is read.

    Raises:
        HTTPException: 403; it is missing or not that of the session.
    """
    visitor = visitor_of(request)
    if request.method in _SAFE_METHODS or visitor is None or visitor.csrf is None:
        return
    if needed_for(request.method, request.url.path) == "open":  # somebody logs in once more
        return
    said = request.headers.get(CSRF_HEADER)
    if said is None and "form" in request.headers.get("Content-Type", ""):
        said = str((await request.form()).get(CSRF_FIELD, ""))
    if not hmac.compare_digest((said or "").encode(), visitor.csrf.encode()):
        raise HTTPException(403, "this form is of an earlier log-in; open the page anew")


def give_cookie(answer: Response, secret: str, who: Person) -> None:
    """Let a browser send the secret of its session, and be known when it logs in again."""
    for name, value, seconds in (
        (_session_cookie(), secret, int(LONGEST)),
        (_device_cookie(), str(_serializer().dumps(who.login)), _KNOWN_FOR),
    ):
        answer.set_cookie(
            name, value, max_age=seconds, secure=is_secure(), httponly=True, samesite="lax"
        )


def take_cookie(answer: Response) -> None:
    """Let a browser forget its session."""
    answer.delete_cookie(_session_cookie(), secure=is_secure(), httponly=True, samesite="lax")


def is_secure() -> bool:
    """Whether browsers reach the desk by HTTPS, be it through a proxy that ends it."""
    return os.environ.get(DESK_URL, "").startswith("https:")


def cookie_name(name: str) -> str:
    """What a cookie of the desk is called, so that no neighbouring host can set it."""
    # With the prefix browsers take it from this host alone, and by HTTPS alone.
    return ("__Host-" if is_secure() else "") + name


def is_known(request: Request, login: str) -> bool:
    """Whether a browser is one that this person logged in with before."""
    try:
        known = _serializer().loads(request.cookies.get(_device_cookie(), ""))
    except BadSignature:
        return False
    return bool(known == login)


def _visitor(request: Request, *, used: bool) -> Visitor | None:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind:  # whoever sends one is a program, also if it is wrong
        found = bearer(token.strip()) if kind.lower() == "bearer" else None
        if found is None:
            return None
        who, name = found
        return Visitor(who, Actor(who.login, f"token {name}"))
    secret = request.cookies.get(_session_cookie())
    running = None if secret is None else session(secret, used=used)
    if running is None:
        return None
    return Visitor(running.person, Actor(running.person.login, "session"), running.csrf, secret)


def _is_from_here(request: Request, visitor: Visitor | None) -> bool:
    """Whether a request that changes something comes from a page of the desk, or from a program."""
    if visitor is not None and visitor.is_program:
        return True
    own = {f"{request.url.scheme}://{request.headers.get('Host', '')}"}
    if at := desk_address():
        own.add(at)
    return request.headers.get("Origin") in own


def _misdirected(scope: Scope) -> Response:
    host = visible(host_of(scope))[:100] or "a host that the request does not name"
    return message(
        Request(scope),
        421,
        f"the desk is not reached as {host}; open it at its own address. Whoever runs it gives "
        f"that in {DESK_URL}, and other names in {DESK_HOSTS}",
    )


def _log_in(request: Request) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
        wanted = quote(request.url.path + (f"?{query}" if (query := request.url.query) else ""))
        return RedirectResponse(f"/log-in?next={wanted}", 303)
    answer = message(request, 401, "log in, or send an access token")
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def _any_of(right: Right) -> str:
    return " or ".join(roles_with(right))


def _session_cookie() -> str:
    return cookie_name("hallmark-desk")


def _device_cookie() -> str:
    return cookie_name("hallmark-desk-known")


def _serializer() -> URLSafeSerializer:
    key = kept_secret(home() / "desk-devices.key", lambda: os.urandom(32))
    return URLSafeSerializer(key, salt="browsers that somebody logged in with")
