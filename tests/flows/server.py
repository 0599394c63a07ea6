"""A whole server-mode installation for a test, and a browser in front of it."""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pyotp
import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright
from ruamel.yaml import YAML
from sqlalchemy import Engine, NullPool, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from tests.flows.people import PASSWORD, introduce
from tests.flows.services import (
    POSTGRES,
    SECONDS,
    free_port,
    make_database,
    wait_until,
    without_ours,
)
from tests.tasks.statements import ABOUT, PROFILE

ROOT = Path(__file__).parents[2]
PRIVACY = {"neighbours": "replace_one", "unit": "record", "epsilon": "1/4", "delta": "1e-6"}
SPEC: dict[str, Any] = {"mechanism": {"name": "mst"}, "about": ABOUT, "privacy": PRIVACY}
"""Sections of a spec of a small release that says all that is asked of it."""


@dataclass
class Installation:
    """What `make up` starts, in a folder of its own."""

    folder: Path
    port: int
    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    tokens: dict[str, str] = field(default_factory=dict)  # at the desk, by role

    @property
    def dashboard(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def desk(self) -> str:
        return f"http://localhost:{self.port + 1}"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def first_link(self) -> str:
        """The one address that was printed, which makes the first administrator."""
        (address,) = re.findall(r"http://\S+", (self.folder / "up.txt").read_text())
        return str(address)

    def password(self, service: str) -> str:
        return (self.home / f"{service}-password").read_text()

    def runs(self, deployment: str) -> list[dict[str, Any]]:
        """Runs of a deployment that were started by hand, the newest first."""
        answer = httpx.post(
            f"{self.dashboard}/api/flow_runs/filter",
            json={"deployments": {"name": {"any_": [deployment]}}, "sort": "ID_DESC"},
            auth=tuple(self.password("dashboard").split(":", 1)),  # type: ignore[arg-type]
            timeout=SECONDS,
        )
        found: list[dict[str, Any]] = answer.raise_for_status().json()
        return sorted(found, key=lambda run: str(run["created"]), reverse=True)

    def start(self, deployment: str, **parameters: object) -> None:
        """Start a run of a deployment, as an operator's script would."""
        given = [f"--param={name}={value}" for name, value in parameters.items()]
        started = self.prefect("deployment", "run", deployment, *given)
        assert started.returncode == 0, started.stderr

    def metrics(self) -> str:
        """What Prometheus is told."""
        headers = self.as_somebody("viewer")
        return httpx.get(f"{self.desk}/metrics", headers=headers, timeout=SECONDS).text

    def as_somebody(self, role: str) -> dict[str, str]:
        """What a program sends that acts for somebody in a role, who is added if missing."""
        if role not in self.tokens:
            known = ["--name", f"The {role}", "--role", role, "--by-provider"]
            added = self.hallmark("people", "add", f"test-{role}", *known)
            assert added.returncode == 0, added.stderr
            made = self.hallmark(
                "people", "token", f"test-{role}", "--name", "tests", "--role", role
            )
            assert made.returncode == 0, made.stderr
            self.tokens[role] = made.stdout.strip()
        return {"Authorization": f"Bearer {self.tokens[role]}"}

    def hallmark(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """A command of an operator on this installation."""
        return self._run(sys.executable, "-m", "hallmark", *map(str, arguments))

    def prefect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(sys.executable, "-m", "prefect", *arguments)

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True
        )

    def kill(self, service: str) -> None:
        """Kill one of its processes as kill -9 does, with all that it started."""
        process = self.process_of(service)
        for child in process.children(recursive=True):
            child.kill()
        process.kill()

    def process_of(self, service: str) -> psutil.Process:
        """One of its processes."""
        said = "deploy.dashboard" if service == "dashboard" else service
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.ZombieProcess):  # killed just now, and not yet missed
                if said.replace(" ", "") in "".join(child.cmdline()).replace(" ", ""):
                    return child
        raise AssertionError(f"no process of {service} is running")


@contextmanager
def installation(
    folder: Path, *options: str | Path, module: str = "deploy.local", **settings: str
) -> Iterator[Installation]:
    """Start server mode on PostgreSQL; stop it and drop its databases afterwards.

    Args:
        module: what starts it.
        settings: of its environment.
    """
    name, port = f"hallmark_test_{uuid.uuid4().hex[:12]}", free_port(row=3)
    url = make_url(POSTGRES).set(drivername="postgresql", database=name)
    environment = without_ours() | {
        "HALLMARK_HOME": str(folder / "home"),
        "HALLMARK_DATABASE": url.render_as_string(hide_password=False),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        **settings,
    }
    command = [sys.executable, "-m", module, "--port", str(port), "--workers", "1"]
    command += ["--out", str(folder / "out"), *map(str, options)]
    log = folder / "up.txt"
    with _postgres().connect() as connection:
        for database in _databases(name):
            make_database(connection, database)
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=said, stderr=subprocess.STDOUT
        )
    try:
        _wait_for(log, process, "Hallmark ")
        yield Installation(folder, port, environment | _settings(folder / "home"), process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)
        _drop(name)


@contextmanager
def agency(
    folder: Path, *options: str | Path, module: str = "deploy.local", **settings: str
) -> Iterator[Installation]:
    """Server mode with an agency's people, its cluster, and an account for the test's people."""
    with installation(folder, *options, module=module, **settings) as running:
        cluster = YAML().load(running.home / "profile.yaml")["cluster"]
        introduce(folder / "keys", running.home, cluster=dict(cluster), **PROFILE)
        opened = running.hallmark(
            "ledger", "open", "test-people", "--epsilon", "4", "--delta", "1e-4",
            "--reason", "tests",
        )  # fmt: skip
        assert opened.returncode == 0, opened.stderr
        yield running


def need_browser() -> str:
    """Path of Chromium; skips the test where it is missing."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    return chromium


def need_postgres() -> None:
    """Skips the test where PostgreSQL is missing."""
    engine = create_engine(POSTGRES, poolclass=NullPool, connect_args={"connect_timeout": 3})
    try:
        engine.connect().close()
    except OperationalError:
        pytest.skip("no PostgreSQL server answers; set HALLMARK_TEST_POSTGRES to the URL of one")


@contextmanager
def browser(chromium: str) -> Iterator[Browser]:
    """A headless browser, whose temporary files have short names: its sockets' are limited."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", short)
        with sync_playwright() as playwright:
            running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            patch.undo()
            yield running
            running.close()


def accept(page: Page, address: str) -> None:
    """Follow the link of an invitation, choose the password and set up codes."""
    page.goto(address)
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.fill("#code", pyotp.TOTP(page.locator("code.seed").inner_text()).now())
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_role("heading", name="Releases")).to_be_visible()


def comes_to(page: Page, *states: str) -> None:
    """Go to the page of a release, which is open, until it shows one of some states."""
    deadline = time.monotonic() + SECONDS
    while (state := _state(page)) not in states:
        assert time.monotonic() < deadline, f"{page.url} shows {state}, never {' or '.join(states)}"
        time.sleep(0.1)


def _state(page: Page) -> str:
    try:
        page.goto(page.url)
    except Error as error:  # it was just loading itself again, since its state changed
        if "interrupted by another navigation" in str(error) or "ERR_ABORTED" in str(error):
            return ""
        raise
    return page.get_by_label("Where it stands").locator(".state").inner_text()


def signed_in(running: Browser, agency: Installation) -> Page:
    """The dashboard as an operator sees it after giving the password."""
    page = running.new_context(viewport={"width": 1300, "height": 1000}).new_page()
    page.set_default_timeout(SECONDS * 1000)
    page.goto(agency.dashboard)
    page.locator("input[type=password]").fill(agency.password("dashboard"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard")
    return page


def fill_form(page: Page, agency: Installation, deployment: str, **values: str) -> None:
    """Start a run from the form of a deployment, with these fields changed, and go to the run."""
    page.goto(f"{agency.dashboard}/deployments")
    page.get_by_text(deployment, exact=True).first.click()
    page.wait_for_url("**/deployment/*")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("Custom run").click()
    page.wait_for_url("**/run?*")
    for label, value in values.items():
        named = page.locator(
            ".schema-form-property__label", has_text=re.compile(rf"^{label}( \(Optional\))?$")
        )
        named.first.wait_for()
        field = named.locator("xpath=ancestor::div[contains(@class,'schema-form-property ')][1]")
        field.locator("textarea, input").first.fill(value)
    earlier = agency.runs(deployment)
    page.get_by_role("button", name="Submit").click()
    wait_until(lambda: len(agency.runs(deployment)) > len(earlier), "the run is there")
    page.goto(f"{agency.dashboard}/runs/flow-run/{agency.runs(deployment)[0]['id']}")


def _settings(home: Path) -> dict[str, str]:
    """What a shell gets that sources the environment file."""
    command = f". {home / 'environment'} && env -0"
    said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    pairs = (line.partition("=") for line in said.split("\0") if line)
    return {k: v for k, _, v in pairs if k.startswith(("HALLMARK_", "PREFECT_"))}


def _wait_for(log: Path, process: subprocess.Popen[Any], word: str) -> None:
    def said() -> bool:
        assert process.poll() is None, f"it ended:\n{log.read_text()}"
        return word in log.read_text()

    try:
        wait_until(said, f"server mode says {word}")
    except AssertionError as error:
        for file in (log, *sorted((log.parent / "home" / "logs").glob("*.log"))):
            error.add_note(f"{file.name}: {file.read_text()[-2000:]}")
        raise


def _drop(name: str) -> None:
    with _postgres().connect() as connection:
        for database in _databases(name):
            connection.execute(text(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)"))


def _postgres() -> Engine:
    return create_engine(POSTGRES, poolclass=NullPool, isolation_level="AUTOCOMMIT")


def _databases(name: str) -> list[str]:
    return [f"{name}_{purpose}" for purpose in ("ledger", "prefect")]
