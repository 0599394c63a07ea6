"""The door: whom it lets in, whom it slows down, and whom it keeps nobody else from reaching."""

import json

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from deploy.dashboard import is_open
from hallmark.flows.door import DEVICE_HEADER, Door
from hallmark.tasks.installation import guesses
from hallmark.tasks.installation.guesses import FREE

RIGHT, WRONG = ("operator", "secret"), ("operator", "wrong")
BROWSER = {"Sec-Fetch-Mode": "navigate"}
OURS = "a-token-of-ours"


async def _socket(socket: WebSocket) -> None:
    """As Prefect's server: the first message has the password."""
    await socket.accept()
    said = await socket.receive_json()
    if said.get("token") != ":".join(RIGHT):
        await socket.close(1008)
        return
    await socket.send_json({"type": "auth_success"})
    await socket.close()


@pytest.fixture
def door() -> ASGIApp:
    app = Starlette(
        routes=[
            Route("/", lambda _: PlainTextResponse("let in")),
            Route("/health", lambda _: PlainTextResponse("well")),
            WebSocketRoute("/socket", _socket),
        ]
    )
    return Door(
        app,
        name="test",
        password=lambda: ":".join(RIGHT),
        is_open=lambda _method, path: path == "/health",
        devices=[OURS],
    )


def at(door: ASGIApp, address: str) -> TestClient:
    return TestClient(door, client=(address, 4711))


@pytest.fixture
def guessed(door: ASGIApp) -> ASGIApp:
    """A door at which somebody has guessed too often, from 192.0.2.7."""
    client = at(door, "192.0.2.7")
    for _ in range(FREE):
        assert client.get("/", auth=WRONG).status_code == 401
    return door


def test_ten_wrong_passwords_in_a_row_are_slowed_down(door: ASGIApp):
    client = at(door, "192.0.2.7")
    answers = [client.get("/", auth=("operator", f"guess-{i}")) for i in range(10)]
    assert [answer.status_code for answer in answers] == [401] * FREE + [429] * (10 - FREE)
    assert {answer.headers["Retry-After"] for answer in answers[FREE:]} == {"1"}
    assert client.get("/health").status_code == 200


def test_the_right_one_is_no_way_to_learn_that_it_is_right_while_waiting(guessed: ASGIApp):
    assert at(guessed, "192.0.2.7").get("/", auth=RIGHT).status_code == 429


def test_after_the_wait_the_right_one_is_heard(guessed: ASGIApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guessed, "_guesses", guesses.Guesses(lambda: 0.0))
    assert at(guessed, "192.0.2.7").get("/", auth=RIGHT).status_code == 200


@pytest.mark.parametrize("address", ["192.0.2.8", "2001:db8::1", "a-name"])
def test_nobody_at_another_address_is_kept_out(address: str, guessed: ASGIApp):
    assert at(guessed, address).get("/", auth=RIGHT).status_code == 200


def test_another_address_of_the_same_network_is_the_same_guesser(door: ASGIApp):
    for number in range(FREE):
        at(door, f"2001:db8::{number + 1}").get("/", auth=WRONG)
    assert at(door, "2001:db8::ffff:1").get("/", auth=RIGHT).status_code == 429
    assert at(door, "2001:db8:0:1::1").get("/", auth=RIGHT).status_code == 200


def test_names_that_there_are_not_keep_nobody_out(door: ASGIApp):
    client = at(door, "192.0.2.7")
    for number in range(3 * FREE):
        client.get("/", auth=(f"user-{number}", "x"))
    assert client.get("/", auth=("another", "x")).status_code == 429
    assert client.get("/", auth=RIGHT).status_code == 200


def test_a_browser_that_was_let_in_before_is_kept_out_by_nobody(door: ASGIApp):
    browser = at(door, "192.0.2.7")
    first = browser.get("/", auth=RIGHT, headers=BROWSER)
    assert "HttpOnly" in first.headers["Set-Cookie"]
    assert "SameSite=Strict" in first.headers["Set-Cookie"]
    for _ in range(2 * FREE):
        at(door, "192.0.2.7").get("/", auth=WRONG)
    again = browser.get("/", auth=RIGHT, headers=BROWSER)
    assert (again.status_code, "Set-Cookie" in again.headers) == (200, False)
    for _ in range(FREE):  # its cookie is no password, and no way to guess
        assert browser.get("/", auth=WRONG).status_code == 401
    assert browser.get("/", auth=RIGHT).status_code == 429


def test_a_made_up_cookie_or_token_makes_no_device(guessed: ASGIApp):
    client = at(guessed, "192.0.2.7")
    for given in ({"Cookie": "hallmark-test-device=x"}, {DEVICE_HEADER: "x"}, {"Cookie": ";;=,"}):
        assert client.get("/", auth=RIGHT, headers=given).status_code == 429


def test_processes_of_the_installation_are_kept_out_by_nobody(guessed: ASGIApp):
    client = at(guessed, "192.0.2.7")
    ours = {DEVICE_HEADER: OURS}
    assert client.get("/", auth=RIGHT, headers=ours).status_code == 200
    assert client.get("/", headers=ours).status_code == 401


def heard(door: ASGIApp, token: object) -> bool:
    """Whether a socket is opened with that as its password."""
    with at(door, "192.0.2.7").websocket_connect("/socket") as socket:
        socket.send_text(json.dumps({"type": "auth", "token": token}))
        try:
            return bool(socket.receive_json()["type"] == "auth_success")
        except WebSocketDisconnect:
            return False


def test_passwords_of_sockets_are_counted_with_the_others(door: ASGIApp):
    assert heard(door, "operator:secret")
    for number in range(FREE):
        assert not heard(door, f"operator:guess-{number}")
    assert not heard(door, "operator:secret")
    assert at(door, "192.0.2.7").get("/", auth=RIGHT).status_code == 429


@pytest.mark.parametrize("token", [None, 7, "", "no colon", "ünïcode:✓"])
def test_what_is_no_password_opens_no_socket(token: object, door: ASGIApp):
    assert not heard(door, token)


@pytest.mark.parametrize(
    "header", ["Basic", "Basic %%%", "Basic w6Q=:", "Bearer secret", "Basic /w==", ""]
)
def test_what_is_no_password_lets_nobody_in(header: str, door: ASGIApp):
    answer = at(door, "192.0.2.9").get("/", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Basic"


@pytest.mark.parametrize(
    ("method", "path", "opens"),
    [
        ("GET", "/", True),
        ("GET", "/runs/flow-run/1", True),
        ("GET", "/ui-settings", True),
        ("GET", "/api/health", True),
        ("POST", "/api/health", False),
        ("GET", "/api/version", False),
        ("GET", "/api", False),
        ("GET", "//api/flows", False),
        ("GET", "/docs", False),
        ("GET", "/docs/oauth2-redirect", False),
        ("GET", "/redoc", False),
        ("OPTIONS", "/api/flows/filter", True),  # a browser asks whether it may ask
        ("GET", "/openapi.json", False),
        ("GET", "/api/openapi.json", False),
    ],
)
def test_of_the_dashboard_the_files_alone_are_open(method: str, path: str, opens: bool):
    assert is_open(method, path) is opens
