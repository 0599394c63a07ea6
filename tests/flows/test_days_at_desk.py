"""The day of each role, in a browser of its own: six people make one release, and nobody does, or
sees, what is somebody else's."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from hallmark.tasks.people.rights import BY_COMMAND_ALONE, Role
from tests import example
from tests.flows.server import Installation, accept, comes_to
from tests.flows.services import SECONDS
from tests.tasks.statements import ABOUT

pytestmark = pytest.mark.service

SEEN = {
    Role.VIEWER: ["Releases", "Calendar", "Compare", "Keys", "Docs"],
    Role.MONITOR: ["Releases", "Calendar", "Compare", "Accounts", "Keys", "Docs"],
    Role.STEWARD: ["Releases", "Specs", "Calendar", "Compare", "Accounts", "Keys", "Docs"],
    Role.OPERATOR: [
        "Releases", "Specs", "Calendar", "Compare", "Accounts", "Keys", "Docs", "Engine",
    ],
    Role.REVIEWER: ["Releases", "Calendar", "Compare", "Accounts", "Keys", "Docs"],
    Role.AUDITOR: ["Releases", "Calendar", "Compare", "Accounts", "Keys", "Log", "Docs"],
    Role.GOVERNOR: ["Releases", "Calendar", "Compare", "Keys", "Agency", "Log", "Docs"],
    # Whom `make up` invites is also steward and operator, so that one person can begin alone.
    Role.ADMINISTRATOR: [
        "Releases", "Specs", "Calendar", "Compare", "Accounts", "Keys", "People", "Log", "Docs",
        "Engine",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def people(agency: Installation, chrome: Browser) -> dict[Role, Page]:
    """Everybody's browser: the administrator follows the printed link, adds the others and sends
    each the link that the page shows. Governors are added by whoever has the machine."""
    administrator = _page(chrome)
    accept(administrator, agency.first_link)
    pages = {Role.ADMINISTRATOR: administrator}
    for role in Role:
        if role not in pages:
            pages[role] = _page(chrome)
            is_by_command = role in BY_COMMAND_ALONE
            accept(pages[role], by_command(agency) if is_by_command else added(administrator, role))
    return pages


def _page(chrome: Browser) -> Page:
    page = chrome.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(1000 * SECONDS)
    return page


def by_command(agency: Installation) -> str:
    """The link for a governor, as the command line prints it."""
    known = ("--name", "The governor", "--role", Role.GOVERNOR)
    made = agency.hallmark("people", "add", "the-governor", *known)
    assert made.returncode == 0, made.stderr
    (link,) = re.findall(r"http://\S+", made.stdout)
    return str(link)


def added(administrator: Page, role: Role) -> str:
    """The link for somebody who is added with a role."""
    administrator.get_by_role("link", name="People").click()
    administrator.fill("#login", f"the-{role}")
    administrator.fill("#name", f"The {role}")
    form = administrator.locator('form[action="/people"]')
    form.get_by_role("checkbox", name=role, exact=True).check()
    administrator.get_by_role("button", name="Add, and make a link").click()
    return administrator.locator("code.seed").inner_text()


def test_everybody_finds_what_is_theirs_and_nothing_else(people: dict[Role, Page]) -> None:
    for role, page in people.items():
        names = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
        assert names == SEEN[role], role
    people[Role.VIEWER].goto(_address(people[Role.VIEWER], "/log"))
    expect(
        people[Role.VIEWER].get_by_text("this needs the right to read and export the log")
    ).to_be_visible()
    people[Role.VIEWER].goto(_address(people[Role.VIEWER], "/"))


@pytest.mark.slow  # the walks at the desk make whole releases, too
def test_six_people_make_a_release(
    agency: Installation, people: dict[Role, Page], tmp_path: Path
) -> None:
    prepare(people[Role.STEWARD], tmp_path)
    expect(people[Role.STEWARD].get_by_role("button", name="Start")).to_have_count(0)

    operator = people[Role.OPERATOR]
    at(operator, "survey")
    with operator.expect_navigation():
        operator.get_by_role("button", name="Start").click()
    comes_to(operator, "waiting")
    expect(operator.get_by_role("heading", name="Decide", exact=True)).to_have_count(0)

    viewer = people[Role.VIEWER]
    at(viewer, "survey")
    expect(viewer.get_by_text("at the disclosure gate for: reviewer")).to_be_visible()
    expect(viewer.locator("iframe")).to_have_count(0)

    decide(people[Role.REVIEWER], agency)
    comes_to(viewer, "published")
    with viewer.expect_download() as download:
        viewer.get_by_role("link", name="manifest.json").click()
    assert json.loads(Path(download.value.path()).read_text())["release_id"] == "survey"
    assert agency.hallmark("verify", agency.out / "survey").returncode == 0

    auditor = people[Role.AUDITOR]
    auditor.get_by_role("link", name="Log", exact=True).click()
    for who, did in (
        ("the-steward", "table-uploaded"),
        ("the-steward", "spec-saved"),
        ("the-operator", "ordered"),
        ("the-reviewer", "decided"),
    ):
        row = auditor.get_by_role("row").filter(has_text=who).filter(has_text=did)
        expect(row.first).to_be_visible()
    with auditor.expect_download() as download:
        auditor.get_by_role("link", name="Export all of it").click()
    checked = agency.hallmark("people", "check-log", download.value.path())
    assert checked.returncode == 0, checked.stderr


def test_whoever_left_is_out_at_once(people: dict[Role, Page]) -> None:
    administrator, viewer = people[Role.ADMINISTRATOR], people[Role.VIEWER]
    administrator.get_by_role("link", name="People").click()
    administrator.on("dialog", lambda dialog: dialog.accept())
    row = administrator.get_by_role("row").filter(has_text="the-viewer")
    row.get_by_role("button", name="Leaves").click()
    expect(row.get_by_text(re.compile(r"left \d{4}-"))).to_be_visible()
    viewer.reload()
    expect(viewer.get_by_role("heading", name="Log in")).to_be_visible()


def prepare(steward: Page, folder: Path) -> None:
    """Upload a table, write a spec of it, and look at its plan."""
    spec = example.write(
        folder,
        release="survey",
        mechanism={"name": "mst"},
        about=ABOUT,
        approvals={"disclosure": ["reviewer"]},
    )
    text = spec.read_text().replace(str(folder / "table.csv"), "table.csv")
    (folder / "survey.yaml").write_text(text)
    steward.get_by_role("link", name="Specs").click()
    steward.set_input_files("#table", folder / "table.csv")
    with steward.expect_navigation():
        steward.get_by_role("button", name="Upload", exact=True).click()
    steward.get_by_role("link", name="Specs").click()
    steward.fill("#name", "survey")
    steward.set_input_files("#spec", folder / "survey.yaml")
    steward.get_by_role("button", name="Begin").click()
    steward.get_by_role("button", name="Show the plan").click()
    expect(steward.locator("#others")).to_contain_text("At other epsilons", timeout=1000 * SECONDS)
    at(steward, "survey")


def decide(reviewer: Page, agency: Installation) -> None:
    """Read the report, and approve with the key of Bo."""
    at(reviewer, "survey")
    report = reviewer.frame_locator("iframe").get_by_role("heading", level=1)
    expect(report).to_contain_text("A table made up for the tests")
    reviewer.fill("#text", "Page 3: is the share of employed plausible?")
    reviewer.get_by_role("button", name="Comment").click()
    expect(reviewer.locator("article.comment")).to_contain_text("The reviewer")
    reviewer.select_option("#person", label="Bo")
    reviewer.fill("#reason", "the figures are plausible")
    reviewer.set_input_files("#key", agency.folder / "keys" / "Bo.pem")
    reviewer.get_by_role("button", name="Approve", exact=True).click()
    expect(reviewer.locator("#answer")).to_contain_text("The release continues:")


def at(page: Page, release: str) -> None:
    page.goto(_address(page, f"/releases/{release}"))


def _address(page: Page, path: str) -> str:
    """A path of the desk that the page is of."""
    return "/".join(page.url.split("/")[:3]) + path
