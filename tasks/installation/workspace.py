"""Where private intermediates live: one restricted folder a release, and nothing outside it.

The home folder (`HALLMARK_HOME`, by default `~/.hallmark`) and everything in it is readable by its
owner alone. It holds the default ledger, the orchestrator's own database (which sees no private
value) and, for each release, a workspace with coded records and internal reviews.
"""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from hallmark.tasks.installation.errors import SafeError

PRIVATE_MODE = 0o700
LEDGER_VARIABLE = "HALLMARK_LEDGER"
WORK = "work"
STAGING = "staging"
CHECKED = "checked.json"
VALUES_PAGE, VALUES, FAILURES = "validation.html", "offending", "failures.log"
"""Names, in a workspace, of what holds private values as they are."""


class AlreadyRunning(SafeError):
    """Another run of the same release is under way in the same workspace."""


def home() -> Path:
    """The home folder, created with mode 0700 where it does not exist."""
    return private_folder(home_place())


def home_place() -> Path:
    """Where the home folder is, or will be."""
    folder = Path(os.environ.get("HALLMARK_HOME") or Path.home() / ".hallmark").expanduser()
    return folder.resolve()


def workspaces_place() -> Path:
    """Where the workspaces of releases are, or will be."""
    return home_place() / WORK


def rehearsal_home(folder: Path) -> Path:
    """A home in which nothing is private, made in `folder`."""
    made = private_folder(folder)
    (made / _REHEARSALS).touch()
    return made


def is_rehearsal_home() -> bool:
    """Whether this program runs in such a home."""
    return (home_place() / _REHEARSALS).exists()


_REHEARSALS = "nothing-here-is-private"


def ledger_url() -> str:
    """SQLAlchemy URL of the ledger: `HALLMARK_LEDGER`, else an SQLite file in the home folder."""
    return os.environ.get(LEDGER_VARIABLE) or f"sqlite:///{home() / 'ledger.db'}"


def no_ledger_yet() -> bool:
    """Whether the ledger is a file that nobody has made; opening it would."""
    url = ledger_url()
    file = Path(url.removeprefix("sqlite:///"))
    return url.startswith("sqlite:///") and not file.exists() and file.parent.exists()


@dataclass(frozen=True)
class Workspace:
    """The restricted folder of one release."""

    path: Path

    @classmethod
    def of(cls, release: str) -> "Workspace":
        """The workspace of `release` under the home folder, created with mode 0700."""
        return cls(private_folder(home() / WORK / release))

    @classmethod
    def at(cls, release: str) -> "Workspace":
        """The workspace of `release`, whether there is one or not."""
        return cls(workspaces_place() / release)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the workspace for one run; the system lets go when the process ends, even killed.

        Coded records are there only meanwhile: a resumed run codes them anew.

        Raises:
            AlreadyRunning: another run holds it.
        """
        with (self.path / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyRunning(
                    f"another run of release {self.path.name!r} is under way; wait until it ends. "
                    "If it failed by then, run again with --resume"
                ) from None
            self._drop_codes()
            try:
                yield
            finally:
                self._drop_codes()

    def _drop_codes(self) -> None:
        # Workers of a killed run may be writing there still; what they leave goes next time.
        shutil.rmtree(self.path / "codes", ignore_errors=True)

    @property
    def codes(self) -> Path:
        """Folder of coded private records, a folder in it for each attempt to code them."""
        return private_folder(self.path / "codes")

    @property
    def plan(self) -> Path:
        """Folder of what is shown to those who decide about the plan."""
        return private_folder(self.path / "plan")

    @property
    def staging(self) -> Path:
        """Folder in which a release is assembled before it is published."""
        return private_folder(self.path / STAGING)

    @property
    def stages(self) -> Path:
        """When runs and their stages began."""
        return self.path / "stages.jsonl"

    @property
    def findings(self) -> Path:
        """Internal findings of the validation, with counts of failing rows."""
        return self.path / "validation.json"

    @property
    def offending(self) -> Path:
        """The page with private values that break rules of the spec."""
        return self.path / VALUES_PAGE

    @property
    def checked(self) -> Path:
        """What the last check of the table without a release found."""
        return self.path / CHECKED

    @property
    def review(self) -> Path:
        """The internal review report, which compares with the private data."""
        return self.path / "internal-review.html"

    @property
    def failures(self) -> Path:
        """Details of failures, which may quote private rows."""
        return self.path / FAILURES

    def forget(self) -> list[str]:
        """Remove what outlives its run for the steward alone; returns the names of what was there.

        Raises:
            AlreadyRunning: a run of the release is under way.
        """
        with self.held():
            kept = (self.offending, self.findings, self.checked, self.review, self.failures)
            there = [path for path in kept if path.exists()]
            for path in there:
                path.unlink()
        return [path.name for path in there]


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A draft that takes the place of `path` in one step: no reader ever sees half of it."""
    draft = path.with_name(f".{uuid4().hex}.{path.name}")
    try:
        yield draft
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    draft.replace(path)


def copy_database(one: Path, other: Path) -> None:
    """Copy an SQLite file that a server may have open; whole, or not at all."""
    with (
        whole(other) as draft,
        closing(sqlite3.connect(one)) as source,
        closing(sqlite3.connect(draft)) as target,
    ):
        source.backup(target)


def private_folder(folder: Path) -> Path:
    """`folder`, created where it does not exist, readable by its owner alone."""
    folder.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
    folder.chmod(PRIVATE_MODE)
    return folder
