"""Who somebody is by a provider of identities: OpenID Connect, authorization code flow with PKCE.

What is believed is an ID token that the provider's token endpoint returns for a code, signed with
an asymmetric key that the provider publishes, made out to this desk, for this log-in, and in date.
Nothing that passes through the browser is believed. The provider is asked anew for its keys at
every log-in, so a key that it withdraws counts no longer.

Left out: the access token, which is thrown away, and so `at_hash`; the endpoint of claims
(userinfo), since what counts is in the signed token; EdDSA, a name that RFC 9864 deprecates.

Source: OpenID Connect Core 1.0, 3.1; Discovery 1.0, 4.3; RFC 7636 (PKCE); RFC 9207 (issuer of
an answer); RFC 9700, 2.1.
"""

import base64
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote_plus, urlsplit

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry

from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.server_mode import DESK_URL, desk_address

ISSUER = "HALLMARK_OIDC_ISSUER"
CLIENT_ID = "HALLMARK_OIDC_CLIENT_ID"
CLIENT_SECRET = "HALLMARK_OIDC_CLIENT_SECRET"
NAME = "HALLMARK_OIDC_NAME"
ANSWER_PATH = "/log-in/provider/answer"

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures that are believed: all asymmetric, so that nobody but the provider can make one."""

_SIGNATURES = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
_SCOPE = "openid profile email"
_PATIENCE = 10.0  # seconds that the provider has for an answer
_DRIFT = 60  # seconds that its clock may be off
_KNOWN_FOR = 300.0  # seconds after which its addresses are asked for anew
_LONGEST_SUBJECT = 255  # characters, by OpenID Connect Core 1.0, 2


class ProviderFault(SafeError):
    """Logging in by the provider is set up wrongly, or the provider does not do its part."""


class AnswerRefused(SafeError):
    """The provider vouches for nobody here.

    Attributes:
        grave: whether the provider itself answered with what nobody should believe.
    """

    def __init__(self, message: str, *, grave: bool = False) -> None:
        super().__init__(message)
        self.grave = grave


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A log-in that was begun: what its answer must fit."""

    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


@dataclass(frozen=True)
class Vouched:
    """Whom the provider vouches for.

    Attributes:
        subject: issuer and subject, which are never given to anybody else.
        login: what the provider calls them now, in lowercase; empty if it does not say.
    """

    subject: str
    login: str


@dataclass(frozen=True, kw_only=True)
class _Settings:
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    answer_at: str


@dataclass(frozen=True, kw_only=True)
class _Endpoints:
    authorization: str
    token: str
    keys: str
    takes_secret_in_form: bool
    names_itself: bool  # in every answer that passes through the browser (RFC 9207)


_known: dict[str, tuple[float, _Endpoints]] = {}


def provider_name() -> str | None:
    """What the provider is called on the button; None where no provider is set up."""
    issuer = os.environ.get(ISSUER)
    if not issuer:
        return None
    return os.environ.get(NAME) or _host(issuer) or "the provider"


async def begun() -> tuple[str, Attempt]:
    """The provider's address for a new log-in, and what its answer must fit.

    Raises:
        ProviderFault: a setting is missing or wrong, or the provider does not answer.
    """
    settings = _settings()
    async with _client() as client:
        endpoints = await _endpoints(client, settings)
    attempt = Attempt(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
    )
    address = prepare_grant_uri(
        endpoints.authorization,
        client_id=settings.client_id,
        response_type="code",
        redirect_uri=settings.answer_at,
        scope=_SCOPE,
        state=attempt.state,
        nonce=attempt.nonce,
        code_challenge=create_s256_code_challenge(attempt.verifier),
        code_challenge_method="S256",
    )
    return str(address), attempt


async def vouched(attempt: Attempt, code: str, issuer: str | None = None) -> Vouched:
    """Whom the provider vouches for by a code.

    Args:
        issuer: who sent the code, where the answer says so; it must where the provider announces
            that its answers do (RFC 9207, 2.4).
    Raises:
        AnswerRefused: the code is not of this log-in, or the token is not to be believed.
        ProviderFault: a setting is missing or wrong, or the provider does not answer.
    """
    settings = _settings()
    if issuer is not None and issuer != settings.issuer:
        raise AnswerRefused("this answer is of another provider; log in anew")
    async with _client() as client:
        endpoints = await _endpoints(client, settings)
        if issuer is None and endpoints.names_itself:
            raise AnswerRefused(
                "this answer does not say which provider it is of, which yours always says; log in "
                "anew"
            )
        token = await _token(client, settings, endpoints, attempt, code)
        keys = await _asked(client, endpoints.keys, "its keys")
    return _believed(token, keys, settings, attempt)


def _settings() -> _Settings:
    given = {
        name: os.environ.get(name, "") for name in (ISSUER, CLIENT_ID, CLIENT_SECRET, DESK_URL)
    }
    if missing := [name for name, value in given.items() if not value]:
        raise ProviderFault(
            f"log-in by the provider is not set up: {', '.join(missing)} missing in the desk's "
            "environment; whoever runs this installation sets it and starts the desk again"
        )
    if not _is_safe(given[ISSUER]) or "?" in given[ISSUER]:
        raise ProviderFault(
            f"{ISSUER} is {given[ISSUER]}, but must be an https:// address without query or "
            "fragment (http:// only on this machine itself); correct it and start the desk again"
        )
    return _Settings(
        issuer=given[ISSUER],
        client_id=given[CLIENT_ID],
        client_secret=given[CLIENT_SECRET],
        answer_at=f"{desk_address()}{ANSWER_PATH}",
    )


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _is_safe(address: str) -> bool:
    """Whether nobody between here and there can read or change what is said."""
    host = _host(address)
    if not host or not address.isascii() or any(sign in address for sign in " #"):
        return False
    scheme, parts = address.partition(":")[0], urlsplit(address)
    if parts.username is not None or parts.password is not None:
        return False
    return scheme == "https" or (scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=_PATIENCE, follow_redirects=False)


async def _endpoints(client: httpx.AsyncClient, settings: _Settings) -> _Endpoints:
    since, found = _known.get(settings.issuer, (0.0, None))
    if found is not None and time.monotonic() - since < _KNOWN_FOR:
        return found
    place = settings.issuer.removesuffix("/") + "/.well-known/openid-configuration"
    said = await _asked(client, place, "its description")
    if said.get("issuer") != settings.issuer:
        raise ProviderFault(
            f"the provider calls itself {_shown(said.get('issuer'))}, but {ISSUER} is "
            f"{settings.issuer}; set it to exactly what the provider calls itself"
        )
    places = [said.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
    safe = [one for one in places if isinstance(one, str) and _is_safe(one)]
    if len(safe) < len(places):
        raise ProviderFault(
            f"{place} lacks authorization_endpoint, token_endpoint or jwks_uri, or one of them is "
            f"not https://; is {ISSUER} the address of an OpenID provider?"
        )
    methods = said.get("token_endpoint_auth_methods_supported") or []
    found = _Endpoints(
        authorization=safe[0],
        token=safe[1],
        keys=safe[2],
        takes_secret_in_form=isinstance(methods, list) and "client_secret_post" in methods,
        names_itself=said.get("authorization_response_iss_parameter_supported") is True,
    )
    _known[settings.issuer] = (time.monotonic(), found)
    return found


async def _asked(client: httpx.AsyncClient, place: str, what: str) -> dict[str, Any]:
    """What the provider publishes at an address."""
    try:
        answer = await client.get(place, headers={"Accept": "application/json"})
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _silent(place, error) from None
    said = _object(answer)
    if answer.status_code != 200 or said is None:
        raise ProviderFault(
            f"the provider does not tell {what}: {place} answers {answer.status_code} and "
            f"{'no JSON object' if said is None else 'JSON'}; check {ISSUER}"
        )
    return said


async def _token(
    client: httpx.AsyncClient,
    settings: _Settings,
    endpoints: _Endpoints,
    attempt: Attempt,
    code: str,
) -> str:
    """The ID token that the provider gives for a code."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": settings.answer_at,
        "code_verifier": attempt.verifier,
    }
    own = (settings.client_id, settings.client_secret)
    header = {"Accept": "application/json"}
    if endpoints.takes_secret_in_form:
        form |= dict(zip(("client_id", "client_secret"), own, strict=True))
    else:
        said_so = base64.b64encode(":".join(map(quote_plus, own)).encode()).decode()
        header["Authorization"] = f"Basic {said_so}"  # RFC 6749, 2.3.1
    try:
        answer = await client.post(endpoints.token, data=form, headers=header)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _silent(endpoints.token, error) from None
    said = _object(answer) or {}
    if said.get("error") == "invalid_grant":
        raise AnswerRefused("the provider no longer knows this log-in; log in anew")
    if answer.status_code != 200 or "error" in said:
        raise ProviderFault(
            f"the provider's token endpoint answers {answer.status_code}, "
            f"{_shown(said.get('error'))}; check {CLIENT_ID} and {CLIENT_SECRET}, and what the "
            "provider has for this client: the authorization code flow, a client secret, and the "
            f"redirect URI {settings.answer_at}"
        )
    token = said.get("id_token")
    if not isinstance(token, str):
        raise ProviderFault(
            "the provider gives no ID token; is it an OpenID provider, and may this client ask "
            "for the scope openid?"
        )
    return token


def _believed(
    token: str, keys: Mapping[str, Any], settings: _Settings, attempt: Attempt
) -> Vouched:
    """Whom a token vouches for, once everything about it is checked."""
    required = {
        "iss": {"essential": True, "value": settings.issuer},
        "aud": {"essential": True, "value": settings.client_id},
    }
    try:
        signed = jwt.decode(token, _signing(keys), registry=_SIGNATURES)
        claims = CodeIDToken(
            signed.claims,
            signed.header,
            required,
            {"nonce": attempt.nonce, "client_id": settings.client_id},
        )
        claims.validate(leeway=_DRIFT)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        why = getattr(error, "claim", None) or type(error).__name__
        raise AnswerRefused(
            f"the provider's ID token is not to be believed ({_shown(why)}); "
            "tell whoever runs this installation",
            grave=True,
        ) from None
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise AnswerRefused("the provider's ID token names no subject", grave=True)
    return Vouched(f"{settings.issuer} {subject}", _login(claims))


def _signing(keys: Mapping[str, Any]) -> KeySet:
    """The published keys that sign; one that we cannot read does not make the others useless."""
    found: list[Any] = []
    for one in keys.get("keys") or ():
        if not isinstance(one, dict) or one.get("use", "sig") != "sig":
            continue
        with suppress(JoseError, ValueError, TypeError, KeyError):
            found.append(JWKRegistry.import_key(one))
    return KeySet(found)


def _login(claims: Mapping[str, Any]) -> str:
    name, email = claims.get("preferred_username"), claims.get("email")
    said = name or (email if claims.get("email_verified") is True else None)
    # Letters such as the Kelvin sign become another person's ASCII ones in lowercase.
    return said.lower() if isinstance(said, str) and said.isascii() else ""


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        said = answer.json()
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _silent(place: str, error: Exception) -> ProviderFault:
    return ProviderFault(
        f"the provider does not answer at {place} ({type(error).__name__}); log in with a "
        "password, or try again later. If it lasts, whoever runs this installation checks that "
        "the desk reaches that address and knows the authority of its certificate"
    )


def _shown(said: object) -> str:
    return visible(str(said))[:200]
