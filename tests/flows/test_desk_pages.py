"""The pages of the desk in a browser, as people in their roles use them: accessible, on a telephone
as on a screen, without a request to any other host."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyotp
import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from hallmark.flows.desk import desk
from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.tasks.installation.progress import announce
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.series import planned
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import record
from hallmark.tasks.people.database import writing
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.uploads import Place, keep
from hallmark.tasks.runs import RunStatus
from tests import example, messy
from tests.flows.people import PASSWORD, TEST, introduce, join
from tests.flows.services import SECONDS
from tests.flows.test_desk_runs import running, tell

pytestmark = pytest.mark.service
expect.set_options(timeout=1000 * SECONDS)

SIZES = {"screen": (1280, 900), "telephone": (390, 844)}
PAGES = {
    "/": Role.VIEWER,
    "/me": Role.VIEWER,
    "/compare": Role.VIEWER,
    "/calendar": Role.VIEWER,
    "/keys": Role.VIEWER,
    "/docs": Role.VIEWER,
    "/docs/spec-reference": Role.VIEWER,
    "/docs/desk": Role.VIEWER,
    "/releases/open": Role.GOVERNOR,
    "/releases/open/published/audit-report.html": Role.VIEWER,
    "/releases/test-release": Role.REVIEWER,
    "/accounts": Role.REVIEWER,
    "/accounts/test-people": Role.REVIEWER,
    "/accounts/monthly": Role.STEWARD,
    "/specs": Role.STEWARD,
    "/specs/own": Role.STEWARD,
    "/specs/own/about": Role.STEWARD,
    "/specs/own/questions": Role.STEWARD,
    "/specs/own/columns": Role.STEWARD,
    "/specs/own/columns?column=region": Role.OPERATOR,
    "/specs/own/rules": Role.STEWARD,
    "/specs/own/mechanism": Role.STEWARD,
    "/specs/own/board": Role.STEWARD,
    "/tables/private/enquete.csv": Role.STEWARD,
    "/tables/public/codes.csv": Role.OPERATOR,
    "/releases/failed": Role.OPERATOR,
    "/log": Role.AUDITOR,
    "/people": Role.ADMINISTRATOR,
    "/agency": Role.GOVERNOR,
}


@dataclass
class Site:
    """A desk that answers, with everybody's seed of codes."""

    url: str
    seeds: dict[Role, str]
    keys: dict[str, Path]
    folder: Path


@pytest.fixture(scope="module")
def made(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A home with a release that waits, one that is published, and one that failed."""
    from hallmark.flows.release import release as flow

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        keys = introduce(folder / "keys", folder / "home")
        example.open_account()
        for release, more in (
            ("test-release", {"approvals": {"plan": ["methodologist"]}}),
            ("open", {}),
            ("failed", {}),  # two others have its budget
        ):
            spec = example.write(
                folder / release, 400, release=release, title=f"The {release} table", **more
            )
            with pytest.raises(BudgetRefused) if release == "failed" else nullcontext():
                flow(str(spec), str(folder / "out"))
        _keep_a_series(folder)
        seeds = {role: join(role, role) for role in Role}
    return Site("", seeds, keys, folder)


def _keep_a_series(folder: Path) -> None:
    """An account whose months are planned, and a release about the first, which waits."""
    from hallmark.flows.release import release as flow

    cap, delta = Fraction(1, 10), Fraction(1, 10**5)
    book = open_ledger(ledger_url())
    book.open_account(
        "monthly",
        cap=implied_budget(cap, delta),
        rho_cap=cap,
        composition="zcdp",
        presence=Presence(length="month", pattern=(0, 1)),
        adjacency=Adjacency(neighbours=Neighbours.REPLACE_ONE),
        by="steward",
        reason="the board",
    )
    shares = planned(book.account("monthly"), "2026-01", 14)
    book.plan_series("monthly", shares, by="steward", reason="the board")
    waits: dict[str, Any] = {"plan": ["methodologist"]}
    about: dict[str, Any] = {"series": {"period": "2026-01"}, "population": {"account": "monthly"}}
    spec = example.write(folder / "monthly", 400, release="homes-2026-01", approvals=waits, **about)
    flow(str(spec), str(folder / "out"))


@pytest.fixture
def site(made: Site, home: Path) -> Iterator[Site]:
    """A desk with a copy of that home."""
    shutil.copytree(made.folder / "home", home)
    with Serving() as url:
        yield replace(made, url=url)


class Serving:
    """The desk on a free port of this machine, in a thread."""

    def __enter__(self) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        self._server = uvicorn.Server(
            uvicorn.Config(desk, log_level="error", timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, daemon=True
        )
        self._thread.start()
        return f"http://localhost:{listening.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)


def enter(
    chrome: Browser, site: Site, role: Role, size: str = "screen", *, scripts: bool = True
) -> Page:
    """A page of somebody in a role who has logged in, and who must see no error and no stranger."""
    width, height = SIZES[size]
    page = chrome.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=scripts
    ).new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.on("request", lambda asked: _refuse_strangers(asked.url, site.url))
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.faults = faults  # type: ignore[attr-defined]
    page.goto(site.url)
    page.fill("#login", role)
    page.fill("#password", PASSWORD)
    _wait_for_a_new_code(role)
    page.fill("#code", pyotp.TOTP(site.seeds[role]).now())
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("button", name="Log out").wait_for()
    return page


def _refuse_strangers(asked: str, own: str) -> None:
    assert asked.startswith((own, "data:", "blob:")), asked


def _wait_for_a_new_code(login: str) -> None:
    """Let the code count again, which accepting the invitation has used."""
    with writing() as connection:
        connection.execute("UPDATE people SET last_step = 0 WHERE login = ?", (login,))


def keep_own(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec at the desk, whose table it may name and whose needs only some epsilons meet."""
    folder = site.folder / "data-of-own"
    monkeypatch.setenv("HALLMARK_DATA", str(folder))
    needs = [
        {"question": question, "within": within, "stated_by": "the regional unit"}
        for question, within in (("count by region", 40), ("count by region, age", 30))
    ]
    own = example.only(folder, "age", "region") | {"release": "own", "needs": needs}
    (specs_folder() / "own.yaml").write_text(example.write(folder, 400, **own).read_text())


@pytest.mark.parametrize("size", SIZES)
def test_the_frontier_of_needs_is_drawn_beside_the_plan(
    size: str, site: Site, chrome: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_own(site, monkeypatch)
    page = enter(chrome, site, Role.STEWARD, size)
    page.goto(f"{site.url}/specs/own")
    page.fill("#epsilons", "0.5, 2")
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_role("button", name="Draw the frontier").click()
    drawn = page.locator("#frontier img")
    expect(drawn).to_be_visible()
    assert "count by region within 40: met from epsilon" in (drawn.get_attribute("alt") or "")
    assert drawn.evaluate("image => image.naturalWidth") > 0
    assert not Axe().run(page).response["violations"]
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    page.locator("#needs").screenshot(path=site.folder / f"frontier-{size}.png")
    assert page.faults == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_accessible_and_fits(
    size: str, site: Site, chrome: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_own(site, monkeypatch)
    for place in (Place("private", "enquete.csv"), Place("public", "codes.csv")):
        keep(place, messy.write(site.folder / "messy", 40), "steward", replace=False)
    pages = {role: enter(chrome, site, role, size) for role in set(PAGES.values())}
    problems = []
    for path, role in PAGES.items():
        page = pages[role]
        answer = page.goto(f"{site.url}{path}")
        assert answer is not None
        assert answer.status == 200, path
        page.wait_for_load_state("networkidle")
        found = Axe().run(page)
        problems += [
            f"{path}: {one['id']}: {node['html'][:120]}"
            for one in found.response["violations"]
            for node in one["nodes"]
        ]
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > SIZES[size][0]:
            problems.append(f"{path}: {width} px wide")
        problems += [f"{path}: {fault}" for fault in page.faults]  # type: ignore[attr-defined]
        page.screenshot(path=site.folder / f"{size}{path.replace('/', '-')}.png", full_page=True)
    assert problems == []


@pytest.mark.parametrize(
    ("role", "path", "form", "typed", "says"),
    [
        (
            Role.STEWARD, "/accounts", "/accounts",
            {"#name": "No Name", "#epsilon": "2", "#reason": "the board\nitem 1"},
            "'No Name' cannot be the population.account",
        ),
        (
            Role.STEWARD, "/accounts/test-people", "/accounts/test-people/cap",
            {"#epsilon": "1/1000", "#reason": "the board"},
            "reserved",
        ),
        (
            Role.STEWARD, "/specs", "/specs",
            {"#name": "No Name", "#spec": "own.yaml"},
            "'No Name' cannot be the name of a release",
        ),
        (
            Role.STEWARD, "/specs/own", "/specs/own/remove", {}, "there is no spec 'own' here",
        ),
        (
            Role.OPERATOR, "/releases/own", "/releases/own/start",
            {"#at": "2020-01-01T08:00"}, "has passed",
        ),
        (
            Role.GOVERNOR, "/agency", "/agency/cluster",
            {"#place": "local", "#in-memory": "4", "#why-cluster": "faster"},
            "must be a size, such as 4GiB",
        ),
        (
            Role.ADMINISTRATOR, "/people", "/people",
            {"#login": "viewer", "#name": "Vi Ewer"}, "viewer",
        ),
    ],
)  # fmt: skip
def test_a_refused_form_says_why_and_keeps_what_was_typed(
    role: Role, path: str, form: str, typed: dict[str, str], says: str, site: Site, chrome: Browser
) -> None:
    spec = example.write(site.folder / "refused", 5, release="own")
    shutil.copy(spec.with_name("table.csv"), tables_folder())
    (specs_folder() / "own.yaml").write_text(spec.read_text().replace(f"{spec.parent}/", ""))
    page = enter(chrome, site, role)
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"{site.url}{path}")
    sent = page.locator(f'form[action="{form}"]')
    sent.evaluate("form => form.closest('details')?.setAttribute('open', '')")
    for field, value in typed.items():
        if value.endswith(".yaml"):
            sent.locator(field).set_input_files(spec)
        elif field == "#place":
            sent.locator(field).select_option(value)
        else:
            sent.locator(field).fill(value)
    if form.endswith("/remove"):
        (specs_folder() / "own.yaml").unlink()
    for _ in range(2):
        sent.locator("button").focus()
        page.keyboard.press("Enter")
        expect(sent.get_by_role("alert")).to_contain_text(says)
        expect(sent.get_by_role("alert")).to_have_count(1)
    assert page.url == f"{site.url}{path}"
    if path == "/agency":
        expect(sent.locator("#in-memory-refused")).to_contain_text(says)
        expect(sent.locator("#in-memory")).to_have_attribute("aria-invalid", "true")
    for field, value in typed.items():
        kept = sent.locator(field).input_value()
        assert kept == value or kept.endswith(spec.name) == value.endswith(".yaml"), field
    assert all("the server responded with" in fault for fault in page.faults)  # type: ignore[attr-defined]


def test_a_form_leads_on_once_nothing_is_wrong(site: Site, chrome: Browser) -> None:
    page = enter(chrome, site, Role.STEWARD)
    page.goto(f"{site.url}/accounts")
    for name, value in {"name": "No Name", "epsilon": "2", "reason": "the board"}.items():
        page.fill(f"#{name}", value)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.fill("#name", "others")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="Account others")).to_be_visible()

    administrator = enter(chrome, site, Role.ADMINISTRATOR)
    administrator.goto(f"{site.url}/people")
    form = administrator.locator('form[action="/people"]')
    form.locator("#login").fill("eve")
    form.locator("#name").fill("Eve E")
    form.get_by_role("checkbox", name="viewer", exact=True).check()
    form.get_by_role("button").click()
    expect(administrator.locator("code.seed")).to_contain_text("/invitation/")
    leaves = administrator.get_by_role("row").filter(has_text="Eve E").get_by_role("button")
    expect(leaves.filter(has_text="Leaves")).to_be_enabled()
    assert administrator.faults == []  # type: ignore[attr-defined]


def test_without_scripts_a_refusal_is_a_page(site: Site, chrome: Browser) -> None:
    page = enter(chrome, site, Role.STEWARD, scripts=False)
    page.goto(f"{site.url}/accounts")
    for name, value in {"name": "No Name", "epsilon": "2", "reason": "the board"}.items():
        page.fill(f"#{name}", value)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="That was not possible")).to_be_visible()
    expect(page.get_by_text("'No Name' cannot be the population.account")).to_be_visible()


def test_a_reviewer_decides_with_their_key_and_others_see_it(site: Site, chrome: Browser) -> None:
    page = enter(chrome, site, Role.REVIEWER, "telephone")
    page.get_by_role("link", name="The test-release table").click()
    expect(page.get_by_text("at the plan gate for: methodologist")).to_be_visible()
    page.fill("#text", "Why so few cells? <b>bold</b>")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.get_by_text("Why so few cells? <b>bold</b>")).to_be_visible()
    page.select_option("#person", label="Ada")
    page.fill("#reason", "It protects people.")
    page.set_input_files("#key", site.keys["Ada"])
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator("#answer.good")).to_contain_text("The release can continue")
    page.reload()
    expect(page.get_by_text("Nothing is missing; the release continues.")).to_be_visible()

    auditor = enter(chrome, site, Role.AUDITOR)
    auditor.goto(f"{site.url}/log?about=test-release")
    row = auditor.get_by_role("row").filter(has_text="decided")
    expect(row).to_contain_text("decision: approve; gate: plan; person: Ada; role: methodologist")


def test_the_log_is_a_few_screens_long_on_a_telephone(site: Site, chrome: Browser) -> None:
    for number in range(60):
        record(TEST, "opened", "test-release", file=f"file-{number}")
    page = enter(chrome, site, Role.AUDITOR, "telephone")
    page.goto(f"{site.url}/log")
    assert page.get_by_role("row").count() == 51
    assert page.evaluate("document.documentElement.scrollHeight") < 4 * SIZES["telephone"][1]
    page.get_by_role("link", name="Earlier ones").click()
    expect(page.get_by_text("file: file-0", exact=True)).to_be_visible()


def test_a_browser_asks_for_styles_and_scripts_once(site: Site, chrome: Browser) -> None:
    page = enter(chrome, site, Role.VIEWER)
    taken = """performance.getEntriesByType("resource")
        .filter(one => one.name.includes("/static/")).map(one => one.transferSize)"""
    page.goto(f"{site.url}/keys")
    first = page.evaluate(taken)
    page.goto(f"{site.url}/keys")
    assert any(first)
    assert page.evaluate(taken) == [0] * len(first)


def test_whoever_cannot_undo_is_asked_first(site: Site, chrome: Browser) -> None:
    page = enter(chrome, site, Role.ADMINISTRATOR)
    page.get_by_role("link", name="People").click()
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    row = page.get_by_role("row").filter(has_text="The viewer")
    row.get_by_role("button", name="Leaves").click()
    assert asked == ["The viewer can never log in again under this login."]
    assert directory.person("viewer").departed is None  # type: ignore[union-attr]


def test_a_steward_makes_the_spec_of_an_own_table_without_a_shell(
    site: Site, chrome: Browser
) -> None:
    spec = example.write(site.folder / "mine", release="mine")
    page = enter(chrome, site, Role.STEWARD)
    page.get_by_role("link", name="Specs").click()
    table = next((site.folder / "mine").glob("*.csv"))
    page.set_input_files("#table", table)
    with page.expect_navigation():
        page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("link", name="Specs").click()
    page.fill("#name", "mine")
    page.select_option("#of", label=table.name)
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#problems")).to_contain_text("is still FILL_IN")
    text = spec.read_text().replace(str(table), table.name)
    page.evaluate(
        "text => { const area = document.getElementById('text'); area.value = text;"
        " area.dispatchEvent(new Event('input', {bubbles: true})); }",
        text,
    )
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator("#plan")).to_contain_text("Column by column")
    expect(page.locator("#others tbody tr")).to_have_count(5)
    page.locator("#epsilon").press("End")
    expect(page.locator("#at-epsilon")).to_contain_text("ε: 4; Best attack right:")
    expect(page.locator("tr.chosen")).to_have_count(1)
    assert Axe().run(page).violations_count == 0
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    assert page.locator("#text").input_value().strip() == text.strip()
    assert page.faults == []  # type: ignore[attr-defined]
    page.goto(site.url)
    expect(page.get_by_role("row").filter(has_text="mine")).to_contain_text("draft")


def test_pages_of_two_hundred_releases_are_quick(site: Site, chrome: Browser) -> None:
    """Not a timed test: it shows that a page asks the ledger no more than is waiting."""
    page = enter(chrome, site, Role.VIEWER)
    page.goto(site.url)
    before = page.get_by_role("row").count()
    for number in range(200):
        status = RunStatus(
            release=f"many-{number}",
            account="test-people",
            expected_rows=1000,
            started=datetime.now(UTC),
            ended=datetime.now(UTC),
            how="published",
            title=f"Release {number}",
            published=datetime.now(UTC),
            folder=str(site.folder / "out" / "open"),
        )
        (Workspace.of(status.release).path / "run.json").write_text(status.model_dump_json())
    began = time.monotonic()
    page.goto(site.url)
    print(f"200 releases: {time.monotonic() - began:.3f} s")
    assert page.get_by_role("row").count() == before + 200


def test_a_page_follows_a_run_and_keeps_what_is_being_written(chrome: Browser, site: Site):
    page = enter(chrome, site, Role.OPERATOR)
    stands = page.get_by_label("Where it stands")
    with running(prepare(site.folder / "failed" / "spec.yaml")):
        page.goto(f"{site.url}/releases/failed")
        expect(stands).to_contain_text("generate (6 of 11)")
        time.sleep(1)  # progress is kept once a second
        tell("generate", 0.8, "drawing records")
        expect(stands).to_contain_text("drawing records")
        announce("certify")
        expect(stands).to_contain_text("certify (7 of 11)")
        assert Axe().run(page).violations_count == 0
        page.fill("#text", "is this long?")
    expect(page.get_by_role("alert")).to_contain_text("More than this has changed")
    assert page.input_value("#text") == "is this long?"
    page.reload()
    expect(stands).not_to_contain_text("certify")
    assert not page.faults  # type: ignore[attr-defined]
