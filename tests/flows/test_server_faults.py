"""Server mode through faults to publication: engines killed at stages, services killed under a run,
full disks. Whatever happens, each call is drawn and charged once, and one release is published.

The desk orders every run, as an operator would, and resumes it.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.people.rights import Role
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.house import RECORD, House
from tests.flows.people import as_somebody
from tests.flows.server import SECONDS, SPEC, Installation, need_postgres
from tests.flows.server import agency as agency_of
from tests.flows.services import answers, wait_until

pytestmark = pytest.mark.service

STAGES = (
    "reserve", "validate", "discretize", "select", "privatize", "generate", "certify", "finalise",
    "report", "publish",
)  # fmt: skip
SOME = ("validate", "privatize", "generate", "publish")
LEDGERS = ("postgres", pytest.param("sqlite", marks=pytest.mark.slow))
ENDED = ("interrupted", "failed")
DESK = "hallmark.flows.desk"
SIZES = {"home": 256, "out": 80, "ledger": 8}  # of the disks, MiB


@dataclass(frozen=True)
class Place:
    """An installation whose disks are small, and of which engines meet faults."""

    agency: Installation
    operator: Mapping[str, str]  # what the desk is sent by an operator
    drawn: set[tuple[object, ...]] = field(default_factory=set)  # rows of the log that were there

    @property
    def faults(self) -> Path:
        return self.agency.folder / "faults"

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.agency.environment["HALLMARK_LEDGER"])

    def write(self, release: str) -> None:
        """A spec of the desk with its table, and an account with the budget of this release."""
        folder, home = self.agency.folder / release, self.agency.home
        spec = example.write(folder, release=release, population={"account": release}, **SPEC)
        for part in ("tables", "specs"):
            (home / part).mkdir(mode=0o700, exist_ok=True)
        table = folder / "table.csv"
        (home / "tables" / f"{release}.csv").write_bytes(table.read_bytes())
        text = spec.read_text().replace(str(table), f"{release}.csv")
        (home / "specs" / f"{release}.yaml").write_text(text)
        cap = Budget(epsilon=Fraction(1, 4), delta=Fraction(1, 10**6))
        self.ledger.open_account(release, cap=cap, adjacency=RECORD, by="tests", reason="tests")

    def start(self, release: str) -> None:
        """Start the release, or resume it if the desk's page offers that."""
        again = {"again": "true"} if 'name="again"' in self.page(release) else {}
        url = f"{self.agency.desk}/releases/{release}/start"
        answer = httpx.post(url, headers=self.operator, data=again, timeout=SECONDS)
        assert answer.status_code == 303, answer.text

    def page(self, release: str) -> str:
        headers = {**self.operator, "Accept": "text/html"}
        url = f"{self.agency.desk}/releases/{release}"
        answer = httpx.get(url, headers=headers, timeout=SECONDS)
        assert answer.status_code == 200, answer.text
        return answer.text

    def comes_to(self, release: str, *states: str) -> None:
        """Return as soon as the desk shows one of these states."""
        wait_until(lambda: self.state(release) in states, f"{release} is {states}", SECONDS)
        self.drew_nothing_twice()

    def state(self, release: str) -> str:
        shown = re.search(r'class="state (\w+)"', self.page(release))
        assert shown is not None
        return shown[1]

    def ask(self, fault: str, said: str = "") -> Path:
        """Have the next engine that comes to a stage meet this; returns what it leaves then."""
        self.faults.joinpath(fault).write_text(said)
        return self.faults / f"met-{fault.partition('-')[2]}"

    def met(self, mark: Path) -> None:
        wait_until(mark.exists, f"{mark.name}", SECONDS)

    def reaches(self, release: str, mark: Path) -> None:
        """Return as soon as a run met a fault; one that ended before is resumed."""
        wait_until(lambda: mark.exists() or self.state(release) in ENDED, mark.name, SECONDS)
        if not mark.exists():
            self.start(release)
        self.met(mark)

    def drew_nothing_twice(self) -> None:
        """What was in the log before is there still, to the byte."""
        url = self.agency.environment["HALLMARK_LEDGER"]
        url = url.replace("postgresql://", "postgresql+psycopg://")
        logged = House(self.agency.folder, url).outcomes()
        assert self.drawn <= set(logged)
        self.drawn.update(logged)

    def is_published_once(self, release: str) -> None:
        """One folder that verifies, one charge of each draw, and nothing reserved any more."""
        self.comes_to(release, "published")
        out = self.agency.out
        assert [one.name for one in out.iterdir() if release in one.name] == [release]
        assert [one.detail for one in verify_release(out / release).checks if not one.ok] == []
        book = self.ledger
        book.verify(release)
        entries = [one for one in book.entries(release) if one.kind == "charge"]
        charges = Counter(one.payload["call"] for one in entries)
        assert set(charges.values()) == {1}
        assert charges.keys() == {call.call for call in book.calls(release)}
        account = book.account(release)
        assert not any(account.reserved)
        assert account.spent == (account.cap.epsilon, account.cap.delta)


@pytest.fixture(scope="module", params=LEDGERS)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Server mode with a ledger of each kind."""
    need_postgres()
    folder = tmp_path_factory.mktemp("faults")
    (folder / "faults").mkdir()
    sabotage = Path(__file__).with_name("sabotage")
    settings = {
        "PYTHONPATH": f"{sabotage}:{Path(__file__).parents[2]}",
        "HALLMARK_TEST_FAULTS": str(folder / "faults"),
        "HALLMARK_TEST_LEDGER": f"sqlite:///{folder / 'ledger' / 'ledger.db'}",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
    }
    module = "deploy.local" if request.param == "postgres" else "tests.flows.up_on_sqlite"
    with small_disks(folder), agency_of(folder, module=module, **settings) as running:
        ledger = running.environment["HALLMARK_LEDGER"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HALLMARK_HOME", str(running.home))
            operator = as_somebody(Role.OPERATOR)
        assert ledger.startswith(request.param)
        yield Place(running, operator)


@contextmanager
def small_disks(folder: Path) -> Iterator[None]:
    """File systems of some MiB for the home, the releases and the ledger, where one may mount."""
    with ExitStack() as mounted:
        for name, size in SIZES.items():
            (folder / name).mkdir(mode=0o755 if name == "out" else 0o700)
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(folder / name)]
            if subprocess.run(mount, capture_output=True).returncode == 0:
                unmount = ["umount", "--lazy", str(folder / name)]
                mounted.callback(subprocess.run, unmount, check=True)
        yield


@pytest.mark.parametrize("stages", [SOME, pytest.param(STAGES, marks=pytest.mark.slow)], ids=len)
def test_a_release_whose_engine_is_killed_at_stages_is_published_once(
    place: Place, stages: tuple[str, ...]
) -> None:
    release = f"killed-at-{len(stages)}"
    place.write(release)
    marks = [place.ask(f"kill-{stage}") for stage in stages]
    for mark in marks:
        place.start(release)
        place.met(mark)
        mark.unlink()
        place.comes_to(release, "interrupted")
        assert not (place.agency.out / release).exists()
    place.start(release)
    place.is_published_once(release)


def test_a_release_under_which_every_service_is_killed_is_published_once(place: Place) -> None:
    """A run ends, at the latest as it next says something, when its worker alone is killed."""
    release, agency = "orphaned", place.agency
    place.write(release)
    marks = [place.ask(f"hold-{stage}") for stage in ("privatize", "generate", "report")]
    place.start(release)
    both = (f"{agency.dashboard}/api/health", f"{agency.desk}/health")
    for mark, service in zip(marks, ("worker start", "dashboard", DESK), strict=True):
        place.reaches(release, mark)
        agency.process_of(service).kill()  # alone
        mark.unlink()
        wait_until(lambda: all(map(answers, both)), "both are back", SECONDS)
    wait_until(lambda: place.state(release) in {"published", *ENDED}, "the last run ends", SECONDS)
    if place.state(release) != "published":
        place.start(release)
    place.is_published_once(release)


@pytest.mark.parametrize(("full", "stage"), [("home", "generate"), ("ledger", "privatize")])
def test_a_release_whose_disk_fills_up_says_so_and_is_published_once_there_is_room(
    place: Place, full: str, stage: str
) -> None:
    release, agency, disk = f"cramped-{full}", place.agency, place.agency.folder / full
    if full == "ledger" and not agency.environment["HALLMARK_LEDGER"].startswith("sqlite"):
        pytest.skip("the disk of PostgreSQL is not ours")
    if not disk.is_mount():
        pytest.skip("only root may mount a small disk")
    place.write(release)
    mark = place.ask(f"fill-{stage}", str(disk / "ballast"))
    place.start(release)
    place.met(mark)
    mark.unlink()
    ended = ("FAILED", "CRASHED")
    wait_until(lambda: agency.runs("on-demand")[0]["state_type"] in ended, "it ends", SECONDS)
    said = agency.runs("on-demand")[0]["state"]["message"]
    assert str(disk) in said
    assert re.search(r"disk of .* is full|No space left", said)
    assert "--resume" in said
    assert [one.name for one in agency.out.iterdir() if release in one.name] == []
    (disk / "ballast").unlink()
    place.start(release)
    place.is_published_once(release)
