"""Whole releases that are killed, crowded or cut off: one draw, one charge, and a way to go on.

Kills hit real `hallmark` processes with all their children. Where a moment is too short to be hit
by watching, the test holds up something the run needs then (the ledger's lock, the signing key), so
that the kill falls into that moment on a slow machine and on a fast one.
"""

import errno
import os
import signal
from fractions import Fraction
from pathlib import Path

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from distributed import Client

from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.tasks.planning.prepare import prepare
from tests.flows.house import ACCOUNT, RELEASE, House, Run
from tests.flows.services import SECONDS, dask_cluster, wait_until
from tests.flows.story import disagreements, violations

pytestmark = pytest.mark.service

USAGE, DATA, BUDGET = 2, 3, 4  # exit statuses
# Some seconds of generating, so that there is time to be killed in.
LENGTHY = {
    "name": "privpgd",
    "generator": {"descent": {"epochs": 60}, "particles": 3000},
}


@pytest.fixture
def settings(prefect_server: str) -> dict[str, str]:
    return {"PREFECT_API_URL": prefect_server}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def house(request: pytest.FixtureRequest, tmp_path: Path, settings: dict[str, str]) -> House:
    """A house with each kind of ledger."""
    ledger = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return House.build(tmp_path, ledger=ledger, settings=settings, mechanism=LENGTHY)


@pytest.fixture
def quick_house(tmp_path: Path, settings: dict[str, str]) -> House:
    """A house whose releases take no longer than they must."""
    return House.build(tmp_path, settings=settings)


def progress_artifacts(api: str) -> int:
    """How often a release began to generate, as the Prefect server knows."""
    key = {"artifacts": {"key": {"any_": ["generate-progress"]}}}
    count: int = httpx.post(f"{api}/artifacts/count", json=key, timeout=SECONDS).json()
    return count


class Key:
    """A signing key in a named pipe: who reads it waits until the test hands it over."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        self._pem = Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )

    def hand_over(self, run: Run) -> None:
        """Let `run` read the key, if it waits for it."""
        if (pipe := self.opened()) is not None:
            os.write(pipe, self._pem)
            os.close(pipe)
            run.wait_until(lambda: not self._read_by(run))

    def opened(self) -> int | None:
        """The pipe's end to write to, which keeps a reader waiting; None where nobody reads."""
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return None

    def _read_by(self, run: Run) -> bool:
        return any(map(self._is_ours, Path(f"/proc/{run.process.pid}/fd").iterdir()))

    def _is_ours(self, file: Path) -> bool:
        try:
            return file.samefile(self.path)
        except FileNotFoundError:  # closed meanwhile
            return False


def test_a_release_killed_at_every_stage_in_turn_is_drawn_and_charged_once(
    house: House, prefect_server: str
) -> None:
    run = house.start()
    run.wait_until(lambda: house.state() == "reserved")
    run.kill()
    assert house.outcomes() == []

    status, said = house.release()
    assert (status, house.state()) == (USAGE, "reserved")
    assert "--resume" in said

    run = house.start("--resume")
    run.wait_until(house.coded)
    with house.ledger_held():  # noise is drawn, and cannot become durable
        run.wait_until(lambda: house.waits_for_ledger(run))
        run.kill()
    assert (house.state(), house.outcomes()) == ("reserved", [])

    run = house.start("--resume")
    run.wait_until(house.outcomes)
    run.kill()
    drawn = house.outcomes()
    assert violations(house) == []
    status, said = house.release()
    assert (status, "--resume" in said) == (USAGE, True)

    begun = progress_artifacts(prefect_server)
    run = house.start("--resume")
    run.wait_until(lambda: progress_artifacts(prefect_server) > begun)
    run.kill()
    assert not (house.workspace / "synthetic.npy").exists()

    assert house.release("--resume")[0] == 0
    assert house.outcomes() == drawn
    assert violations(house) == []
    assert disagreements(house) == []

    status, said = house.release()  # once more, though it is published
    assert (status, "published before" in said) == (0, True)
    assert house.outcomes() == drawn
    assert violations(house) == []


def test_a_release_killed_while_it_is_published_appears_whole_or_not_at_all(
    quick_house: House,
) -> None:
    house, key = quick_house, Key(quick_house.folder / "key.pem")
    report = house.workspace / "staging" / "audit-report.html"

    def reported() -> bool:
        key.hand_over(run)
        return report.exists()

    run = house.start(HALLMARK_SIGNING_KEY_FILE=str(key.path))
    run.wait_until(reported)
    run.wait_until(lambda: key.opened() is not None)  # to sign with, in the last stage
    run.kill()
    drawn = house.outcomes()
    assert not house.published.exists()

    assert house.release("--resume")[0] == 0
    assert [path.name for path in house.published.parent.iterdir()] == [RELEASE]
    assert house.outcomes() == drawn
    assert violations(house) == disagreements(house) == []

    synthetic = np.load(house.workspace / "synthetic.npy")
    np.save(house.workspace / "synthetic.npy", np.roll(synthetic, 1, axis=0))
    assert disagreements(house) == [
        "the synthetic records do not follow from the logged outcome"
    ], "the check must be able to fail"


def test_a_charge_too_many_and_a_missing_one_are_both_noticed(quick_house: House) -> None:
    house, plan = quick_house, prepare(quick_house.folder / "spec.yaml").plan
    house.ledger.reserve(ACCOUNT, RELEASE, plan.budget, adjacency=plan.adjacency, binding="plan")
    assert "0 calls were charged, not 1" in violations(house)
    for call in ("marginals", "marginals, drawn again"):
        event = ExponentialMechanism(epsilon=Fraction(1, 9))
        house.ledger.record(RELEASE, call, "request", [event], b"outcome", lambda _standing: None)
    assert violations(house) == ["2 calls were charged, not 1", "2 outcomes are in the log, not 1"]


def test_a_run_that_fails_validation_reserves_nothing_and_may_start_again(
    quick_house: House,
) -> None:
    house, source = quick_house, quick_house.folder / "table.csv"
    sound = source.read_text()
    source.write_text(sound.replace(",01,", ",99,", 1))
    status, said = house.release()
    assert (status, house.state()) == (DATA, "cancelled")
    assert "columns.region" in said
    assert not any(house.ledger.account(ACCOUNT).reserved)

    source.write_text(sound)
    assert house.release()[0] == 0
    assert violations(house) == []


@pytest.mark.slow
def test_two_runs_of_a_release_at_once_draw_once_and_publish_once(quick_house: House) -> None:
    house, key = quick_house, Key(quick_house.folder / "key.pem")
    # Whichever is first waits for its key, so it cannot be done before the other one begins.
    runs = [house.start(HALLMARK_SIGNING_KEY_FILE=str(key.path)) for _ in range(2)]
    wait_until(lambda: any(run.ended for run in runs), "one of them is refused")
    refused, other = sorted(runs, key=lambda run: not run.ended)
    assert refused.finish() == USAGE
    assert "another run of release" in refused.said

    def published() -> bool:
        key.hand_over(other)
        return house.published.exists()

    other.wait_until(published)
    assert other.finish() == 0
    assert [path.name for path in house.published.parent.iterdir()] == [RELEASE]
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
def test_of_two_releases_that_together_overspend_exactly_one_starts(quick_house: House) -> None:
    house, other = quick_house, quick_house.folder / "other.yaml"
    text = (house.folder / "spec.yaml").read_text()
    other.write_text(text.replace(f"release: {RELEASE}", "release: other-release"))
    runs = [house.start(), house.start(spec=other.name)]
    assert sorted(run.finish() for run in runs) == [0, BUDGET]
    refused = next(run for run in runs if run.process.returncode == BUDGET)
    assert "is left of the cap" in refused.said
    assert len(list(house.published.parent.iterdir())) == 1
    assert sorted([house.state(RELEASE), house.state("other-release")], key=str) == [None, "spent"]
    assert violations(house) == []


@pytest.mark.slow
def test_a_release_survives_the_loss_of_its_database_connection(
    tmp_path: Path, settings: dict[str, str], postgres: str
) -> None:
    house = House.build(tmp_path, ledger=postgres, settings=settings)

    run = house.start()
    run.wait_until(house.coded)
    with house.ledger_held():  # noise is drawn, and cannot become durable
        run.wait_until(house.lock_waiters)
        house.close_database(closed=True)
        status = run.finish()
    house.close_database(closed=False)
    assert status == BUDGET
    assert "does not answer" in run.said
    assert (house.state(), house.outcomes()) == ("reserved", [])

    run = house.start("--resume")
    run.wait_until(house.coded)
    with house.ledger_held():
        cut: set[int] = set()
        while len(cut) < 3:
            run.wait_until(lambda: set(house.lock_waiters()) - cut)
            for connection in house.lock_waiters():
                house.terminate(connection)
                cut.add(connection)
    assert run.finish() == 0, run.said
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
def test_a_release_goes_on_when_a_worker_is_killed_counting_and_another_generating(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    house = in_parts(House.build(tmp_path, settings=settings, mechanism=LENGTHY))
    with (
        dask_cluster(tmp_path / "dask", {"HALLMARK_HOME": str(house.home)}) as address,
        Client(address, timeout=SECONDS, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=SECONDS)
        run = house.start("--scheduler", address)
        run.wait_until(house.coded)  # the workers were found fit, which a stopped one is not
        with house.ledger_held(from_readers=True):  # the flow looks into it before it counts
            run.wait_until(lambda: house.waits_for_ledger(run))
            victim, pid = next(iter(client.run(os.getpid).items()))
            os.kill(pid, signal.SIGSTOP)
        run.wait_until(lambda: works_on(client, "_count_files", victim))
        os.kill(pid, signal.SIGKILL)

        run.wait_until(lambda: works_on(client, "generate"))
        (victim,) = works_on(client, "generate")
        os.kill(client.run(os.getpid, workers=[victim])[victim], signal.SIGKILL)
        assert not (house.workspace / "synthetic.npy").exists()
        assert run.finish() == 0, run.said
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
def test_a_release_goes_on_when_all_its_worker_processes_are_killed(
    tmp_path: Path, settings: dict[str, str], prefect_server: str
) -> None:
    house = House.build(tmp_path, settings=settings, mechanism=LENGTHY)
    begun = progress_artifacts(prefect_server)
    run = house.start("--processes", "2")
    run.wait_until(lambda: progress_artifacts(prefect_server) > begun)
    workers = [child for child in run.children() if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    for worker in workers:
        worker.kill()
    assert not (house.workspace / "synthetic.npy").exists()
    assert run.finish() == 0, run.said
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
def test_two_operators_who_share_a_ledger_and_an_output_folder_publish_one_release(
    tmp_path: Path, settings: dict[str, str], postgres: str
) -> None:
    house = House.build(tmp_path, ledger=postgres, settings=settings, mechanism=LENGTHY)
    (tmp_path / "second-home").mkdir()
    runs = [house.start("--resume")]
    runs.append(house.start("--resume", HALLMARK_HOME=str(tmp_path / "second-home")))
    assert [run.finish() for run in runs] == [0, 0], [run.said for run in runs]
    assert [path.name for path in house.published.parent.iterdir()] == [RELEASE]
    assert violations(house) == disagreements(house) == []


def in_parts(house: House) -> House:
    """The same house, its table split into a folder of eight files."""
    header, *rows = (house.folder / "table.csv").read_text().splitlines(keepends=True)
    (house.folder / "table").mkdir()
    for part in range(8):
        lines = [header, *rows[part::8]]
        (house.folder / "table" / f"part-{part}.csv").write_text("".join(lines))
    spec = house.folder / "spec.yaml"
    spec.write_text(spec.read_text().replace("table.csv", "table"))
    return house


def works_on(client: Client, task: str, worker: str | None = None) -> list[str]:
    """Workers that have a task of this name, or a worker if it has one."""
    busy = client.processing(workers=worker and [worker]).items()
    return [who for who, keys in busy if any(task in str(key) for key in keys)]
