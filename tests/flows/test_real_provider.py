"""Logging in by a provider of identities that others wrote, from the button to the session."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.tasks.people import provider as trusted
from hallmark.tasks.people.actions import Actor, actions
from hallmark.tasks.people.database import writing
from hallmark.tasks.people.directory import add, person
from hallmark.tasks.people.rights import Role
from tests.flows.real_provider import CLIENT, PASSWORD, SECRET, real_provider
from tests.flows.services import SECONDS, desk_process, free_port

pytestmark = pytest.mark.service
pytest.importorskip("oauth2_provider", reason="no Django OAuth Toolkit; install hallmark[dev]")

DESK = "http://127.0.0.1:4201"
ROOT = Actor("root", "command line")


@dataclass(frozen=True)
class Provider:
    """A running provider, whose people use browsers."""

    issuer: str

    def log_in(self, client: TestClient, name: str, path: str = "/") -> httpx.Response:
        """What the desk answers once somebody came back from the provider."""
        sent = client.get("/log-in/provider", params={"next": path})
        assert sent.status_code == 303, sent.text
        with httpx.Client(follow_redirects=True, timeout=SECONDS) as theirs:
            page = theirs.get(sent.headers["Location"])
            given = fields(page.text) | {"username": name, "password": PASSWORD}
            page = theirs.post(page.url, data=given)
            answer = theirs.post(
                page.url, data=fields(page.text) | {"allow": "Authorize"}, follow_redirects=False
            )
        assert answer.status_code == 302, answer.text
        assert answer.headers["Location"].startswith(f"{DESK}/log-in/provider/answer?")
        return client.get(answer.headers["Location"])

    def rename(self, old: str, new: str) -> None:
        """What an administrator of the provider may do at any time."""
        asked = {"old": old, "new": new}
        answer = httpx.get(
            f"{self.issuer.removesuffix('/o')}/rename", params=asked, timeout=SECONDS
        )
        assert answer.text == "1"


def fields(page: str) -> dict[str, str]:
    """The hidden fields of a page's form."""
    found = re.findall(r'<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?', page)
    return {name: value.replace("&amp;", "&") for name, value in found}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with real_provider(tmp_path_factory.mktemp("provider"), f"{DESK}/log-in/provider/answer") as at:
        yield Provider(at)


@pytest.fixture
def provider(home: Path, running: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """A provider that the desk trusts, where Ada was added for it."""
    trusted._known.clear()
    for name, value in settings(running.issuer, DESK).items():
        monkeypatch.setenv(name, value)
    introduce()
    return running


def settings(issuer: str, at: str) -> dict[str, str]:
    return {
        "HALLMARK_DESK_URL": at,
        "HALLMARK_OIDC_ISSUER": issuer,
        "HALLMARK_OIDC_CLIENT_ID": CLIENT,
        "HALLMARK_OIDC_CLIENT_SECRET": SECRET,
    }


def introduce() -> None:
    add("root", "Ro Ot", [Role.ADMINISTRATOR], by=ROOT)
    add("ada", "Ada Lovelace", [Role.VIEWER], by=ROOT)


def newcomer() -> TestClient:
    return TestClient(desk, base_url=DESK, follow_redirects=False, headers={"Accept": "text/html"})


def test_somebody_logs_in_and_is_known_by_the_provider(provider: Provider):
    client = newcomer()
    answer = provider.log_in(client, "Ada", "/calendar")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/calendar")
    assert "Ada Lovelace" in client.get("/me").text
    assert (actions()[0].action, actions()[0].who, actions()[0].by) == (
        "logged-in", "ada", "provider",
    )  # fmt: skip
    assert person("ada").subject == f"{provider.issuer} 1"


def test_somebody_whom_nobody_added_is_told_so(provider: Provider):
    client = newcomer()
    answer = provider.log_in(client, "grace")
    assert answer.status_code == 403
    assert "nobody added you; ask an administrator to add grace" in answer.text
    assert client.get("/me").status_code == 303
    assert (actions()[0].action, actions()[0].about) == ("log-in-refused", "grace")


def test_somebody_with_a_password_of_their_own_is_not_bound(provider: Provider):
    with writing() as connection:
        connection.execute("UPDATE people SET password = 'x' WHERE login = 'root'")
    assert provider.log_in(newcomer(), "root").status_code == 403
    assert person("root").subject is None


def test_whoever_is_renamed_at_the_provider_becomes_nobody_else(provider: Provider):
    assert provider.log_in(newcomer(), "Ada").status_code == 303
    provider.rename("Ada", "augusta")
    provider.rename("grace", "ada")
    try:
        assert provider.log_in(newcomer(), "ada").status_code == 403
        client = newcomer()
        assert provider.log_in(client, "augusta").status_code == 303
        assert "Ada Lovelace" in client.get("/me").text
    finally:
        provider.rename("ada", "grace")
        provider.rename("augusta", "Ada")


def test_a_wrong_client_secret_is_said_to_be_one(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_OIDC_CLIENT_SECRET", "another")
    answer = provider.log_in(newcomer(), "Ada")
    assert answer.status_code == 502
    assert "invalid_client; check HALLMARK_OIDC_CLIENT_ID and" in answer.text


def test_a_browser_comes_back_from_another_site_with_its_cookies(
    home: Path, tmp_path: Path, chrome: Browser
):
    port = free_port()
    at = f"http://localhost:{port}"  # another site than the provider's, which is a number
    introduce()
    with (
        real_provider(tmp_path / "p", f"{at}/log-in/provider/answer") as issuer,
        desk_process(tmp_path / "d", port, settings(issuer, at) | {"HALLMARK_HOME": str(home)}),
    ):
        page = chrome.new_page()
        page.goto(f"{at}/calendar")
        page.get_by_role("link", name="Log in with 127.0.0.1").click()
        page.get_by_label("Username").fill("Ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Go in").click()
        page.get_by_role("button", name="Authorize").click()
        page.wait_for_url(f"{at}/calendar")
        cookies = {one["name"]: one for one in page.context.cookies(at)}
        assert cookies["hallmark-desk"]["httpOnly"]
        assert "hallmark-desk-provider" not in cookies
        page.goto(f"{at}/me")
        assert "Ada Lovelace" in page.content()
