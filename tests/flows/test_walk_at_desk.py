"""The whole walk of a steward without a shell: an own messy table, a browser, a published release.

Every click, every field that is filled or chosen and every file counts as one action; what only
waits, or looks, counts nothing. Adding people, the account of the people that the table is about,
and an approver's key are there already, since no release needs them anew.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from ruamel.yaml import YAML

from tests import messy
from tests.flows.server import Installation, accept, need_postgres
from tests.flows.server import agency as agency_of
from tests.flows.services import SECONDS
from tests.flows.test_desk_questions import LINES

pytestmark = pytest.mark.service

SIZES = {"screen": (1280, 900), "telephone": (390, 844)}
RELEASED = 600 * 1000  # milliseconds in which a release is made
MOST = 40  # actions from the first page to the published release, by two people
ABOUT = {
    "title": "How people live", "population.account": "test-people",
    "population.description": "adults in private households", "data.expected_rows": "20000",
    "data.record": "one person", "privacy.epsilon": "1", "privacy.delta": "1e-5",
    "every.public": "codebook of the survey, third edition", "every.outside": "refuse",
}  # fmt: skip
STATED = {
    "about.intended_use": "teaching, and the development of analyses",
    "about.supported_uses": "means, shares, and tables of two columns",
    "about.unsupported_uses": "statements about single persons",
    "about.schedule": "one-shot", "about.data_source": "static",
    "about.legal_basis": "Statistics Act, section 12", "about.clearance": "DRB-2026-017",
    "about.snapshot": "2019-12-31", "about.collection": "a survey by post",
    "about.tuning.on": "nothing",
}  # fmt: skip


@dataclass
class Walker:
    """Somebody at a browser, of whom every action counts."""

    page: Page
    folder: Path
    actions: int = 0
    began: float = field(default_factory=time.monotonic)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self._complain(said.type, said.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def _complain(self, kind: str, text: str) -> None:
        if kind == "error":
            self.faults.append(text)

    def clicks(self, name: str, role: str = "button") -> None:
        """Press a button, or follow a link, and wait for the page that it leads to."""
        with self.page.expect_navigation():
            self.page.get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]
        self.actions += 1

    def picks(self, label: str, file: Path) -> None:
        """Choose a file."""
        self.page.get_by_label(label).set_input_files(file)
        self.actions += 1

    def fills(self, name: str, value: str) -> None:
        """Fill a field in, or choose in one."""
        found = self.page.locator(f'[name="{name}"], [id="{name}"]')
        if found.evaluate("one => one.tagName") == "SELECT":
            found.select_option(value)
        else:
            found.fill(value)
        self.actions += 1

    def says(self, column: str, line: str) -> None:
        """Say what may stand in a column."""
        row = self.page.locator("table.lines tr").filter(
            has=self.page.get_by_role("rowheader", name=column, exact=True)
        )
        row.get_by_role("textbox").fill(line)
        self.actions += 1

    def looks(self, name: str) -> None:
        """Look at the page at both sizes: nothing is amiss there, and a picture is kept."""
        for size, (width, height) in SIZES.items():
            self.page.set_viewport_size({"width": width, "height": height})
            found = Axe().run(self.page).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (name, size)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width, (name, size)
            self.page.screenshot(path=self.folder / f"{name}-{size}.png", full_page=True)
        self.page.set_viewport_size(dict(zip(("width", "height"), SIZES["screen"], strict=True)))  # type: ignore[arg-type]

    @property
    def seconds(self) -> float:
        """Since the walk began."""
        return time.monotonic() - self.began


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An agency with an account for the table's people, which lets releases out without a gate."""
    need_postgres()
    with agency_of(tmp_path_factory.mktemp("walk")) as running:
        yield running


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return messy.write(tmp_path_factory.mktemp("table"))


def somebody(house: Installation, chrome: Browser, login: str, *roles: str) -> Page:
    """The first page of somebody who has these roles and logged in."""
    given = [word for role in roles for word in ("--role", role)]
    made = house.hallmark("people", "add", login, "--name", login.title(), *given)
    assert made.returncode == 0, made.stderr
    page = chrome.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(1000 * SECONDS)
    accept(page, made.stdout.split()[-1])
    return page


def prepares(walker: Walker, table: Path, release: str, *, stated: dict[str, str]) -> None:
    """Bring the table, say what is publicly known of it, and look at the plan."""
    page = walker.page
    walker.clicks("Specs", "link")
    walker.looks("specs")
    walker.picks("CSV (also", table)
    walker.clicks("Upload")
    expect(page.locator("#encoding")).to_have_value("windows-1252")
    expect(page.locator("#date_format")).to_have_value("%d/%m/%Y")
    expect(page.locator("#release")).to_have_value(release)
    expect(page.get_by_role("region", name="The first rows")).to_contain_text("04109")
    walker.looks("table")
    walker.clicks("Confirm, and begin a spec")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"All questions about {release}")
    walker.looks("questions")
    for name, value in {**ABOUT, **stated}.items():
        walker.fills(name, value)
    for column, line in LINES.items():
        walker.says(column, line)
    walker.looks("questions-filled")
    walker.clicks("Save")
    expect(page.get_by_text("Nothing is left to be answered, 12 of 12")).to_be_visible()
    expect(page.locator("#plan")).to_contain_text("Column by column", timeout=RELEASED)
    walker.looks("plan")


def watches(walker: Walker, state: str) -> None:
    """Watch a release, without loading its page, until it has come to a state."""
    standing = walker.page.get_by_label("Where it stands").locator(".state")
    expect(standing).to_have_text(state, timeout=RELEASED)
    walker.page.wait_for_load_state("networkidle")


@pytest.mark.slow
def test_one_person_without_a_shell_releases_an_own_table(
    house: Installation, chrome: Browser, table: Path
) -> None:
    page = somebody(house, chrome, "stella", "steward", "operator")
    walker = Walker(page, house.folder)
    prepares(walker, table, "enquete", stated={})
    walker.clicks("Start the release")
    expect(page.get_by_role("heading", level=1)).to_have_text("enquete")
    walker.looks("ordered")
    watches(walker, "published")
    walker.looks("published")
    with page.expect_download() as download:
        page.get_by_role("link", name="manifest.json").click()
    walker.actions += 1
    assert json.loads(Path(download.value.path()).read_text())["release_id"] == "enquete"
    assert house.hallmark("verify", house.out / "enquete").returncode == 0
    print(f"one person: {walker.actions} actions, {walker.seconds:.0f} seconds")
    assert walker.faults == []
    assert walker.actions <= 30


def test_the_keyboard_alone_is_enough(house: Installation, chrome: Browser, tmp_path: Path) -> None:
    """From the first page to a published release of a small table, without a mouse."""
    page = somebody(house, chrome, "kim", "steward", "operator")
    rng = np.random.default_rng(3)
    table = {"age": rng.integers(0, 100, 4000), "region": rng.choice(["01", "02"], 4000)}
    pd.DataFrame(table).to_csv(tmp_path / "keys.csv", index=False)
    goes(page, "Specs")
    reaches(page, "CSV (also .csv.gz)")
    # The dialogue that Enter opens there is the system's, and no part of the page.
    page.set_input_files("#table", tmp_path / "keys.csv")
    goes(page, "Upload")
    goes(page, "Confirm, and begin a spec")
    types(page, "Title", "By keyboard")
    types(page, "Account", "test-people")
    types(page, "Who they are", "adults")
    types(page, "Number of rows, about", "4000")
    types(page, "What a row stands for", "one person")
    types(page, "Epsilon", "1")
    types(page, "Delta", "1e-6")
    types(page, "The document that states", "the codebook")
    types(page, "What lies outside", "refuse")
    types(page, "age", "0 to 99")
    types(page, "region", "01 = north, 02 = south")
    goes(page, "Save")
    expect(page.locator("#plan")).to_contain_text("Column by column", timeout=RELEASED)
    goes(page, "Start the release")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    standing = page.get_by_label("Where it stands").locator(".state")
    expect(standing).to_have_text("published", timeout=RELEASED)
    goes(page, "manifest.json", leads=False)


def reaches(page: Page, name: str, *, is_field: bool = False) -> None:
    """Press Tab until the field, button or link of this name has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        told, tag = page.evaluate(NAMED)
        if told.startswith(name) and (tag in FIELDS or not is_field):
            ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert ring != "none", f"nothing shows that {name} has the focus"
            return
    raise AssertionError(f"no press of Tab reaches {name}")


NAMED = """(() => {
  const one = document.activeElement;
  const by = one.getAttribute("aria-labelledby");
  const label = by ? document.getElementById(by) : one.labels?.[0];
  return [(label ?? one).innerText?.trim() ?? "", one.tagName];
})()"""
"""Name and tag of what has the focus."""
FIELDS = ("INPUT", "TEXTAREA", "SELECT")


def types(page: Page, name: str, text: str) -> None:
    """Reach a field and type into it; in a list of choices, what the choice begins with."""
    reaches(page, name, is_field=True)
    page.keyboard.type(text)


def goes(page: Page, name: str, *, leads: bool = True) -> None:
    """Reach a button or a link, and press Enter there."""
    reaches(page, name)
    with page.expect_navigation() if leads else page.expect_download():
        page.keyboard.press("Enter")


def test_two_people_release_it_through_a_gate(
    house: Installation, chrome: Browser, table: Path
) -> None:
    """One prepares and starts, the other approves with a passkey; nobody does both."""
    approver = somebody(house, chrome, "rita", "reviewer")
    own = with_passkey(house, approver)
    steward = somebody(house, chrome, "sam", "steward", "operator")
    own |= with_passkey(house, steward)
    at_gates(house, own)
    second = table.with_name("second.csv")
    second.write_bytes(table.read_bytes())
    steward.goto(house.desk)
    walker = Walker(steward, house.folder)
    prepares(walker, second, "second", stated=STATED)
    walker.clicks("Start the release")
    watches(walker, "waiting")
    expect(steward.get_by_role("heading", name="The release to decide about")).to_be_visible()
    walker.looks("waiting")
    before = walker.actions
    steward.fill("#reason", "I find it plausible")
    steward.get_by_role("button", name="Approve", exact=True).click()
    expect(steward.locator("#answer.bad")).to_contain_text("nobody decides about what they started")

    approver.goto(house.desk)
    other = Walker(approver, house.folder, began=walker.began)
    expect(approver.get_by_text("decide about its disclosure as reviewer")).to_be_visible()
    other.looks("what-waits")
    other.clicks("How people live", "link")
    report = approver.frame_locator("iframe").get_by_role("heading", level=1)
    expect(report).to_contain_text("How people live")
    expect(approver.get_by_text("Not recorded")).to_have_count(0)
    other.fills("reason", "the figures are plausible")
    approver.get_by_role("button", name="Approve", exact=True).click()
    other.actions += 1
    expect(approver.locator("#answer.good")).to_contain_text("The release continues")
    watches(other, "published")
    other.looks("published-to-the-approver")
    actions = before + other.actions
    assert house.hallmark("verify", house.out / "second").returncode == 0
    said = json.loads((house.out / "second" / "approvals.json").read_text())
    assert "rita" not in json.dumps(said)  # the person's name is published, and no login
    print(f"two people: {actions} actions, {walker.seconds:.0f} seconds")
    assert [one for one in walker.faults if "409" not in one] == []  # the refusal of their own
    assert other.faults == []
    assert actions <= MOST


def with_passkey(house: Installation, page: Page) -> dict[str, str]:
    """Make a passkey of somebody who is at their first page; the key by their login."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    verifies = {"hasUserVerification": True, "isUserVerified": True}
    options = {"protocol": "ctap2", "transport": "internal", **verifies}
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    login = page.locator("header .who a").inner_text().lower()
    page.goto(f"{house.desk}/keys")
    page.fill("#passkey-name", login.title())
    page.get_by_text("Make a passkey").click()
    line = page.locator("#make-passkey .line")
    expect(line).to_contain_text("key: passkey:localhost:")
    return {login: line.inner_text().removeprefix("key: ")}


def at_gates(house: Installation, keys: dict[str, str]) -> None:
    """Let these people approve every release before it is published."""
    file = house.home / "profile.yaml"
    profile = YAML().load(file)
    profile["approvers"] = [
        {"name": f"{login.title()} Example", "login": login, "roles": ["reviewer"], "key": key}
        for login, key in keys.items()
    ]
    profile["approvals"] = {"disclosure": ["reviewer"]}
    YAML().dump(profile, file)
