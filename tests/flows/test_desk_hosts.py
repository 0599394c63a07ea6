"""The names that the desk answers to, and the address in the links that it gives."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.flows.desk.hosts import answers_to
from hallmark.tasks.people import directory
from hallmark.tasks.people.rights import Role
from tests.flows.people import TEST, as_somebody, log_in


@pytest.fixture(autouse=True)
def named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation behind a proxy, which its own network knows by two more names."""
    monkeypatch.setenv("HALLMARK_DESK_URL", "https://desk.example.org:8443/")
    monkeypatch.setenv("HALLMARK_DESK_HOSTS", "desk, desk.hallmark.svc")


def answered(host: str | None, server: tuple[str, int] | None = ("10.0.0.7", 4201)) -> bool:
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    return answers_to({"type": "http", "headers": headers, "server": server})


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LocalHost:4201", "localhost:9000", "127.0.0.1:4201", "127.8.8.8",
        "[::1]:4201", "desk.example.org", "DESK.example.org:8443", "desk:4201", "desk.hallmark.svc",
        "10.0.0.7:4201",
    ],
)  # fmt: skip
def test_the_desk_answers_to_its_names_and_to_the_address_of_a_request(host: str):
    assert answered(host)


@pytest.mark.parametrize(
    "host",
    [
        None, "", "evil.example", "localhost.evil.example", "desk.example.org.evil.example",
        "127.0.0.1.evil.example", "evil.example@localhost", "localhost@evil.example", "localhost/x",
        "localhost evil.example", "10.0.0.8:4201", "[fe80::1]", "[::1", "0x7f000001", "ünïcode",
        "localhost:x", ":4201", "testserver",
    ],
)  # fmt: skip
def test_the_desk_answers_to_no_other(host: str | None):
    assert not answered(host)


def test_an_address_is_known_whichever_way_it_is_written():
    assert answered("10.0.0.7", ("::ffff:10.0.0.7", 4201))
    assert answered("[2001:db8::7]:4201", ("2001:db8:0::7", 4201))
    assert not answered("10.0.0.7", None)


def test_a_page_whose_name_leads_here_sees_nothing():
    rebound = TestClient(desk, base_url="http://evil.example", headers={"Accept": "text/html"})
    here = {"Origin": "http://evil.example"}
    form = {"login": "ada", "password": "a", "code": "1"}
    for path in ("/log-in", "/health", "/", "/static/x"):
        assert rebound.get(path).status_code == 421, path
    answer = rebound.post("/log-in", data=form, headers=here)
    assert answer.status_code == 421
    assert "the desk is not reached as evil.example" in answer.text
    assert rebound.get("/health", headers={"Host": "<b>\x1b"}).status_code == 421
    assert rebound.get("/", headers=as_somebody(Role.VIEWER)).status_code == 421


def test_a_link_leads_to_the_address_of_the_settings(monkeypatch: pytest.MonkeyPatch):
    directory.add("ada", "Ada A", [Role.ADMINISTRATOR], by=TEST)
    monkeypatch.setenv("HALLMARK_DESK_URL", "http://desk.example.org:8443/")

    def link(client: TestClient) -> str:
        shown = client.post("/people/ada/invite", data={"csrf": log_in(client, "ada")}).text
        found = re.search(r"https?://[^<]+/invitation/", shown)
        assert found is not None
        return found[0]

    assert (
        link(TestClient(desk, base_url="http://desk")) == "http://desk.example.org:8443/invitation/"
    )
    monkeypatch.delenv("HALLMARK_DESK_URL")
    assert link(TestClient(desk, base_url="http://desk")) == "http://desk/invitation/"
