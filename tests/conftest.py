"""Fixtures shared by tests: a home of their own, Ctrl-C, one quiet orchestrator a session."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from hallmark.flows import quiet

# Before anything imports Prefect: its settings are read once.
os.environ.setdefault("HALLMARK_HOME", "/nonexistent/hallmark-tests-set-their-own-home")

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile(
    "house", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("house")


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
        quiet.configure()
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    # A flow waits up to a second for its heart to stop; nothing here watches the hearts.
    still = temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None})
    with still, prefect_test_harness(server_startup_timeout=120):
        yield
