"""Standing services that whole releases run against: Prefect server, PostgreSQL, Dask cluster."""

import os
import random
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection, NullPool, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

POSTGRES = os.environ.get(
    "HALLMARK_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
)
SECONDS = 600  # the longest that anything is waited for; most of it is reserve for a slow machine


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of the API of a Prefect server, started as an operator would, on loopback."""
    with standing_server(tmp_path_factory.mktemp("prefect-server")) as url:
        yield url


@contextmanager
def standing_server(folder: Path, **settings: str) -> Iterator[str]:
    """URL of the API of a Prefect server with these settings, on loopback."""
    port = free_port()
    quiet = {
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_DATABASE_TIMEOUT": str(SECONDS),
    }
    command = ["prefect", "server", "start", "--port", str(port), "--no-ui"]
    with service(command, folder, {"PREFECT_HOME": str(folder)} | quiet | settings):
        url = f"http://127.0.0.1:{port}/api"
        wait_until(lambda: answers(f"{url}/health"), "the Prefect server answers")
        yield url


@contextmanager
def desk_process(folder: Path, port: int, settings: dict[str, str]) -> Iterator[None]:
    """A desk that answers on this port meanwhile, as a process."""
    command = ["uvicorn", "hallmark.flows.desk:desk", "--port", str(port)]
    with service(command, folder, settings):
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/health"), "the desk answers")
        yield


def answers(url: str) -> bool:
    """Whether a web server has what is there."""
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.HTTPError:
        return False


def without_ours() -> dict[str, str]:
    """The environment without what the tests' own orchestrator and home put there."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("HALLMARK_", "PREFECT_"))}


@pytest.fixture
def postgres() -> Iterator[str]:
    """URL of an empty PostgreSQL database of the test's own, dropped afterwards."""
    server = create_engine(
        POSTGRES,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"connect_timeout": 3},
    )
    name = f"hallmark_test_{uuid.uuid4().hex}"
    try:
        with server.connect() as connection:
            make_database(connection, name)
    except OperationalError:
        pytest.skip("no PostgreSQL server answers; set HALLMARK_TEST_POSTGRES to the URL of one")
    yield make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def make_database(connection: Connection, name: str) -> None:
    """Make a database on a test server, which need not survive the loss of the machine."""
    connection.execute(text(f"CREATE DATABASE {name}"))
    connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))


@contextmanager
def dask_cluster(folder: Path, settings: dict[str, str], workers: int = 2) -> Iterator[str]:
    """Address of a standing scheduler with worker processes, each of one thread with a nanny."""
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = ["distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    with ExitStack() as running:
        running.enter_context(service(scheduler, folder / "scheduler", settings))
        for number in range(workers):
            running.enter_context(service(worker, folder / f"worker-{number}", settings))
        yield address


@contextmanager
def service(
    command: list[str], folder: Path, settings: dict[str, str], within: Sequence[str] = ()
) -> Iterator[None]:
    """A Python module that runs as a process meanwhile, with `folder` for all that it writes.

    `within` is what starts it, such as `ip netns exec NAME`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [*within, sys.executable, "-m", *command],
            env=without_ours() | {"TMPDIR": str(folder)} | settings,
            cwd=folder,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:  # a worker's nanny may wait for a worker that is gone
            process.kill()
            process.wait()


def free_port(row: int = 1) -> int:
    """The first of some TCP ports in a row that nobody listens on just now.

    None of them is one that the system may meanwhile give to whoever connects to somebody.
    """
    while True:
        port = random.randrange(10_000, 32_000)
        with ExitStack() as probes, suppress(OSError):
            for number in range(port, port + row):
                probes.enter_context(socket.create_server(("127.0.0.1", number)))
            return port


def wait_until(happened: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
    """Return as soon as something has happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"this never happened: {what}"
        time.sleep(0.1)  # who asks too often takes the time of what is waited for
