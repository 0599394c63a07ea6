"""The door of a web server with one password: it lets in who knows it, and slows down who guesses.

Guesses are counted by the address they come from (of IPv6 by its network) and by whether they name
the account there is. A browser that was let in gets a cookie, and processes of the installation
bear a header: these are devices that knew the password, and each is counted on its own. They still
have to say it; but a stranger at the same address, as behind a proxy, cannot keep them out.
"""

import json
import math
import secrets
from base64 import b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from http.cookies import CookieError, SimpleCookie
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tasks.guesses import Guesses

DEVICE_HEADER = "X-Hallmark-Device"
_DEVICES = 10_000  # browsers that are known, the latest ones
_KNOWN_FOR = 30 * 24 * 3600  # seconds


class Door:
    """An ASGI application behind a password.

    Args:
        app: what is behind the door.
        name: of the service; its cookie is named for it, since cookies do not tell ports apart.
        password: tells `user:password` as it is now; where there is none, everybody is let in.
        is_open: whether a request of this method and path needs no password.
        asks: whether a browser shall ask for the password at this path, which is one of a page.
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
        """Pass on, or answer 401 or 429."""
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
            if device is None and "Sec-Fetch-Mode" in headers:  # which browsers alone send
                send = self._remembering(send, secure=scope["scheme"] == "https")
            return await self._app(scope, receive, send)
        return await self._refusal(scope["path"], seconds)(scope, receive, send)

    def _heard(self, scope: Scope, device: str | None, said: str, expected: str) -> float | None:
        """None for the password; else the seconds until another is heard, 0 for at once.

        Nothing else happens between the look at the count and the count: requests at the same time
        are as many guesses.
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
        """Messages of a Prefect socket, whose first one has the password; the server looks at it.

        Where the guesser has to wait, the server gets it without one.
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
        """The token of a device that knew the password before."""
        given = headers.get(DEVICE_HEADER)
        if given is not None:
            return given if given in self._ours else None
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            return None
        return found.value if found is not None and found.value in self._browsers else None

    def _remembering(self, send: Send, *, secure: bool) -> Send:
        """Give the browser a cookie with the answer."""
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
        """What is answered without a password, with a wrong one, or too early."""
        if seconds:
            wait = math.ceil(seconds)
            says = f"too many wrong passwords; wait {wait} seconds"
            return JSONResponse({"detail": says}, 429, {"Retry-After": str(wait)})
        ask = {"WWW-Authenticate": "Basic"} if self._asks(path) else {}
        return JSONResponse({"detail": "a password is needed"}, 401, ask)


def _said(authorization: str | None) -> str | None:
    """`user:password` of a header; None where there is no header of that kind."""
    kind, _, content = (authorization or "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        return b64decode(content.strip(), validate=True).decode()
    except (NotBase64, UnicodeDecodeError):
        return ""  # wrong, whatever it is


def _token(text: str | None) -> str | None:
    """`user:password` of the first message of a socket; None where it has none."""
    try:
        message = json.loads(text or "")
    except ValueError:
        return None
    said = message.get("token") if isinstance(message, dict) else None
    return said if isinstance(said, str) else None


def _network(scope: Scope) -> str:
    """Where a request comes from, as far as one guesser reaches."""
    host = str((scope.get("client") or ("local", 0))[0])
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ip_network((address, 64), strict=False))
    return str(address)
