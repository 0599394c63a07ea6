"""A provider of identities that says whatever a test wants: a real one refuses to misbehave."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

from tests.serving import Handler, serving

CLIENT, SECRET = "hallmark-desk", "client-secret-of-the-tests+/%: of thirty-two bytes"
NAMES_ITSELF = "authorization_response_iss_parameter_supported"
Claims = dict[str, Any]


@cache
def rsa(name: str, kid: str = "one") -> RSAKey:
    """The key of this name, the same in all tests, since it takes long to make one."""
    return RSAKey.generate_key(2048, {"kid": kid})


@dataclass
class ForgedProvider:
    """What it says, which a test may change.

    Attributes:
        signed: the ID token for honest claims.
        description: changes of what it publishes about itself; None takes something away.
        keys: what it publishes as its keys.
        answer: its token endpoint's whole answer, in place of an honest one.
        asked: every request for a token: its fields, and its Authorization header.
    """

    issuer: str
    key: RSAKey = field(default_factory=lambda: rsa("own"))
    description: Claims = field(default_factory=dict)
    published: list[Any] = field(default_factory=list)
    signed: Callable[[Claims], Any] = lambda claims: ""
    answer: tuple[int, bytes] | None = None
    asked: list[tuple[dict[str, str], str]] = field(default_factory=list)
    codes: dict[str, tuple[Claims, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.signed = self.sign
        self.published = [self.key.as_dict(private=False)]

    def sign(
        self, claims: Claims, alg: str = "RS256", key: RSAKey | ECKey | None = None, **header: Any
    ) -> str:
        """An ID token, by default as an honest provider would sign it."""
        said = {"alg": alg, "kid": "one"} | header
        free = JWSRegistry(algorithms=[alg], strict_check_header=False)
        return jwt.encode(said, claims, key or self.key, registry=free)

    def log_in(self, address: str, sub: str = "1", **claims: Any) -> dict[str, str]:
        """What the browser brings back from an address that the desk sent it to."""
        asked = {name: given for name, (given,) in parse_qs(urlsplit(address).query).items()}
        now, code = int(time.time()), secrets.token_urlsafe(16)
        honest = {"iss": self.issuer, "sub": sub, "aud": CLIENT, "exp": now + 300, "iat": now}
        said = honest | {"nonce": asked["nonce"], "preferred_username": "ada"} | claims
        kept = {name: one for name, one in said.items() if one is not None}
        self.codes[code] = (kept, asked["code_challenge"])
        own = {"iss": self.issuer} if self.description.get(NAMES_ITSELF) else {}
        return {"code": code, "state": asked["state"]} | own

    def told(self, path: str) -> tuple[int, bytes]:
        """What it answers to GET."""
        if path == "/keys":
            return 200, json.dumps({"keys": self.published}).encode()
        honest = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        said = {k: v for k, v in (honest | self.description).items() if v is not None}
        return 200, json.dumps(said).encode()

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, bytes]:
        """What it answers to whoever brings a code."""
        self.asked.append((form, authorization))
        if self.answer is not None:
            return self.answer
        basic = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
        known = [unquote_plus(part) for part in basic]
        if [CLIENT, SECRET] not in (known, [form.get("client_id"), form.get("client_secret")]):
            return 401, b'{"error": "invalid_client"}'
        claims, challenge = self.codes.pop(form["code"], ({}, ""))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != challenge:
            return 400, b'{"error": "invalid_grant"}'
        said = {"access_token": "an-access-token", "token_type": "Bearer"}
        return 200, json.dumps(said | {"id_token": self.signed(claims)}).encode()


@contextmanager
def forged_provider() -> Iterator[ForgedProvider]:
    """A provider that answers on loopback meanwhile."""

    class Answers(Handler):
        def do_GET(self) -> None:
            self._say(provider.told(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            given = self.headers.get("Authorization", "")
            self._say(provider.token(dict(parse_qsl(body)), given))

        def _say(self, answer: tuple[int, bytes]) -> None:
            self.send_response(answer[0])
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answer[1])

    with serving(Answers) as url:
        provider = ForgedProvider(url)
        yield provider
