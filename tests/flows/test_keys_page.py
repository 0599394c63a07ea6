"""The desk's page of keys: what it shows, and keys that are made and used in a real browser."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import Page, expect
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approver_keys import approver_key, plain_text
from hallmark.tasks.gates.decision_keys import is_genuine
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.installation import key_register
from hallmark.tasks.installation.signing import private_key
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.people import directory, sessions
from hallmark.tasks.people.rights import Role
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.people import PASSPHRASE, TEST, as_somebody, introduce
from tests.flows.server import browser, need_browser
from tests.flows.services import SECONDS, desk_process, free_port
from tests.passkeys import Passkey

NOW = datetime.now(UTC).replace(microsecond=0)


def test_the_page_shows_every_key_and_its_dates(home: Path, tmp_path: Path):
    introduce(tmp_path / "keys", home)
    passkey = Passkey().text
    _register(home, "Bo", passkey)
    gone = plain_text(Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    for person, key in (("Bo", passkey), ("Dee", gone)):
        key_register.add(key, person=person, since=NOW - timedelta(days=9))
    key_register.revoke(approver_key(gone).fingerprint, at=NOW, reason="left")
    page = keys_page().text
    assert page.count("not in the register") == 3  # Ada, Cy and Ola
    assert "passkey (ES256) of desk.example.org" in page
    assert "Dee, not in the profile" in page
    assert approver_key(gone).fingerprint in page
    assert "<strong>revoked</strong>" in page
    assert "started without the signing key" in page
    assert not (home / "demonstration-key.pem").exists()


def test_the_page_shows_the_key_that_signs_here(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    key = introduce(tmp_path / "keys", home)["Ada"]
    monkeypatch.setenv("HALLMARK_SIGNING_KEY_FILE", str(key))
    page = keys_page().text
    assert "in use here, from the file" in page
    monkeypatch.setenv("HALLMARK_SIGNING_KEY_FILE", "/nowhere.pem")
    assert "/nowhere.pem): cannot be read" in keys_page().text


def test_the_page_runs_no_script_of_its_own(home: Path):
    answer = keys_page()
    assert "<script>" not in answer.text
    assert "style=" not in answer.text
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def keys_page() -> httpx.Response:
    """The page as somebody without any right beyond seeing gets it."""
    return TestClient(desk, headers=as_somebody(Role.VIEWER)).get("/keys")


@pytest.fixture(scope="module")
def chromium() -> str:
    return need_browser()


@pytest.fixture
def port(home: Path, tmp_path: Path, chromium: str) -> Iterator[int]:
    """The port of a desk that runs on this machine."""
    port = free_port()
    home.mkdir(parents=True, exist_ok=True)
    with desk_process(tmp_path / "desk", port, {"HALLMARK_HOME": str(home)}):
        yield port


@pytest.fixture
def page(chromium: str, port: int) -> Iterator[Page]:
    """A browser with an authenticator that verifies its user, and no complaint about a page."""
    with browser(chromium) as running:
        page = running.new_page()
        page.set_default_timeout(1000 * SECONDS)
        reviewer = directory.add("rita", "Rita R", [Role.REVIEWER], by=TEST)
        for host in ("localhost", "127.0.0.1"):
            cookie = {"name": "hallmark-desk", "value": sessions.begin(reviewer, TEST)}
            page.context.add_cookies([{**cookie, "url": f"http://{host}:{port}"}])
        complaints: list[str] = []
        page.on("console", lambda said: complaints.append(said.text))
        authenticator = page.context.new_cdp_session(page)
        authenticator.send("WebAuthn.enable")
        authenticator.send(
            "WebAuthn.addVirtualAuthenticator",
            {
                "options": {
                    "protocol": "ctap2",
                    "transport": "internal",
                    "hasUserVerification": True,
                    "isUserVerified": True,
                }
            },
        )
        yield page
        assert not [one for one in complaints if "Content Security Policy" in one]


@pytest.mark.service
def test_a_passkey_is_made_registered_and_opens_a_gate(
    hallmark: Hallmark, home: Path, tmp_path: Path, port: int, page: Page
):
    introduce(tmp_path / "keys", home)
    approvals = {"plan": ["methodologist"]}
    spec = example.write(tmp_path / "data", mechanism={"name": "mst"}, approvals=approvals)
    example.open_account()
    assert hallmark("release", spec, "--out", tmp_path / "out").code == 7

    page.goto(f"http://localhost:{port}/keys")
    page.fill("#passkey-name", "Ada")
    page.click("text=Make a passkey")
    expect(page.locator("#make-passkey .line")).to_contain_text("key: passkey:localhost:")
    made = page.locator("#make-passkey .line").inner_text().removeprefix("key: ")
    print_ = page.locator("#make-passkey .fingerprint").inner_text()
    assert print_ == approver_key(made).fingerprint
    _register(home, "Ada", made)
    page.goto(f"http://localhost:{port}/keys")
    expect(page.get_by_text(print_)).to_be_visible()

    page.goto(f"http://localhost:{port}/releases/test-release")
    page.select_option("#person", label="Ada")
    expect(page.locator("#passkey")).to_be_visible()
    expect(page.locator("#key")).to_be_hidden()
    page.fill("#reason", "the plan is sound — naïve, but sound ✓")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator("#answer.good")).to_contain_text("Recorded.")

    (one,) = History.in_ledger(Ledger(ledger_url()), "test-release").rounds
    assert [signed.key for signed in one.decisions] == [made]
    assert is_genuine(one.decisions[0])
    assert hallmark("release", spec, "--out", tmp_path / "out", "--resume").code == 0
    verified = hallmark("verify", tmp_path / "out" / "test-release")
    assert (verified.code, "approvals: signed, complete" in verified.out) == (0, True)


@pytest.mark.service
def test_whoever_has_a_key_in_a_file_decides_with_that(
    hallmark: Hallmark, home: Path, tmp_path: Path, port: int, page: Page
):
    cy = introduce(tmp_path / "keys", home)["Cy"]
    _register(home, "Ada", Passkey(rp_id="localhost").text)
    approvals = {"plan": ["reviewer"]}
    spec = example.write(tmp_path / "data", mechanism={"name": "mst"}, approvals=approvals)
    example.open_account()
    assert hallmark("release", spec, "--out", tmp_path / "out").code == 7
    page.goto(f"http://localhost:{port}/releases/test-release")
    for name, has_file in (("Ada", False), ("Cy", True)):
        page.select_option("#person", label=name)
        expect(page.locator("#key")).to_be_visible(visible=has_file)
        expect(page.locator("#passkey")).to_be_visible(visible=not has_file)
    page.fill("#reason", "the plan is sound")
    page.set_input_files("#key", cy)
    page.fill("#passphrase", PASSPHRASE)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator("#answer.good")).to_contain_text("Recorded.")


@pytest.mark.service
def test_a_key_file_is_made_that_the_command_line_opens(tmp_path: Path, port: int, page: Page):
    page.goto(f"http://localhost:{port}/keys")
    page.fill("#file-name", "Cy Example")
    page.fill("#file-passphrase", "correct horse battery")
    page.fill("#file-again", "correct horse bakery")
    page.click("text=Make a key file")
    expect(page.locator("#make-file .bad")).to_contain_text("the two passphrases differ")
    page.fill("#file-again", "correct horse battery")
    with page.expect_download() as download:
        page.click("text=Make a key file")
    assert download.value.suggested_filename == "cy-example.pem"
    download.value.save_as(tmp_path / "cy.pem")
    expect(page.locator("#make-file .line")).to_contain_text("key: ")
    shown = page.locator("#make-file .line").inner_text()
    assert b"ENCRYPTED" in (tmp_path / "cy.pem").read_bytes()
    opened = private_key(tmp_path / "cy.pem", lambda: "correct horse battery")
    text = plain_text(opened.public_key().public_bytes_raw())
    assert shown == f"key: {text}"
    print_ = page.locator("#make-file .fingerprint").inner_text()
    assert print_ == approver_key(text).fingerprint


@pytest.mark.service
def test_at_an_address_the_page_says_why_it_makes_no_passkey(port: int, page: Page):
    page.goto(f"http://127.0.0.1:{port}/keys")
    expect(page.locator("#obstacle")).to_contain_text("A passkey belongs to a host name")
    page.fill("#passkey-name", "Ada")
    page.click("text=Make a passkey")
    expect(page.locator("#make-passkey .bad")).to_contain_text(f"http://localhost:{port}")


def _register(home: Path, name: str, key: str) -> None:
    """Give somebody this key in the profile."""
    profile = YAML().load(home / "profile.yaml")
    for person in profile["approvers"]:
        if person["name"] == name:
            person["key"] = key
    YAML().dump(profile, home / "profile.yaml")
