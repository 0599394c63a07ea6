"""The command line as a user meets it, in this process: arguments in, exit code and texts out."""

import io
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from tests.flows.services import postgres, prefect_server

__all__ = ["hallmark", "postgres", "prefect_server"]


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
