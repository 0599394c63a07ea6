"""Real runs that are stopped: they say how to go on, and leave no process behind."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types
import pytest

from hallmark.flows.cli.exits import ExitCode
from tests.flows.house import House, Run
from tests.flows.services import SECONDS

# Some seconds of generating, so that there is time to be stopped in.
LENGTHY = {"name": "privpgd", "generator": {"descent": {"epochs": 60}, "particles": 3000}}
STOPPED = "Stopped. Nothing is lost: run it again with --resume to continue"

pytestmark = pytest.mark.service


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house without a Prefect server: each run starts its own."""
    return House.build(tmp_path, mechanism=LENGTHY)


def starts(_: House, run: Run) -> bool:
    """Whether the run has started its server, before it plans."""
    return any("uvicorn" in command(one) for one in run.children())


def command(process: psutil.Process) -> list[str]:
    """The command line of a process; empty where it has ended."""
    with suppress(psutil.NoSuchProcess):
        return list(process.cmdline())
    return []


def generates(house: House, run: Run) -> bool:
    """Whether the run has drawn, in its flow."""
    return bool(house.outcomes())


def left(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those of the processes that do not end in time."""
    _gone, alive = psutil.wait_procs(processes, timeout=SECONDS)
    return [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, ExitCode.INTERRUPTED, marks=pytest.mark.slow),
        (signal.SIGTERM, ExitCode.TERMINATED),
    ],
)
@pytest.mark.parametrize("moment", [pytest.param(starts, marks=pytest.mark.slow), generates])
def test_a_stopped_run_says_how_to_go_on_and_leaves_no_process_behind(
    house: House, number: int, code: ExitCode, moment: Callable[[House, Run], bool]
) -> None:
    run = house.start("--processes", "1")
    run.wait_until(lambda: moment(house, run))
    children = run.children()
    assert sum("uvicorn" in command(one) for one in children) == 1  # none of a worker
    run.process.send_signal(number)
    assert (run.finish(), run.said.count(STOPPED)) == (code, 1), run.said
    assert "Traceback" not in run.said
    assert left(children) == []
    assert house.state() == (None if moment is starts else "spent")


@pytest.mark.slow  # it tells its server for a minute that it ends
def test_a_run_that_is_stopped_together_with_its_server_ends_all_the_same(house: House) -> None:
    """As a service manager stops all processes of a unit."""
    run = house.start("--processes", "1")
    run.wait_until(house.outcomes)
    children = run.children()
    os.killpg(run.process.pid, signal.SIGTERM)
    assert (run.finish(), run.said.count(STOPPED)) == (ExitCode.TERMINATED, 1), run.said
    assert left(children) == []
