"""Fixtures shared by tests: a home of their own, Ctrl-C, one orchestrator and one release each."""

import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from hallmark.flows import quiet

if TYPE_CHECKING:
    from tests.tasks.released import Released

# Before anything imports Prefect: its settings are read once. Nobody can make this folder.
os.environ.setdefault("HALLMARK_HOME", "/dev/null/hallmark-tests-set-their-own-home")

# What a client of Starlette calls the application under test.
os.environ.setdefault("HALLMARK_DESK_HOSTS", "testserver")

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile(
    "house", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("house")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and collected tests stay until the end: the garbage collector, which takes a good
    part of the time of collecting them, need not go through them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def coarse_grid_of_losses() -> Iterator[None]:
    """Privacy losses composed on an eighth of the grid, which is most of the time of a plan.

    The bounds hold on every grid; on this one they are wider, by some 1e-5 of epsilon above and by
    a few percent below.
    """
    from tests.losses import coarse_grid

    with coarse_grid():
        yield


@pytest.fixture(autouse=True)
def grid_of_other_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """The product's own grid in tests of whole installations: their processes spend by that one."""
    from tests.losses import own_grid

    with own_grid() if request.node.get_closest_marker("service") else nullcontext():
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh Hallmark home with an SQLite ledger, and without a profile."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HALLMARK_HOME", str(folder))
    for elsewhere in ("HALLMARK_LEDGER", "HALLMARK_PROFILE"):
        monkeypatch.delenv(elsewhere, raising=False)
    return folder


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, also where the shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prefect's own server, quiet and offline, with a database of its own."""
    os.environ["PREFECT_HOME"] = str(tmp_path_factory.mktemp("prefect"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(tmp_path_factory.mktemp("home")))
        # The folder of temporary files is the tests' own again afterwards.
        patch.setenv("TMPDIR", tempfile.gettempdir())
        patch.setattr(tempfile, "tempdir", tempfile.gettempdir())
        quiet.configure()
    from prefect import settings
    from prefect.testing.utilities import prefect_test_harness

    # A flow waits up to a second for its heart to stop; nothing here watches the hearts.
    still = {settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    # Nor does anything look at events here, which take the server half of its time.
    deaf = (
        settings.PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED,
        settings.PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED,
        settings.PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_ENABLED,
        settings.PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED,
        settings.PREFECT_SERVER_LOGS_STREAM_OUT_ENABLED,
    )
    with (
        settings.temporary_settings(still | dict.fromkeys(deaf, False)),
        prefect_test_harness(server_startup_timeout=120),
    ):
        yield


@pytest.fixture(scope="session")
def example_release(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> "Released":
    """The example's release, which many tests look at and none changes."""
    from tests.tasks.released import released

    with pytest.MonkeyPatch.context() as patch:
        for said in ("HALLMARK_PROFILE", "HALLMARK_IMAGE_DIGEST", "HALLMARK_OPERATOR"):
            patch.delenv(said, raising=False)
        with released(tmp_path_factory.mktemp("released")) as done:
            return done


@pytest.fixture
def run(example_release: "Released", home: Path, monkeypatch: pytest.MonkeyPatch) -> "Released":
    """That release, in the home that it was made in."""
    monkeypatch.setenv("HALLMARK_HOME", str(example_release.workspace.path.parents[1]))
    return example_release
