"""Commands refuse a pipe or a device in the place of a file, in words and at once."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests import example
from tests.flows.conftest import Hallmark

SECONDS = 30  # until a command that reads on is stopped


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    def stop(*_: object) -> NoReturn:
        raise AssertionError("it reads on")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=["pipe", "device"])
def irregular(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Named as any kind of file is."""
    place = tmp_path / "given.csv"
    if request.param == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/null")
    return place


COMMANDS = [
    ("init", "{}"),
    ("init", "--dictionary", "{}"),
    ("validate", "{}"),
    ("plan", "{}"),
    ("release", "{}"),
    ("rehearse", "{}"),
    ("validate", "--data", "SPEC"),
    ("certify", "SPEC", "{}"),
    ("evaluate", "SPEC", "--synthetic", "{}"),
    ("query", "FOLDER", "count"),
    ("compare", "FOLDER", "FOLDER", "count"),
    ("compare", "FOLDER", "FOLDER", "--recode", "{}"),
    ("verify", "FOLDER"),
    ("verify", "FOLDER", "--keys", "{}"),
    ("calendar", "show", "{}"),
    ("approve", "r", "--name", "A", "--role", "b", "--reason", "c", "--key", "{}"),
    ("ledger", "verify", "test-people", "--anchor", "{}"),
    ("people", "check-log", "{}"),
    ("restore", "{}"),
    ("report", "FOLDER"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_is_no_file_is_refused(
    command: tuple[str, ...], irregular: Path, tmp_path: Path, hallmark: Hallmark
) -> None:
    example.open_account()
    spec = example.write(tmp_path, 300)
    if command[0] == "validate":
        (tmp_path / "table.csv").unlink()
        irregular.rename(tmp_path / "table.csv")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("manifest.json", "release-spec.yaml", "audit-report.html"):
        (folder / name).symlink_to(irregular)
    known = {"SPEC": str(spec), "FOLDER": str(folder), "{}": str(irregular)}
    done = hallmark(*(known.get(word, word) for word in command))
    assert done.code not in (0, None), done
    assert "Traceback" not in done.err + done.out
