"""A new home starts from a kept empty database of the orchestrator; a damaged one is no harm."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database that the first home of a user left in the cache."""
    folder = tmp_path_factory.mktemp("first")
    start(folder / "home", folder / "cache")
    (database,) = (folder / "cache" / "hallmark").iterdir()
    return database


def test_a_new_home_gets_a_copy_of_the_database_that_the_first_one_made(
    kept: Path, tmp_path: Path
) -> None:
    assert kept.stat().st_mode & 0o077 == 0
    assert kept.parent.stat().st_mode & 0o077 == 0
    before = kept.read_bytes()
    start(tmp_path / "two", kept.parents[1])
    assert revision(tmp_path / "two/prefect/prefect.db") == revision(kept)
    assert kept.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"no database"])
def test_a_damaged_one_is_left_alone(kept: Path, tmp_path: Path, content: bytes) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"
    damaged = cache / "hallmark" / kept.name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(content)
    start(home, cache)
    assert damaged.read_bytes() == content
    assert revision(home / "prefect/prefect.db")
