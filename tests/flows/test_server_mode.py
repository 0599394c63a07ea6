"""Server mode as people use it: a dashboard, a desk, a schedule, on PostgreSQL and Dask workers.

One installation serves all of these tests, which take minutes: run them with `make test-services`.
"""

import getpass
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.runs import RunStatus
from tests import example
from tests.flows.people import PASSPHRASE
from tests.flows.server import (
    SECONDS,
    SPEC,
    Installation,
    accept,
    fill_form,
    need_postgres,
    signed_in,
)
from tests.flows.server import agency as agency_of
from tests.flows.services import answers, wait_until
from tests.flows.test_certify import vendor
from tests.flows.test_certify import write as certificate_spec
from tests.flows.test_desk_pages import SIZES
from tests.tasks.statements import ABOUT

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An agency with a form for one spec, a calendar that runs every minute, and its people."""
    need_postgres()
    folder = tmp_path_factory.mktemp("agency")
    form = example.write(folder / "form", approvals={"disclosure": ["reviewer"]}, **SPEC)
    example.write(folder / "monthly", release="monthly-{period}", **SPEC)
    calendar = folder / "monthly" / "calendar.yaml"
    calendar.write_text(
        "hallmark_calendar: 1\nreleases:\n  monthly:\n    spec: spec.yaml\n    period: month\n"
        '    cron: "* * * * *"\n    budget: {epsilon: 1/4, delta: 1e-6}\n'
    )
    with agency_of(folder, "--spec", form, "--calendar", calendar) as running:
        yield running


def test_an_operator_starts_a_release_and_a_reviewer_approves_it_in_the_browser(
    agency: Installation, chrome: Browser
):
    page = signed_in(chrome, agency)
    fill_form(page, agency, "test-release", Epsilon="-1")
    message = "privacy.epsilon: is -1; give a number above 0"
    expect(page.get_by_text(message).first).to_be_visible(timeout=SECONDS * 1000)

    fill_form(page, agency, "test-release", Epsilon="1/2")
    expect(page.get_by_text("AwaitingApproval").first).to_be_visible(timeout=SECONDS * 1000)
    page.get_by_text("Artifacts", exact=True).first.click()
    page.get_by_text("waiting-test-release").last.click()
    link = page.get_by_role("link", name="Look at it and decide").first.get_attribute("href")
    assert link == f"{agency.desk}/releases/test-release"

    desk = reviewing(chrome, agency)
    desk.goto(link)
    report = desk.frame_locator("iframe")
    expect(report.get_by_role("heading", level=1)).to_contain_text("A table made up for the tests")
    decide(desk, agency, "Cy", "wrong", "the figures are plausible")
    expect(desk.locator("#answer")).to_contain_text("the passphrase does not open the key")
    decide(desk, agency, "Cy", PASSPHRASE, "the figures are plausible — naïve, but sound ✓")
    expect(desk.locator("#answer")).to_contain_text("The release continues:")

    folder = agency.out / "test-release"
    wait_until(folder.exists, "the release is published")
    verified = agency.hallmark("verify", folder)
    assert verified.returncode == 0, verified.stdout
    assert "naïve, but sound" in (folder / "approvals.json").read_text()


def test_a_schedule_fires_and_its_release_runs_on_the_dask_workers(agency: Installation):
    published = agency.out
    wait_until(lambda: list(published.glob("monthly-*")), "the scheduled release is published")
    (folder,) = published.glob("monthly-*")
    assert agency.hallmark("verify", folder).returncode == 0
    book = Ledger(agency.environment["HALLMARK_LEDGER"])
    reservation = book.reservation(folder.name)
    assert reservation is not None
    assert reservation.state == "spent"
    assert reservation.allowance == f"monthly {folder.name.removeprefix('monthly-')}"
    log = (agency.home / "logs" / "dask-scheduler.log").read_text()
    assert "Receive client connection" in log
    assert "tls://" in log


def keep_template(agency: Installation, desk: Page, period: str) -> Path:
    """Upload a table of a period, and begin a spec of every period; gives the table."""
    made = agency.folder / "recurring"
    spec = example.write(made, release="visits-{period}", **SPEC)
    text = spec.read_text().replace("table.csv", "visits-{period}.csv").replace(f"{made}/", "")
    table = (made / "table.csv").rename(made / f"visits-{period}.csv")
    desk.goto(f"{agency.desk}/specs")
    desk.set_input_files("#table", table)
    with desk.expect_navigation():
        desk.get_by_role("button", name="Upload", exact=True).click()
    desk.get_by_role("link", name="Specs").click()
    desk.fill("#name", "visits")
    desk.set_input_files("#spec", {"name": "s.yaml", "mimeType": "", "buffer": text.encode()})
    desk.get_by_role("button", name="Begin", exact=True).click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("Spec of visits in every period")
    return table


def propose_daily(agency: Installation, desk: Page, at: datetime) -> None:
    """Propose that it recurs each day at a time, about that day."""
    desk.goto(f"{agency.desk}/calendar")
    desk.select_option("#spec", "visits")
    desk.select_option("#period", "day")
    desk.fill("#lag", "0")
    desk.fill("#at", f"{at:%H:%M}")
    desk.fill("#epsilon", "1/4")
    desk.fill("#why", "the board wants it daily")
    desk.get_by_role("button", name="Propose", exact=True).press("Enter")
    expect(desk.get_by_role("heading", name="Proposal", exact=False)).to_be_visible()


def approve(agency: Installation, governor: Page) -> None:
    """Approve, with the keyboard alone, what waits on a governor's first page."""
    governor.goto(agency.desk)
    governor.get_by_role("link", name="Proposal", exact=False).first.press("Enter")
    governor.get_by_label("Why").first.focus()
    governor.keyboard.type("agreed with the board")
    governor.keyboard.press("Tab")
    with governor.expect_navigation():
        governor.keyboard.press("Enter")


def test_two_people_change_the_calendar(agency: Installation, chrome: Browser, tmp_path: Path):
    """An operator proposes an entry, a governor approves it: then the server has its schedule."""
    olga = at_desk(chrome, agency, "olga", "operator")
    gina = at_desk(chrome, agency, "gina", "governor")
    keep_template(agency, olga, f"{datetime.now(UTC):%Y-%m-%d}")
    olga.goto(f"{agency.desk}/calendar")
    olga.fill("#timezone", "Berlin")
    propose = datetime.now(UTC) - timedelta(hours=1)  # not before tomorrow
    for field, value in {"epsilon": "1/4", "why": "the board"}.items():
        olga.fill(f"#{field}", value)
    olga.select_option("#spec", "visits")
    olga.get_by_role("button", name="Propose", exact=True).press("Enter")
    expect(olga.get_by_role("alert")).to_contain_text("timezone: is 'Berlin'")
    expect(olga.locator("#timezone")).to_be_focused()
    expect(olga.locator("#timezone-refused")).to_contain_text("is not a time zone")
    expect(olga.locator("#epsilon")).to_have_value("1/4")
    shown(olga, tmp_path, "refused")
    propose_daily(agency, olga, propose)
    assert agency.prefect("deployment", "inspect", "calendar-release/visits").returncode != 0
    gina.goto(f"{agency.desk}/calendar")
    expect(gina.get_by_text("+title: A table")).to_be_visible()
    shown(gina, tmp_path, "proposed")
    approve(agency, gina)
    olga.goto(f"{agency.desk}/calendar")
    row = olga.get_by_role("row", name="scheduled by olga")
    expect(row).to_contain_text(f"every day at {propose:%H:%M}")
    assert agency.prefect("deployment", "inspect", "calendar-release/visits").returncode == 0
    row.get_by_role("link", name="Propose a change").press("Enter")
    expect(olga.locator("#at")).to_have_value(f"{propose:%H:%M}")
    shown(olga, tmp_path, "change")
    remove(agency, olga, gina)


def remove(agency: Installation, olga: Page, gina: Page) -> None:
    """Let two people take the entry off again."""
    olga.goto(f"{agency.desk}/calendar?entry=visits")
    olga.fill("#why-removal", "it is not needed")
    olga.get_by_role("button", name="Propose to remove it").click()
    expect(olga.get_by_text("It recurs no more.")).to_be_visible()
    approve(agency, gina)
    olga.goto(f"{agency.desk}/calendar")
    expect(olga.get_by_role("row", name="monthly")).to_be_visible()
    expect(olga.get_by_role("row", name="scheduled by olga")).to_have_count(0)
    assert agency.prefect("deployment", "inspect", "calendar-release/visits").returncode != 0
    olga.goto(f"{agency.desk}/specs/visits")
    olga.on("dialog", lambda dialog: dialog.accept())
    olga.get_by_role("button", name="Remove the draft").click()
    expect(olga.get_by_role("heading", level=1)).to_have_text("Specs")


def shown(page: Page, folder: Path, name: str) -> None:
    """Look at a page on a screen and on a telephone: accessible, and no wider than it."""
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (name, size)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, size)
        page.screenshot(path=folder / f"{name}-{size}.png", full_page=True)


@pytest.mark.slow
def test_what_two_people_scheduled_is_released(agency: Installation, chrome: Browser):
    """Who has no shell: uploads a table, writes a spec of every period, and proposes it."""
    soon = datetime.now(UTC) + timedelta(minutes=4)
    period = f"{soon:%Y-%m-%d}"
    desk = at_desk(chrome, agency, "olga", "operator")
    governor = at_desk(chrome, agency, "gina", "governor")
    table = keep_template(agency, desk, period)
    propose_daily(agency, desk, soon)
    approve(agency, governor)
    desk.goto(f"{agency.desk}/calendar")
    row = desk.get_by_role("row", name="scheduled by olga")
    expect(row).to_contain_text(f"{soon.minute} {soon.hour} * * * UTC")
    expect(row).to_contain_text(f"every day at {soon:%H:%M}")
    expect(row).to_contain_text(f"visits-{period}")

    def by(period: str) -> str:
        """Who made the release of a period, as its status says."""
        folder = agency.out / f"visits-{period}"
        wait_until(folder.exists, f"the release of {period} is published", 2 * SECONDS)
        assert agency.hallmark("verify", folder).returncode == 0
        status = agency.home / "work" / folder.name / "run.json"
        return RunStatus.model_validate_json(status.read_bytes()).by

    assert by(period) == "olga"
    # Whoever starts it on the server has no order, and becomes nobody else.
    shutil.copyfile(table, agency.home / "tables" / "visits-2020-01-01.csv")
    agency.prefect("deployment", "run", "calendar-release/visits", '--param=period="2020-01-01"')
    assert by("2020-01-01") == getpass.getuser()

    withdraw(agency, governor, f"visits-{period}")
    remove(agency, desk, governor)


def withdraw(agency: Installation, governor: Page, release: str) -> None:
    """Order that a release is withdrawn, for which a run on the worker gives the notice."""
    governor.on("dialog", lambda dialog: dialog.accept())
    governor.goto(f"{agency.desk}/releases/{release}")
    governor.fill("#why-notice", "regions were coded by the old list")
    governor.get_by_role("button", name="Withdraw", exact=True).click()
    expect(governor.get_by_text("gina ordered that it is withdrawn")).to_be_visible()
    wait_until((agency.out / f"{release}.withdrawn.json").exists, "the notice is there")
    verified = agency.hallmark("verify", agency.out / release)
    assert verified.returncode == 6
    assert "regions were coded by the old list" in verified.stdout
    governor.goto(f"{agency.desk}/releases/{release}")
    expect(governor.get_by_text("A signed notice says: withdrawn on")).to_be_visible()


def test_a_release_that_waits_survives_a_restart_of_the_server(
    agency: Installation, chrome: Browser, tmp_path: Path
):
    spec = example.write(tmp_path, release="patient", approvals={"plan": ["methodologist"]}, **SPEC)
    agency.start("release/on-demand", spec=spec, out=agency.out)
    waiting = agency.home / "work" / "patient" / "waiting.json"
    wait_until(waiting.exists, "the release waits")
    for service in ("dashboard", "hallmark.flows.desk"):
        agency.kill(service)
    both = (f"{agency.dashboard}/api/health", f"{agency.desk}/health")
    wait_until(lambda: all(map(answers, both)), "both are back")
    assert waiting.exists()
    approved = agency.hallmark(
        "approve", "patient", "--name", "Ada", "--role", "methodologist",
        "--key", agency.folder / "keys" / "Ada.pem", "--reason", "a sound plan",
    )  # fmt: skip
    assert "The release continues:" in approved.stdout, approved.stderr
    wait_until((agency.out / "patient").exists, "the release is published")


@pytest.mark.slow
def test_a_certificate_is_started_approved_and_audited_on_the_server(
    agency: Installation, tmp_path: Path
):
    privacy = {"neighbours": "replace_one", "unit": "record", "epsilon": "1/4"}
    approvals = {"disclosure": ["reviewer"]}
    spec = certificate_spec(tmp_path, about=ABOUT, privacy=privacy, approvals=approvals)
    file = vendor(tmp_path)
    agency.start("certify/on-demand", spec=spec, file=file, out=agency.out)
    wait_until(
        (agency.home / "work" / "test-certificate" / "waiting.json").exists, "the certificate waits"
    )
    approved = agency.hallmark(
        "approve", "test-certificate", "--name", "Bo", "--role", "reviewer",
        "--key", agency.folder / "keys" / "Bo.pem", "--reason", "as its maker said",
    )  # fmt: skip
    assert "The release continues:" in approved.stdout, approved.stderr
    folder = agency.out / "test-certificate"
    wait_until(folder.exists, "the certificate is published")
    verified = agency.hallmark("verify", folder, "--file", file)
    assert verified.returncode == 0, verified.stdout

    agency.start("audit/on-demand", folder=folder, file=file)
    wait_until(lambda: agency.runs("on-demand")[0]["state_type"] == "COMPLETED", "it is audited")
    other = vendor(tmp_path, "other.csv", age=44)
    agency.start("audit/on-demand", folder=folder, file=other)
    wait_until(lambda: agency.runs("on-demand")[0]["state_type"] == "FAILED", "the audit fails")


@pytest.mark.slow
def test_an_operator_cannot_rehearse_on_the_private_table(agency: Installation, tmp_path: Path):
    """Neither by a parameter, nor by a declaration of the table by another name or of a copy."""

    def runs() -> int:
        return len(agency.runs("on-demand"))

    def ends(state: str, deployment: str, **parameters: object) -> str:
        """What the run says that is started by this, once it is in that state."""
        before = runs()
        agency.start(deployment, **parameters)
        wait_until(lambda: runs() > before, "the run is there")
        wait_until(
            lambda: agency.runs("on-demand")[0]["state_type"] in ("COMPLETED", "FAILED", "CRASHED"),
            "it ends",
            seconds=2 * SECONDS,  # a rehearsal starts a program, which starts a server of its own
        )
        (newest, *_) = agency.runs("on-demand")
        assert newest["state_type"] == state, newest["state"]
        assert runs() == before + 1  # what it runs itself is no run of the server
        return str(newest["state"]["message"])

    spec = example.write(tmp_path / "plain", release="rehearsed", **SPEC)
    table, rehearsals = tmp_path / "plain" / "table.csv", agency.home / "rehearsals"
    before = runs()
    named = agency.prefect(
        "deployment", "run", "rehearsal/on-demand", f"--param=spec={spec}", f"--param=data={table}"
    )
    assert named.returncode != 0
    assert runs() == before

    copy = tmp_path / "copy.parquet"
    example.table().sample(frac=1, random_state=5).drop(columns="person").to_parquet(copy)
    for number, source in enumerate((table, copy)):
        declared = {"source": str(source), "kind": "public", "reference": "none"}
        folder = tmp_path / f"declared-{number}"
        told = example.write(folder, release=folder.name, rehearsal=declared, **SPEC)
        (folder / "table.csv").unlink()
        (folder / "table.csv").hardlink_to(table)
        said = ends("FAILED", "rehearsal/on-demand", spec=told)
        assert "the private table of" in said  # of this release, or of the calendar's: it is one
        assert not (rehearsals / folder.name / "out").exists()

    marker = tmp_path / "by-another-command"
    agency.prefect(
        "deployment", "run", "rehearsal/on-demand",
        f"--param=spec={told}", f"--job-variable=command=touch {marker}",
    )  # fmt: skip
    ends("COMPLETED", "rehearsal/on-demand", spec=spec)
    assert not marker.exists()
    folder = rehearsals / "rehearsed" / "out" / "rehearsal-rehearsed"
    verified = agency.hallmark("verify", folder)
    assert verified.returncode == 6
    assert "REHEARSAL" in verified.stdout
    assert "REHEARSAL" in ends("FAILED", "audit/on-demand", folder=folder)
    assert "rehears" not in agency.metrics()
    assert not list((agency.home / "work").glob("rehears*/run.json"))


def reviewing(chrome: Browser, agency: Installation) -> Page:
    """The desk as a reviewer sees it after logging in."""
    return at_desk(chrome, agency, "rita", "reviewer")


def at_desk(chrome: Browser, agency: Installation, login: str, role: str) -> Page:
    """The desk as somebody in a role sees it after logging in."""
    made = agency.hallmark("people", "add", login, "--name", login.title(), "--role", role)
    made = made if made.returncode == 0 else agency.hallmark("people", "invite", login)
    page = chrome.new_context().new_page()
    accept(page, made.stdout.split()[-1])
    page.set_default_timeout(SECONDS * 1000)
    return page


def decide(desk: Page, agency: Installation, name: str, passphrase: str, reason: str) -> None:
    """Fill in the form of the desk and approve."""
    desk.select_option("#person", label=name)
    desk.fill("#reason", reason)
    desk.set_input_files("#key", agency.folder / "keys" / f"{name}.pem")
    desk.fill("#passphrase", passphrase)
    desk.get_by_role("button", name="Approve", exact=True).click()
    desk.locator("#answer.good, #answer.bad").wait_for()
