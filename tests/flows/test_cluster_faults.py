"""Releases on hosts that fail: workers killed at each stage, and a worker cut off from the rest.

The flow with its Prefect server, the scheduler and the workers are processes on hosts of their own
(network namespaces). Whatever happens to the workers, the release is finished, its noise is drawn
once, its charge is made once, and what is published follows from what is in the log.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.flows.house import House
from tests.flows.namespaces import Hosts, hosts, why_no_hosts
from tests.flows.services import SECONDS, service
from tests.flows.story import disagreements, violations
from tests.flows.test_chaos import in_parts

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(bool(why_no_hosts()), reason=why_no_hosts()),
]

ROOT = Path(__file__).parents[2]
FAILED = 1  # exit status
WORKERS = ("worker-0", "worker-1")
# What workers execute, stage by stage: validate, privatize, generate, finalise.
STAGES = ("read_part", "_count_files", "generate", "_write_batch")
# A worker that is cut off is given up after seconds, not after minutes.
IMPATIENT = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10 seconds",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
}


@dataclass(frozen=True)
class Office:
    """The hosts, and the API of the Prefect server on the first of them."""

    hosts: Hosts
    api: str


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with hosts("office", "scheduler", *WORKERS) as made:
        folder, address = tmp_path_factory.mktemp("prefect-server"), made.address("office")
        settings = {
            "PREFECT_HOME": str(folder),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
        }
        command = ["prefect", "server", "start", "--host", address, "--port", "4200", "--no-ui"]
        with service(command, folder, settings, made.within("office")):
            api = f"http://{address}:4200/api"
            asked = [*made.within("office"), sys.executable, "-c", _UNTIL_HEALTHY, f"{api}/health"]
            subprocess.run(asked, check=True, timeout=SECONDS)
            yield Office(made, api)


_UNTIL_HEALTHY = """
import sys, time, urllib.request
while True:
    try:
        urllib.request.urlopen(sys.argv[1])
        break
    except OSError:
        time.sleep(0.2)
"""


@pytest.fixture
def house(tmp_path: Path, office: Office) -> House:
    """A house in the office, with a table in eight parts."""
    built, within = in_parts(House.build(tmp_path)), tuple(office.hosts.within("office"))
    return replace(built, settings={"PREFECT_API_URL": office.api}, within=within)


class Faults:
    """What is to happen to workers, and what has; see `tests.flows.saboteur`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.ordered = 0

    def order(self, kind: str, task: str) -> None:
        (self.folder / f"{kind}-{task}").touch()

    def again(self, kind: str, task: str) -> int:
        """Order it once more if it was met; how often it was ordered."""
        if not (self.folder / f"{kind}-{task}").exists():
            self.ordered += 1
            self.order(kind, task)
        return self.ordered

    def met(self, task: str) -> list[str]:
        """Workers that met a fault at this task."""
        return [
            file.name.removeprefix(f"met-{task}-") for file in self.folder.glob(f"met-{task}-*")
        ]


@contextmanager
def cluster(house: House, office: Office, faults: Faults, **settings: str) -> Iterator[str]:
    """Address of a scheduler on a host of its own, with a worker on each of two others."""
    made, folder = office.hosts, house.folder / "dask"
    settings |= {
        "PYTHONPATH": str(ROOT),
        "PREFECT_API_URL": office.api,
        "HALLMARK_HOME": str(house.home),
        "HALLMARK_TEST_FAULTS": str(faults.folder),
    }
    address = f"tcp://{made.address('scheduler')}:8786"
    command = ["distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"]
    with ExitStack() as running:
        running.enter_context(
            service(command, folder / "scheduler", settings, made.within("scheduler"))
        )
        for name in WORKERS:
            command = [
                "distributed.cli.dask_worker", address, "--host", made.address(name),
                "--name", name, "--nthreads", "1", "--no-dashboard",
                "--preload", "tests.flows.saboteur",
            ]  # fmt: skip
            running.enter_context(service(command, folder / name, settings, made.within(name)))
        try:
            yield address
        finally:
            for name in WORKERS:  # or one that is cut off would not end
                made.mend(name)


def test_a_release_goes_on_when_a_worker_is_killed_at_each_stage(
    house: House, office: Office
) -> None:
    faults = Faults(house.folder / "faults")
    for task in STAGES:
        faults.order("kill", task)
    with cluster(house, office, faults) as address:
        run = house.start("--scheduler", address)
        assert run.finish() == 0, run.said
    assert [len(faults.met(task)) for task in STAGES] == [1] * len(STAGES)
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
@pytest.mark.parametrize("task", STAGES)
def test_a_release_goes_on_when_a_worker_is_cut_off_and_comes_back(
    task: str, house: House, office: Office
) -> None:
    """The worker that is given up for dead goes on working, beside the one that does it again."""
    faults = Faults(house.folder / "faults")
    faults.order("tell", task)
    with cluster(house, office, faults, **IMPATIENT) as address:
        run = house.start("--scheduler", address, **IMPATIENT)
        run.wait_until(lambda: faults.met(task))
        (lost,) = faults.met(task)
        office.hosts.cut(lost)
        faults.order("tell", task)
        run.wait_until(lambda: len(faults.met(task)) == 2)
        office.hosts.mend(lost)
        assert run.finish() == 0, run.said
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
def test_a_release_that_loses_its_scheduler_ends_and_is_resumed(
    house: House, office: Office
) -> None:
    faults = Faults(house.folder / "faults")
    faults.order("tell", "_count_files")
    with cluster(house, office, faults) as address:
        run = house.start("--scheduler", address, **IMPATIENT)
        run.wait_until(lambda: faults.met("_count_files"))
        office.hosts.cut("scheduler")
        try:
            assert run.finish() == FAILED
        finally:
            office.hosts.mend("scheduler")
    assert "the scheduler was lost; see that it is up" in run.said
    assert (house.state(), house.outcomes()) == ("cancelled", [])  # nothing was drawn
    with cluster(house, office, faults) as address:
        status, said = house.release("--resume", "--scheduler", address)
    assert status == 0, said
    assert violations(house) == disagreements(house) == []


@pytest.mark.slow
def test_a_task_that_kills_every_worker_ends_the_release_in_words(
    house: House, office: Office
) -> None:
    faults = Faults(house.folder / "faults")
    with cluster(house, office, faults) as address:
        run = house.start("--scheduler", address)
        run.wait_until(lambda: faults.again("kill", "generate") > 3)
        assert run.finish() == FAILED
    assert "worker after worker died at generate" in run.said
    assert len(house.outcomes()) == 1
    status, said = house.release("--resume")
    assert status == 0, said
    assert violations(house) == disagreements(house) == []
