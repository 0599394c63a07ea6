"""The door of a web server with one password, which slows down guessing.

Guesses are counted by the address they come from (for IPv6 by its network) and by whether they name
the existing account. A browser that was let in gets a cookie, and processes of the installation
send a header: these devices knew the password before, and each is counted separately. They still
need the password; but a stranger at the same address, as behind a proxy, cannot lock them out.
"""

import json
import math
import secrets
from base64 import b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hallmark.tasks.installation.guesses import Guesses, network_of

DEVICE_HEADER = "X-Hallmark-Device"
_DEVICES = 10_000  # most browsers remembered, the latest ones
_KNOWN_FOR = 30 * 24 * 3600  # seconds


class Door:
    """An ASGI application behind a password.

    Args:
        app: the application behind the door.
        name: of the service; it names the cookie, since cookies do not distinguish ports.
        password: returns the current `user:password`; if None, everybody is let in.
        is_open: whether a request with this method and path needs no password.
        asks: whether a browser should ask for the password at this path, the path of a page.
        devices: tokens of the installation's own processes.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        name: str,
        password: Callable[[], str | None],
        is_open: Callable[[str, str], bool],
        asks: Callable[[str], bool] = lambda _path: True,
        devices: Collection[str] = (),
    ) -> None:
        self._app, self._password, self._is_open, self._asks = app, password, is_open, asks
        self._cookie = f"hallmark-{name}-device"
        self._ours = frozenset(devices)
        self._browsers: OrderedDict[str, None] = OrderedDict()
        self._guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 or 429."""
        expected = self._password()
        if scope["type"] not in ("http", "websocket") or not expected:
            return await self._app(scope, receive, send)
        if scope["type"] == "websocket":
            return await self._app(scope, self._overheard(scope, receive, expected), send)
        if self._is_open(scope["method"], scope["path"]):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        said, device = _said(headers.get("Authorization")), self._device(headers)
        if said is None:
            return await self._refusal(scope["path"])(scope, receive, send)
        seconds = self._heard(scope, device, said, expected)
        if seconds is None:
            if device is None and "Sec-Fetch-Mode" in headers:  # which only browsers send
                send = self._remembering(send, secure=scope["scheme"] == "https")
            return await self._app(scope, receive, send)
        return await self._refusal(scope["path"], seconds)(scope, receive, send)

    def _heard(self, scope: Scope, device: str | None, said: str, expected: str) -> float | None:
        """None for the right password; else the seconds until the next guess is heard, 0 for none.

        Nothing runs between reading and updating the count, so simultaneous requests are counted
        as separate guesses.
        """
        same_account = said.partition(":")[0] == expected.partition(":")[0]
        who: Hashable = device or (_network(scope), same_account)
        if seconds := self._guesses.wait(who):
            return seconds
        if secrets.compare_digest(said.encode(), expected.encode()):
            return None
        self._guesses.wrong(who)
        return 0.0

    def _overheard(self, scope: Scope, receive: Receive, expected: str) -> Receive:
        """Messages of a Prefect socket, whose first message has the password for the server.

        If the guesser has to wait, the server gets the message without it.
        """
        device, first = self._device(Headers(scope=scope)), True

        async def heard() -> Message:
            nonlocal first
            message = await receive()
            if message["type"] == "websocket.receive" and first:
                first = False
                said = _token(message.get("text"))
                if said is not None and self._heard(scope, device, said, expected) is not None:
                    message = {**message, "text": json.dumps({"type": "auth", "token": None})}
            return message

        return heard

    def _device(self, headers: Headers) -> str | None:
        """The token of a device that knew the password before; None for other senders."""
        given = headers.get(DEVICE_HEADER)
        if given is not None:
            return given if given in self._ours else None
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            return None
        return found.value if found is not None and found.value in self._browsers else None

    def _remembering(self, send: Send, *, secure: bool) -> Send:
        """A `send` that also gives the browser a cookie."""
        token = secrets.token_urlsafe(24)
        self._browsers[token] = None
        while len(self._browsers) > _DEVICES:
            self._browsers.popitem(last=False)
        cookie = f"{self._cookie}={token}; Path=/; Max-Age={_KNOWN_FOR}; HttpOnly; SameSite=Strict"

        async def remember(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookies = MutableHeaders(scope=message)
                cookies.append("Set-Cookie", cookie + ("; Secure" if secure else ""))
            await send(message)

        return remember

    def _refusal(self, path: str, seconds: float = 0.0) -> JSONResponse:
        """The answer to a request without a password, with a wrong one, or made too early."""
        if seconds:
            wait = math.ceil(seconds)
            says = f"too many wrong passwords; wait {wait} seconds"
            return JSONResponse({"detail": says}, 429, {"Retry-After": str(wait)})
        ask = {"WWW-Authenticate": "Basic"} if self._asks(path) else {}
        return JSONResponse({"detail": "a password is required"}, 401, ask)


def _said(authorization: str | None) -> str | None:
    """The `user:password` in a header; None if there is no such header."""
    kind, _, content = (authorization or "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        return b64decode(content.strip(), validate=True).decode()
    except (NotBase64, UnicodeDecodeError):
        return ""  # wrong, whatever it is


def _token(text: str | None) -> str | None:
    """The `user:password` in the first message of a socket; None if it has none."""
    try:
        message = json.loads(text or "")
    except ValueError:
        return None
    said = message.get("token") if isinstance(message, dict) else None
    return said if isinstance(said, str) else None


def _network(scope: Scope) -> str:
    """The origin of a request."""
    return network_of(str((scope.get("client") or ("local", 0))[0]))
