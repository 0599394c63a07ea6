"""Somebody without a shell makes the first release of an own table: `make up`, and a browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import example
from tests.flows.server import (
    Installation,
    accept,
    comes_to,
    installation,
    need_postgres,
)
from tests.flows.services import SECONDS, wait_until

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation that nobody has logged in to."""
    need_postgres()
    with installation(tmp_path_factory.mktemp("first")) as running:
        yield running


@pytest.fixture(scope="module")
def page(house: Installation, chrome: Browser) -> Page:
    """The browser of its first administrator, who follows the one address that is printed."""
    page = chrome.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(1000 * SECONDS)
    accept(page, house.first_link)
    return page


def test_a_table_is_released_from_the_browser_alone(
    house: Installation, page: Page, tmp_path: Path
) -> None:
    spec = example.write(tmp_path, release="mine", mechanism={"name": "mst"})
    page.get_by_role("link", name="Accounts").click()
    page.fill("#name", "test-people")
    page.fill("#epsilon", "2")
    page.fill("#delta", "1e-4")
    page.fill("#reason", "the data board, item 1")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="Account test-people")).to_be_visible()

    page.get_by_role("link", name="Specs").click()
    page.set_input_files("#table", tmp_path / "table.csv")
    with page.expect_navigation():
        page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("link", name="Specs").click()
    page.fill("#name", "mine")
    page.set_input_files("#spec", written_for_the_desk(spec, tmp_path))
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator("#others")).to_contain_text("At other epsilons", timeout=1000 * SECONDS)

    page.get_by_role("link", name="mine").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", name="All runs")).to_be_visible()
    wait_until((house.out / "mine").exists, "the release is published")
    comes_to(page, "published")
    expect(page.get_by_role("cell", name=re.compile("by administrator"))).to_be_visible()
    page.screenshot(path=house.folder / "published.png", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("link", name="manifest.json").click()
    assert json.loads(Path(download.value.path()).read_text())["release_id"] == "mine"
    assert house.hallmark("verify", house.out / "mine").returncode == 0

    record = json.loads((house.out / "mine" / "audit-report.json").read_text())
    assert "administrator" in json.dumps(record)  # who ordered it, and no account of the machine
    page.get_by_role("link", name="Accounts").click()
    expect(page.get_by_role("img", name=re.compile(r"[1-9]\d* % spent"))).to_be_visible()
    page.get_by_role("link", name="Log", exact=True).click()
    for action in ("account-opened", "table-uploaded", "spec-saved", "ordered"):
        expect(page.get_by_role("cell", name=action, exact=True)).to_be_visible()


def test_a_run_is_stopped_and_resumed(house: Installation, page: Page, tmp_path: Path) -> None:
    spec = example.write(
        tmp_path,
        rows=1000 * SECONDS,
        release="stopped",
        privacy={"neighbours": "replace_one", "unit": "record", "epsilon": "1/2", "delta": "1e-5"},
    )
    (tmp_path / "table.csv").rename(tmp_path / "larger.csv")
    page.get_by_role("link", name="Specs").click()
    page.set_input_files("#table", tmp_path / "larger.csv")
    with page.expect_navigation():
        page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("link", name="Specs").click()
    page.fill("#name", "stopped")
    page.set_input_files("#spec", written_for_the_desk(spec, tmp_path, "larger.csv"))
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("link", name="stopped").click()
    page.get_by_role("button", name="Start").click()
    run = house.home / "work" / "stopped" / "run.json"
    wait_until(run.exists, "the run has begun")
    with page.expect_navigation():
        page.get_by_role("button", name="Stop its runs").click()
    comes_to(page, "interrupted", "stopped")
    page.get_by_role("button", name="Resume").click()
    wait_until((house.out / "stopped").exists, "the release is published")
    assert house.hallmark("verify", house.out / "stopped").returncode == 0


def written_for_the_desk(spec: Path, folder: Path, table: str = "table.csv") -> Path:
    """The spec with its table where the desk keeps those that are uploaded."""
    text = spec.read_text().replace(str(folder / "table.csv"), table)
    (folder / "for-the-desk.yaml").write_text(text)
    return folder / "for-the-desk.yaml"
