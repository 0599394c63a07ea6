"""Standing services for whole releases: a Prefect server, a PostgreSQL database."""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import NullPool, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

POSTGRES = os.environ.get(
    "HALLMARK_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
)


def free_port() -> int:
    """A TCP port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of the API of a Prefect server, started as an operator would, on loopback."""
    folder, port = tmp_path_factory.mktemp("prefect-server"), free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")} | {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    with (folder / "said.txt").open("wb") as said:
        server = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--port", str(port), "--no-ui"],
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}/api"
    try:
        _await_health(server, url)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def _await_health(server: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert server.poll() is None, "the Prefect server ended"
        try:
            if httpx.get(f"{url}/health").status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise AssertionError("the Prefect server does not answer")


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
            connection.execute(text(f"CREATE DATABASE {name}"))
    except OperationalError:
        pytest.skip("no PostgreSQL server answers; set HALLMARK_TEST_POSTGRES to the URL of one")
    yield make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
