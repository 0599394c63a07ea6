"""Logging in by a provider of identities: whom the desk believes, and whom and what it does not."""

import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import itsdangerous.timed
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey, OctKey, OKPKey
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.flows.desk.provider import provider_name
from hallmark.tasks.people import provider as trusted
from hallmark.tasks.people.actions import Action, Actor, actions
from hallmark.tasks.people.directory import add, invite, leave, person, vouched_for
from hallmark.tasks.people.rights import Role
from hallmark.tasks.people.sessions import begin
from tests.flows.forged_provider import (
    CLIENT,
    NAMES_ITSELF,
    SECRET,
    Claims,
    ForgedProvider,
    forged_provider,
    rsa,
)

DESK = "http://127.0.0.1:4201"
ROOT = Actor("root", "command line")
HTML = {"Accept": "text/html"}


@pytest.fixture
def provider(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgedProvider]:
    """A forged provider that the desk trusts, where Ada was added for it."""
    trusted._known.clear()
    with forged_provider() as running:
        monkeypatch.setenv("HALLMARK_DESK_URL", DESK)
        monkeypatch.setenv("HALLMARK_OIDC_ISSUER", running.issuer)
        monkeypatch.setenv("HALLMARK_OIDC_CLIENT_ID", CLIENT)
        monkeypatch.setenv("HALLMARK_OIDC_CLIENT_SECRET", SECRET)
        add("root", "Ro Ot", [Role.ADMINISTRATOR], by=ROOT)
        add("ada", "Ada Lovelace", [Role.VIEWER], by=ROOT)
        yield running


def browser() -> TestClient:
    return TestClient(desk, base_url=DESK, follow_redirects=False, headers=HTML)


def sent(client: TestClient, wanted: str = "/") -> str:
    """Where the desk sends a browser that follows the button."""
    answer = client.get("/log-in/provider", params={"next": wanted})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def back(client: TestClient, brought: dict[str, str]) -> httpx.Response:
    return client.get("/log-in/provider/answer", params=brought)


def logged_in(client: TestClient) -> bool:
    return client.get("/me").status_code == 200


def attempt(provider: ForgedProvider, **claims: Any) -> tuple[TestClient, httpx.Response]:
    client = browser()
    return client, back(client, provider.log_in(sent(client), **claims))


def last(action: str) -> Action:
    return next(one for one in actions() if one.action == action)


def test_somebody_who_was_added_logs_in_where_they_wanted_to_go(provider: ForgedProvider):
    client = browser()
    address = sent(client, "/calendar?year=2026")
    assert address.startswith(f"{provider.issuer}/authorize?tenant=1&")
    assert "code_challenge_method=S256" in address
    answer = back(client, provider.log_in(address))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/calendar?year=2026")
    assert logged_in(client)
    assert (last("logged-in").who, last("logged-in").by) == ("ada", "provider")
    assert person("ada").subject == f"{provider.issuer} 1"


def test_the_page_to_log_in_names_the_provider(
    provider: ForgedProvider, monkeypatch: pytest.MonkeyPatch
):
    assert 'href="/log-in/provider?next=/specs"' in browser().get("/log-in?next=/specs").text
    assert "Log in with 127.0.0.1" in browser().get("/log-in").text
    monkeypatch.setenv("HALLMARK_OIDC_NAME", "the agency's account")
    assert provider_name() == "the agency's account"
    monkeypatch.delenv("HALLMARK_OIDC_ISSUER")
    assert "/log-in/provider" not in browser().get("/log-in").text


def test_whoever_is_logged_in_is_not_sent_away(provider: ForgedProvider):
    client, _ = attempt(provider)
    answer = client.get("/log-in/provider", params={"next": "/calendar"})
    assert answer.headers["Location"] == "/calendar"
    answer = client.get("/log-in/provider", params={"next": "//evil.example"})
    assert answer.headers["Location"] == "/"


def test_the_client_secret_goes_to_the_token_endpoint_in_the_way_that_it_takes(
    provider: ForgedProvider,
):
    assert logged_in(attempt(provider)[0])
    form, header = provider.asked[-1]
    assert "client_secret" not in form
    assert header.startswith("Basic ")
    provider.description = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    trusted._known.clear()
    assert logged_in(attempt(provider)[0])
    form, header = provider.asked[-1]
    assert (form["client_secret"], header) == (SECRET, "")


def test_keys_and_header_of_a_real_provider_are_understood(provider: ForgedProvider):
    ec = ECKey.generate_key("P-256", {"kid": "two"})
    other = rsa("another").as_dict(private=False) | {"use": "enc"}
    odd = [{"kty": "LATTICE", "kid": "x"}, {"kty": "RSA", "kid": "one", "n": "?"}, "no key", {}]
    provider.published = [*odd, other, ec.as_dict(private=False)]
    provider.signed = lambda claims: provider.sign(claims, "ES256", ec, kid="two", made="up")
    assert logged_in(attempt(provider)[0])


# What a token says wrongly, each from an otherwise honest provider.

_now = int(time.time())
FALSE_CLAIMS: dict[str, Claims] = {
    "another issuer": {"iss": "https://login.example.org"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "another-client"},
    "several audiences, not us": {"aud": ["a", "b"], "azp": CLIENT},
    "another audience, but our azp": {"aud": "another-client", "azp": CLIENT},
    "us among several, for another": {"aud": [CLIENT, "b"], "azp": "b"},
    "us among several, for nobody": {"aud": [CLIENT, "b"]},
    "us alone, for another": {"azp": "b"},
    "no audience": {"aud": None},
    "empty audience": {"aud": []},
    "expired": {"exp": _now - 3600},
    "no end": {"exp": None},
    "an end that is no number": {"exp": "tomorrow"},
    "from the future": {"iat": _now + 3600},
    "not yet": {"nbf": _now + 3600},
    "no time": {"iat": None},
    "another nonce": {"nonce": "of another log-in"},
    "no nonce": {"nonce": None},
    "an empty nonce": {"nonce": ""},
    "nonces": {"nonce": ["a"]},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a long subject": {"sub": "x" * 256},
    "a subject that is a number": {"sub": 1},
}
SIGNATURES: dict[str, Callable[[ForgedProvider, Claims], Any]] = {
    "none": lambda _, claims: unsigned(claims, "none"),
    "NONE": lambda _, claims: unsigned(claims, "NoNe"),
    "none with the signature left": lambda p, claims: headed(p.sign(claims), "none"),
    "no algorithm": lambda p, claims: headed(p.sign(claims), None),
    "HS256, client secret": lambda p, claims: hmac_signed(p, claims, SECRET.encode()),
    "HS256, public key as PEM": lambda p, claims: hmac_signed(p, claims, public_pem(p)),
    "HS256, public key as JSON": lambda p, claims: hmac_signed(p, claims, public_json(p)),
    "HS256, empty": lambda p, claims: hmac_signed(p, claims, b"\0" * 32),
    "HS256, an oct key among its own": lambda p, claims: published_secret(p, claims),
    "EdDSA": lambda p, claims: ed_signed(p, claims),
    "another key": lambda p, claims: p.sign(claims, key=rsa("another")),
    "another key, in the token": lambda p, claims: own_key(p, claims),
    "another key, under an unknown name": lambda p, claims: p.sign(
        claims, key=rsa("another"), kid="two"
    ),
    "no name, of several keys": lambda p, claims: unnamed(p, claims),
    "changed claims": lambda p, claims: changed(p.sign(claims)),
    "a part that must be understood": lambda p, claims: headed(p.sign(claims), "RS256", crit=["x"]),
    "no token": lambda p, claims: "no-token",
    "nothing": lambda p, claims: "",
    "claims that are a list": lambda p, claims: f"{part({'alg': 'none'})}.{part([1])}.",
}  # fmt: skip


def part(said: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")


def unsigned(claims: Claims, alg: str) -> str:
    return f"{part({'alg': alg, 'kid': 'one'})}.{part(claims)}."


def headed(token: str, alg: str | None, **more: Any) -> str:
    _, payload, signature = token.split(".")
    return f"{part(({'alg': alg} if alg else {}) | {'kid': 'one'} | more)}.{payload}.{signature}"


def changed(token: str) -> str:
    head, payload, signature = token.split(".")
    said = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return f"{head}.{part(said | {'sub': '2'})}.{signature}"


def hmac_signed(provider: ForgedProvider, claims: Claims, secret: bytes) -> str:
    said = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(claims)}"
    made = hmac.new(secret, said.encode(), hashlib.sha256).digest()
    return f"{said}.{base64.urlsafe_b64encode(made).decode().rstrip('=')}"


def public_pem(provider: ForgedProvider) -> bytes:
    return provider.key.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def public_json(provider: ForgedProvider) -> bytes:
    return json.dumps(provider.key.as_dict(private=False)).encode()


def published_secret(provider: ForgedProvider, claims: Claims) -> str:
    secret = b"a secret that everybody may read"
    provider.published = [OctKey.import_key(secret, {"kid": "one"}).as_dict()]
    return hmac_signed(provider, claims, secret)


def ed_signed(provider: ForgedProvider, claims: Claims) -> str:
    key = OKPKey.generate_key("Ed25519", {"kid": "one"})
    provider.published = [key.as_dict(private=False)]
    return provider.sign(claims, "EdDSA", key)


def own_key(provider: ForgedProvider, claims: Claims) -> str:
    key = rsa("another")
    return provider.sign(claims, key=key, jwk=key.as_dict(private=False))


def unnamed(provider: ForgedProvider, claims: Claims) -> str:
    key = rsa("second", "two")
    provider.published.append(key.as_dict(private=False))
    return provider.sign(claims, kid="")


@pytest.mark.parametrize("claims", FALSE_CLAIMS.values(), ids=FALSE_CLAIMS)
def test_claims_that_are_false_let_nobody_in(claims: Claims, provider: ForgedProvider):
    client, answer = attempt(provider, **claims)
    assert answer.status_code == 403, answer.text
    assert "not to be believed" in answer.text or "names no subject" in answer.text
    assert not logged_in(client)
    assert last("log-in-refused").by == "provider"


@pytest.mark.parametrize("forge", SIGNATURES.values(), ids=SIGNATURES)
def test_signatures_that_are_false_let_nobody_in(
    forge: Callable[[ForgedProvider, Claims], Any], provider: ForgedProvider
):
    provider.signed = lambda claims: forge(provider, claims)
    client, answer = attempt(provider)
    assert answer.status_code == 403, answer.text
    assert "not to be believed" in answer.text
    assert not logged_in(client)
    assert person("ada").subject is None


def test_a_token_of_an_earlier_log_in_is_not_believed(provider: ForgedProvider):
    kept: list[str] = []
    provider.signed = lambda claims: kept.append(provider.sign(claims)) or kept[0]
    assert logged_in(attempt(provider)[0])
    client, answer = attempt(provider)
    assert (answer.status_code, logged_in(client)) == (403, False)


# The way through the browser.


def test_an_answer_without_or_with_another_state_lets_nobody_in(provider: ForgedProvider):
    client = browser()
    brought = provider.log_in(sent(client))
    for state in (None, "", "another", brought["state"][:-1], "ünïcode"):
        wrong = {k: v for k, v in (brought | {"state": state}).items() if v is not None}
        assert back(client, wrong).status_code == 403
    assert provider.asked == []
    assert back(client, brought).status_code == 303  # somebody else's nonsense does not end it


def test_an_answer_of_another_browser_lets_nobody_in(provider: ForgedProvider):
    mallory, ada = browser(), browser()
    brought = provider.log_in(sent(mallory), preferred_username="root", sub="7")
    assert back(ada, brought).status_code == 403  # with no cookie
    sent(ada)
    assert back(ada, brought).status_code == 403  # with one of her own log-in
    assert not logged_in(ada)


def test_a_code_of_somebody_elses_log_in_is_of_no_use(provider: ForgedProvider):
    stolen = provider.log_in(sent(browser()))["code"]
    mallory = browser()
    own = provider.log_in(sent(mallory), preferred_username="mallory", sub="666")
    answer = back(mallory, own | {"code": stolen})
    assert (answer.status_code, logged_in(mallory)) == (403, False)


def test_an_answer_counts_once(provider: ForgedProvider):
    client = browser()
    address = sent(client)
    cookie = client.cookies["hallmark-desk-provider"]
    brought = provider.log_in(address)
    assert back(client, brought).status_code == 303
    assert "hallmark-desk-provider" not in client.cookies
    again = browser()
    again.cookies.set("hallmark-desk-provider", cookie)  # as a thief of both would
    assert back(again, provider.log_in(address)).status_code == 403
    assert len(provider.asked) == 1


def test_a_code_counts_once_also_with_another_log_in(provider: ForgedProvider):
    client = browser()
    brought = provider.log_in(sent(client))
    assert back(client, brought).status_code == 303
    again = browser()
    fresh = provider.log_in(sent(again))
    answer = back(again, fresh | {"code": brought["code"]})
    assert (answer.status_code, logged_in(again)) == (403, False)


def test_ten_minutes_later_the_answer_no_longer_counts(
    provider: ForgedProvider, monkeypatch: pytest.MonkeyPatch
):
    client = browser()
    brought = provider.log_in(sent(client))
    later = time.time() + 601
    monkeypatch.setattr(itsdangerous.timed.time, "time", lambda: later)
    assert back(client, brought).status_code == 403


@pytest.mark.parametrize("cookie", ["", "x", "e30.x.x", "a.b.c.d"])
def test_a_made_up_cookie_begins_nothing(cookie: str, provider: ForgedProvider):
    client = browser()
    brought = provider.log_in(sent(client))
    client.cookies.clear()
    client.cookies.set("hallmark-desk-provider", cookie)
    assert back(client, brought).status_code == 403


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        " //evil.example",
        "javascript:alert(1)",
        "evil.example",
        "@evil.example",
        "",
        "/" + "x" * 5000,
    ],
)
def test_nobody_is_sent_elsewhere(wanted: str, provider: ForgedProvider):
    client = browser()
    answer = back(client, provider.log_in(sent(client, wanted)))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


def test_a_session_is_always_new(provider: ForgedProvider):
    planted = begin(person("root"), ROOT)
    client = browser()
    client.cookies.set("hallmark-desk", "planted by somebody")
    address = sent(client)
    client.cookies.set("hallmark-desk", planted)
    answer = back(client, provider.log_in(address))
    made = [one for one in answer.headers.get_list("Set-Cookie") if "hallmark-desk=" in one]
    assert len(made) == 1
    assert planted not in made[0]
    assert "planted" not in made[0]


def test_cookies_are_for_the_desk_alone_and_for_https(
    provider: ForgedProvider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_DESK_URL", "https://desk.example.org/")
    client = TestClient(
        desk, base_url="https://desk.example.org", follow_redirects=False, headers=HTML
    )
    begun = client.get("/log-in/provider")
    assert (
        "redirect_uri=https%3A%2F%2Fdesk.example.org%2Flog-in%2Fprovider%2Fanswer&"
        in (begun.headers["Location"])
    )
    (cookie,) = begun.headers.get_list("Set-Cookie")
    assert cookie.startswith("__Host-hallmark-desk-provider=")
    for said in ("HttpOnly", "Secure", "SameSite=lax", "Path=/", "Max-Age=600"):
        assert said in cookie
    assert back(client, provider.log_in(begun.headers["Location"])).status_code == 303
    assert logged_in(client)


@pytest.mark.parametrize("error", ["access_denied", "<script>alert(1)</script>", "\x1b[2J"])
def test_what_the_provider_refuses_is_said_as_text(error: str, provider: ForgedProvider):
    client = browser()
    state = provider.log_in(sent(client))["state"]
    answer = back(client, {"error": error, "state": state})
    assert answer.status_code == 403
    assert "<script>" not in answer.text
    assert "\x1b" not in answer.text
    assert back(client, {"state": state, "code": "x"}).status_code == 403  # it was its answer


def test_an_answer_that_names_another_provider_is_refused(provider: ForgedProvider):
    client = browser()
    brought = provider.log_in(sent(client))
    answer = back(client, brought | {"iss": "https://login.example.org"})
    assert (answer.status_code, provider.asked) == (403, [])


@pytest.mark.parametrize("said", [{}, {"iss": ""}, {"iss": "https://login.example.org"}])
def test_an_answer_names_the_provider_where_that_announces_so(
    said: dict[str, str], provider: ForgedProvider
):
    provider.description = {NAMES_ITSELF: True}
    client = browser()
    brought = provider.log_in(sent(client))
    del brought["iss"]
    answer = back(client, brought | said)
    assert (answer.status_code, provider.asked, logged_in(client)) == (403, [], False)
    assert logged_in(attempt(provider)[0])


# Who somebody is.


def test_who_was_not_added_is_told_whom_to_ask(provider: ForgedProvider):
    client, answer = attempt(provider, preferred_username="Grace", sub="9")
    assert answer.status_code == 403
    assert "nobody added you; ask an administrator to add grace" in answer.text
    assert not logged_in(client)
    refused = last("log-in-refused")
    assert (refused.who, refused.by, refused.about) == ("somebody", "provider", "grace")


def test_somebody_with_a_password_is_not_bound(provider: ForgedProvider):
    from hallmark.tasks.people.database import writing

    with writing() as connection:
        connection.execute("UPDATE people SET password = 'x' WHERE login = 'root'")
    client, answer = attempt(provider, preferred_username="root")
    assert (answer.status_code, logged_in(client)) == (403, False)
    assert person("root").subject is None


def test_another_subject_does_not_become_somebody_by_their_login(provider: ForgedProvider):
    assert logged_in(attempt(provider, sub="1")[0])
    client, answer = attempt(provider, sub="2")  # renamed to ada at the provider
    assert (answer.status_code, logged_in(client)) == (403, False)
    assert person("ada").subject == f"{provider.issuer} 1"


def test_a_subject_stays_who_it_is_whatever_it_is_called(provider: ForgedProvider):
    attempt(provider, sub="1")
    for renamed in ("root", "ada.king", None):
        client, answer = attempt(provider, sub="1", preferred_username=renamed)
        assert answer.status_code == 303
        assert "Ada Lovelace" in client.get("/me").text
    assert person("root").subject is None


def test_a_subject_of_another_issuer_is_another_one(provider: ForgedProvider):
    vouched_for("https://login.example.org 1", "ada")
    client, answer = attempt(provider, sub="1")
    assert (answer.status_code, logged_in(client)) == (403, False)


def test_whoever_left_is_not_let_in(provider: ForgedProvider):
    inside, _ = attempt(provider)
    leave("ada", by=ROOT)
    assert not logged_in(inside)
    client, answer = attempt(provider)
    assert (answer.status_code, logged_in(client)) == (403, False)


def test_whoever_is_only_invited_may_come_by_the_provider(provider: ForgedProvider):
    invite("ada", by=ROOT)
    assert logged_in(attempt(provider)[0])


@pytest.mark.parametrize(
    ("claims", "known"),
    [
        ({"preferred_username": "ADA"}, True),
        ({"preferred_username": None, "email": "Ada@Agency.example", "email_verified": True}, True),
        ({"preferred_username": None, "email": "ada@agency.example"}, False),
        ({"preferred_username": None, "email": "ada@agency.example", "email_verified": 1}, False),
        (
            {"preferred_username": None, "email": "ada@agency.example", "email_verified": "true"},
            False,
        ),
        ({"preferred_username": "x", "email": "ada@agency.example", "email_verified": True}, False),
        ({"preferred_username": "\u212aim"}, False),
        ({"preferred_username": "ada "}, False),
        ({"preferred_username": "ada\0"}, False),
        ({"preferred_username": ["ada"]}, False),
        ({"preferred_username": {"ada": 1}}, False),
        ({"preferred_username": None}, False),
        ({"preferred_username": "%"}, False),
        ({"preferred_username": "a" * 5000}, False),
    ],
)
def test_a_login_is_a_name_or_else_a_verified_address(
    claims: Claims, known: bool, provider: ForgedProvider
):
    add("kim", "Kim Nobody", [Role.ADMINISTRATOR], by=ROOT)
    add("ada@agency.example", "Ada Lovelace", [Role.VIEWER], by=ROOT)
    client, answer = attempt(provider, **claims)
    assert answer.status_code == (303 if known else 403)
    assert logged_in(client) == known
    assert person("kim").subject is None


# What is wrong with the settings or the provider is said, and no secret.


@pytest.mark.parametrize(
    "name",
    ["HALLMARK_OIDC_CLIENT_ID", "HALLMARK_OIDC_CLIENT_SECRET", "HALLMARK_DESK_URL"],
)
def test_a_setting_that_is_missing_is_named(
    name: str, provider: ForgedProvider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(name)
    answer = browser().get("/log-in/provider")
    assert (answer.status_code, name in answer.text) == (502, True)


@pytest.mark.parametrize(
    "issuer",
    [
        "http://login.example.org",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "https://user:word@login.example.org",
        "https://login.example.org?x=1",
        "https://login.example.org#x",
        "https://",
        "https://[",
        "login.example.org",
        "ftp://login.example.org",
        "file:///etc/passwd",
    ],
)
def test_an_issuer_that_anybody_could_imitate_is_refused(
    issuer: str, provider: ForgedProvider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_OIDC_ISSUER", issuer)
    answer = browser().get("/log-in/provider")
    assert (answer.status_code, "must be an https:// address" in answer.text) == (502, True)
    assert browser().get("/log-in").status_code == 200


@pytest.mark.parametrize(
    ("description", "says"),
    [
        ({"issuer": "https://login.example.org"}, "calls itself https://login.example.org"),
        ({"issuer": None}, "calls itself None"),
        ({"token_endpoint": None}, "lacks authorization_endpoint"),
        ({"token_endpoint": "http://login.example.org/token"}, "not https://"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "not https://"),
        ({"jwks_uri": "http://login.example.org/keys"}, "not https://"),
        ({"jwks_uri": ["x"]}, "not https://"),
    ],
)
def test_a_description_that_cannot_be_right_is_refused(
    description: Claims, says: str, provider: ForgedProvider
):
    provider.description = description
    answer = browser().get("/log-in/provider")
    assert (answer.status_code, says in answer.text) == (502, True)


def test_a_provider_that_does_not_answer_is_named(
    provider: ForgedProvider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_OIDC_ISSUER", "http://127.0.0.1:9")
    answer = browser().get("/log-in/provider")
    assert answer.status_code == 502
    assert "the provider does not answer at http://127.0.0.1:9/" in answer.text


@pytest.mark.parametrize(
    "said",
    [
        (401, b'{"error": "invalid_client"}'),
        (200, b'{"error": "server_error", "error_description": "id_token=leaked"}'),
        (500, b"leaked"),
        (200, b"leaked"),
        (200, b'["leaked"]'),
        (302, b""),
        (200, b'{"access_token": "leaked"}'),
        (200, b'{"id_token": {"leaked": 1}}'),
    ],
)
def test_a_token_endpoint_that_gives_none_is_reported(
    said: tuple[int, bytes], provider: ForgedProvider
):
    provider.answer = said
    client, answer = attempt(provider)
    assert (answer.status_code, logged_in(client)) == (502, False)
    assert "leaked" not in answer.text


def test_a_provider_whose_keys_cannot_be_had_lets_nobody_in(provider: ForgedProvider):
    for published in ([], ["x"], 7):
        provider.published = published
        client, answer = attempt(provider)
        assert (answer.status_code, logged_in(client)) == (403, False)


def test_no_secret_code_or_token_is_in_a_log_or_on_a_page(
    provider: ForgedProvider, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    kept: list[str] = []
    provider.signed = lambda claims: kept.append(provider.sign(claims)) or kept[-1]
    pages = []
    for claims in ({}, {"nonce": "x"}, {"sub": "8"}):
        client = browser()
        brought = provider.log_in(sent(client), **claims)
        caplog.clear()  # of what the test's own browser asked for
        logging.getLogger("httpx").addFilter(_of_the_desk)
        pages.append(back(client, brought).text)
        logging.getLogger("httpx").removeFilter(_of_the_desk)
        for secret in (SECRET, kept[-1], "an-access-token", brought["code"], brought["state"]):
            assert secret not in caplog.text
            assert secret not in "".join(pages)
            assert secret not in json.dumps([dict(one.details) for one in actions()])


def _of_the_desk(record: logging.LogRecord) -> bool:
    return DESK not in record.getMessage()
