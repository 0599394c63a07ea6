"""The command line as a user meets it, in this process: arguments in, exit code and texts out."""

import io
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests import example
from tests.flows.people import ROLES, introduce
from tests.flows.services import postgres, prefect_server

if TYPE_CHECKING:  # the browser's library is imported by those who open one
    from playwright.sync_api import Browser

    from tests.flows.server import Installation

__all__ = ["agency", "chrome", "hallmark", "keys", "postgres", "prefect_server"]
TITLE = 'A table made up for the tests [/bold] [x] \x1b[2J </title><script>"alert"(1)</script>'
PLAN_GATE = {"plan": ["methodologist"]}


@dataclass(frozen=True)
class Done:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one error message, without the word that starts it."""
        assert self.err.count("error: ") == 1, self.err
        return self.err.partition("error: ")[2].strip()


Hallmark = Callable[..., Done]


class Killed(Exception):
    """What ends a run in place of a step of it."""


def press_ctrl_c(*_: object, number: int = signal.SIGINT, **__: object) -> NoReturn:
    """In place of a step that takes long, in a library that wraps the interrupt."""
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    raise ValueError("as a library wraps it")


def lose_ctrl_c() -> None:
    """Ctrl-C at the end of something of a library, from which nothing is raised."""

    class Ends:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    Ends()


@pytest.fixture
def hallmark(prefect: None, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hallmark]:
    """Run `hallmark` with these arguments, in a fresh home."""
    # Imported while the streams are the test's own: libraries keep those that they meet first. And
    # before a test puts something in the place of what the flow imports.
    import hallmark.flows.cli.terminal
    import hallmark.flows.release  # noqa: F401
    from hallmark.flows.cli.app import main

    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setenv("COLUMNS", "200")
    mask = os.umask(0o022)

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["hallmark", *map(str, arguments)])
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    yield run
    os.umask(mask)


@pytest.fixture(scope="session")
def agency_that_waits(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home, keys of people and a table, whose release waits at its plan gate."""
    from hallmark.flows.release import release
    from hallmark.schemas.documents.approvals import Waiting

    folder = tmp_path_factory.mktemp("waiting")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        introduce(folder / "keys", folder / "home")
        example.open_account()
        sections = example.only(folder / "data", "age", "region")
        spec = example.write(folder / "data", 400, title=TITLE, approvals=PLAN_GATE, **sections)
        assert isinstance(release(str(spec), str(folder / "out")), Waiting)
    return folder


@pytest.fixture
def keys(agency_that_waits: Path, home: Path) -> dict[str, Path]:
    """Keys of the people, where a release waits for the approval of its plan."""
    shutil.copytree(agency_that_waits / "home", home, dirs_exist_ok=True)
    return {name: agency_that_waits / "keys" / f"{name}.pem" for name in ROLES}


@pytest.fixture(scope="module")
def chrome() -> "Iterator[Browser]":
    """A headless browser; no longer than a module, since nothing else may run a loop meanwhile."""
    from tests.flows.server import browser, need_browser

    with browser(need_browser()) as running:
        yield running


@pytest.fixture(scope="session")
def agency(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Installation]":
    """Server mode with an agency's people, for tests of which each names releases of its own."""
    from tests.flows import server

    server.need_postgres()
    with server.agency(tmp_path_factory.mktemp("agency")) as running:
        yield running
