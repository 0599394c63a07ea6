"""The list of faults, and how one is planted in a copy of the code."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faults.toml")
_SECONDS = 600  # the longest that tests may take to notice a fault
_OTHERS = ("HALLMARK_", "PREFECT_", "PYTEST_")  # settings of whoever runs this
_KEPT = ("HALLMARK_TEST_POSTGRES",)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A slip in one place of the code.

    Attributes:
        claim: what no longer holds.
        file: where, below the top of the repository.
        find: text that occurs once there.
        put: what is planted in its place.
        tests: files, or tests in them, at least one of which has to fail.
    """

    id: str
    claim: str
    file: str
    find: str
    put: str
    tests: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The file's text with the fault.

        Raises:
            ValueError: the text to find does not occur exactly once.
        """
        if (times := text.count(self.find)) != 1:
            raise ValueError(f"its text occurs {times} times in {self.file}")
        return text.replace(self.find, self.put)


@dataclass(frozen=True)
class Noticed:
    """How the tests ended, by pytest's exit status and what it printed."""

    status: int
    said: str

    @property
    def passed(self) -> bool:
        """Whether all tests passed, and so noticed nothing."""
        return self.status == 0

    @cached_property
    def caught_by(self) -> str | None:
        """The first test that failed; None where none did, or what failed is not a test."""
        found = re.search(r"^(?:FAILED|ERROR) (tests/\S+::[^\[\s]+)", self.said, re.MULTILINE)
        return found[1] if found and self.status == 1 else None


def faults() -> list[Fault]:
    """All faults, in the order of the list."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["fault"]
    return [Fault(**{**row, "tests": tuple(row["tests"])}) for row in listed]


def copied(source: Path, target: Path) -> Path:
    """A copy of a checkout: links stay links, and compiled code stays good."""
    left_out = shutil.ignore_patterns(".*", "build", "releases", "node_modules")
    shutil.copytree(source, target, symlinks=True, ignore=left_out)
    return target


@contextmanager
def planting(fault: Fault, tree: Path) -> Iterator[None]:
    """Plant a fault in a copy meanwhile.

    Raises:
        ValueError: as `Fault.planted`.
    """
    path = tree / fault.file
    sound, times = path.read_bytes(), path.stat()
    path.write_text(fault.planted(sound.decode()), encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(sound)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run(tests: Sequence[str], tree: Path, *, stop_early: bool = True) -> Noticed:
    """Run tests of a copy, without those that are slow or need services."""
    ours = {k: v for k, v in os.environ.items() if k in _KEPT or not k.startswith(_OTHERS)}
    options = ["-q", "-rfE", "-p", "no:cacheprovider", "--tb=line", *(["-x"] if stop_early else [])]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=tree,
            env=ours | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Noticed(-1, f"the tests did not end in {_SECONDS} seconds")
    return Noticed(done.returncode, done.stdout)
