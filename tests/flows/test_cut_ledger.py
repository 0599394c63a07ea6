"""The administrator of a ledger cuts its end off: nothing is drawn again, and who looks sees it.

Whole installations on PostgreSQL, which take minutes: run them with `make test-services`.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.ledger.anchors import read
from tests import example
from tests.flows.house import House
from tests.flows.server import Installation, installation, need_postgres
from tests.flows.services import wait_until
from tests.tasks.cut import ACCOUNT, cut

pytestmark = pytest.mark.service

MST = {"name": "mst"}
PURE = {"neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1e-5"}


@pytest.mark.parametrize(
    "left",
    [pytest.param(2, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow), 0],
    ids=lambda left: f"{left} entries left",
)
def test_a_run_that_was_killed_after_a_draw_does_not_draw_it_again(
    left: int, postgres: str, tmp_path: Path
):
    house = House.build(tmp_path, ledger=postgres, mechanism=MST)
    run = house.start()
    anchors = house.home / "ledger-anchors.jsonl"
    run.wait_until(lambda: any(one.anchor.head.entries > 2 for one in read(anchors)))  # a charge
    run.kill()
    assert house.outcomes()
    cut(postgres, left)
    assert house.outcomes() == []
    code, said = house.release("--resume")
    assert code == ExitCode.BUDGET, said
    assert f"ends at entry {left}, and lacks entry" in " ".join(said.split())
    assert house.outcomes() == []


@pytest.fixture
def agency(tmp_path: Path) -> Iterator[Installation]:
    need_postgres()
    with installation(tmp_path) as running:
        yield running


@pytest.mark.slow
def test_a_ledger_cut_to_its_first_entry_is_refused_by_the_server_and_seen_by_an_auditor(
    agency: Installation, tmp_path: Path
):
    ledger = agency.environment["HALLMARK_LEDGER"]
    opening = ("--epsilon", "2", "--delta", "1e-4", "--reason", "tests")
    assert agency.hallmark("ledger", "open", ACCOUNT, *opening).returncode == 0
    spec = example.write(tmp_path / "spec", mechanism=MST, privacy=PURE)
    folder = agency.out / "test-release"
    start(agency, spec)
    wait_until(folder.exists, "the release is published")
    whole = agency.hallmark("ledger", "verify", ACCOUNT, "--anchor", folder)
    assert whole.returncode == 0, whole.stderr
    assert "It is the last one." in whole.stdout
    assert "release test-release in" in whole.stdout

    copy = shutil.copytree(folder, tmp_path / "a-data-user" / "test-release")
    cut(ledger, 1)
    shutil.rmtree(folder)
    shutil.rmtree(agency.home / "work" / "test-release")
    book = Ledger(ledger)
    book.verify(ACCOUNT)  # the database itself does not tell
    before = len(agency.runs("on-demand"))
    start(agency, spec)
    wait_until(lambda: len(agency.runs("on-demand")) > before, "the run is there")
    wait_until(lambda: agency.runs("on-demand")[0]["state_type"] == "FAILED", "it has failed")
    assert "lacks entry" in agency.runs("on-demand")[0]["state"]["message"]
    assert [entry.kind for entry in book.entries(ACCOUNT)] == ["open"]
    assert book.reservation("test-release") is None
    assert not folder.exists()
    for command in (("ledger", "verify", ACCOUNT), ("ledger", "cap", ACCOUNT, *opening)):
        refused = agency.hallmark(*command)
        assert refused.returncode == ExitCode.BUDGET
        assert "ends at entry 1, and lacks entry" in refused.stderr
    assert "lacks entry" in agency.hallmark("doctor", "--json").stdout

    (agency.home / "ledger-anchors.jsonl").unlink()  # the administrator got there, too
    assert agency.hallmark("ledger", "verify", ACCOUNT).returncode == 0
    seen = agency.hallmark("ledger", "verify", ACCOUNT, "--anchor", copy)
    assert seen.returncode == ExitCode.BUDGET
    assert "that release test-release in" in seen.stderr


def start(agency: Installation, spec: Path) -> None:
    """Start a release from the server's deployment, as an operator's script would."""
    given = ("--param", f"spec={spec}", "--param", f"out={agency.out}")
    started = agency.prefect("deployment", "run", "release/on-demand", *given)
    assert started.returncode == 0, started.stderr
