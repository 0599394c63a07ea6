"""A new home starts from a kept empty database of the orchestrator; a damaged one is no harm."""

import os
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from hallmark.flows import quiet

_START = """
from hallmark.flows import quiet
quiet.configure()
quiet.start_orchestrator().join()
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    assert client.read_flow_runs() == []
print("up")
"""


def start(home: Path, cache: Path) -> None:
    """Start the orchestrator of a home in a program of its own, and ask it something."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    env = kept | {"HALLMARK_HOME": str(home), "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", _START], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "up", done.stderr


def revision(database: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall()


def begin_database(_: object) -> None:
    """In place of a server that starts: make its database, unless that is there."""
    with closing(sqlite3.connect(Path(os.environ["PREFECT_HOME"]) / "prefect.db")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS alembic_version (version_num)")
        if not connection.execute("SELECT * FROM alembic_version").fetchall():
            made = secrets.token_hex(8)
            connection.execute("INSERT INTO alembic_version VALUES (?)", [made])
        connection.commit()


def check_copies(first: Path, cache: Path, second: Callable[[], Path]) -> None:
    """The first home left its database in the cache, and a second one gets that."""
    (kept,) = (cache / "hallmark").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert kept.parent.stat().st_mode & 0o077 == 0
    assert revision(kept) == revision(first)
    before = kept.read_bytes()
    assert revision(second()) == revision(kept)
    assert kept.read_bytes() == before


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Starts the orchestrator of a home without a server; returns where its database is."""

    def start_home(home: str) -> Path:
        folder = tmp_path / home / "prefect"
        folder.mkdir(parents=True)
        monkeypatch.setenv("PREFECT_HOME", str(folder))
        quiet.start_orchestrator().join()
        return folder / "prefect.db"

    nowhere = SimpleNamespace(value=lambda: None)  # this process has a server, as a rule
    monkeypatch.setattr("prefect.settings.PREFECT_API_URL", nowhere)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PREFECT_API_DATABASE_CONNECTION_URL", raising=False)
    mask = os.umask(0o077)  # as `configure` sets it
    yield start_home
    os.umask(mask)


STARTS = "prefect.server.api.server.SubprocessASGIServer.start"


def test_a_new_home_gets_a_copy_of_the_database_that_the_first_one_made(
    started: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STARTS, begin_database)
    check_copies(started("one"), tmp_path / "cache", lambda: started("two"))


def test_a_server_that_made_no_database_leaves_none_to_others(
    started: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STARTS, lambda _: None)
    assert not started("one").exists()
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_real_servers_copy_it_too(tmp_path: Path) -> None:
    def real(home: str) -> Path:
        start(tmp_path / home, tmp_path / "cache")
        return tmp_path / home / "prefect/prefect.db"

    check_copies(real("one"), tmp_path / "cache", lambda: real("two"))


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"no database"])
def test_a_damaged_one_is_left_alone(tmp_path: Path, content: bytes) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"
    damaged = cache / "hallmark" / f"prefect-{version('prefect')}.db"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(content)
    start(home, cache)
    assert damaged.read_bytes() == content
    assert revision(home / "prefect/prefect.db")
