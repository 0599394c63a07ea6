"""Python and its packages, the home folder, the disk."""

import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from hallmark.tasks.doctor import Finding, ok, warn, wrong

GIB = 2**30
CONSTRAINTS = Path(__file__).parents[3] / "constraints.txt"

BREAKING: Mapping[str, tuple[str, str]] = {
    "fastapi": ("<0.155", "the Prefect server dies at its start"),
    "sqlalchemy": ("<2.1", "Prefect's scheduler runs, but silently never creates a run"),
}
"""Packages whose newer versions can be installed but do not work."""

_AT_MOST = 5  # packages that are named in one finding


def python(found: str = platform.python_version()) -> Iterator[Finding]:
    """Whether Hallmark supports this Python."""
    supported = metadata("hallmark")["Requires-Python"]
    if found in SpecifierSet(supported):
        yield ok("python", f"Python {found}")
    else:
        yield wrong(
            "python",
            f"Python {found}; Hallmark supports {supported}",
            "make a new environment: make PYTHON=python3.11 install",
        )


def packages(
    constraints: Path = CONSTRAINTS, breaking: Mapping[str, tuple[str, str]] = BREAKING
) -> Iterator[Finding]:
    """Whether the installed versions are the tested ones that `constraints` lists."""
    mend = "python -m pip install -c constraints.txt hallmark"
    bad = False
    for name, (allowed, harm) in breaking.items():
        there = _installed(name)
        if there is not None and not SpecifierSet(allowed).contains(there, prereleases=True):
            bad = True
            yield wrong("packages", f"{name} {there}: with {allowed} only, else {harm}", mend)
    missing = sorted(name for name in _needed() if _installed(name) is None)
    if missing:
        bad = True
        yield wrong("packages", f"not installed: {_some(missing)}", mend)
    if not constraints.exists():
        if not bad:
            yield ok("packages", "all are there; no constraints.txt says which were tested")
        return
    pins = _pins(constraints)
    others = [
        f"{name} {there}, not {pin.removeprefix('==')}"
        for name, pin in pins.items()
        if (there := _installed(name)) is not None and there not in SpecifierSet(pin)
    ]
    if others:
        yield warn("packages", f"versions that were not tested: {_some(others)}", mend)
    elif not bad:
        yield ok("packages", f"all versions are those of {constraints.name}")


def _needed() -> set[str]:
    """Packages that Hallmark itself requires, without the extras."""
    found = (Requirement(line) for line in requires("hallmark") or ())
    return {one.name for one in found if one.marker is None or one.marker.evaluate({"extra": ""})}


def _pins(constraints: Path) -> dict[str, str]:
    lines = constraints.read_text(encoding="utf-8").splitlines()
    pinned = (re.match(r"([A-Za-z0-9._-]+)(==[^\s;#]+)", line) for line in lines)
    return {canonicalize_name(found[1]): found[2] for found in pinned if found}


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _some(names: list[str]) -> str:
    rest = len(names) - _AT_MOST
    return ", ".join(names[:_AT_MOST]) + (f" and {rest} more" if rest > 0 else "")


def home_folder(path: Path) -> Iterator[Finding]:
    """Whether the home folder belongs to us, is writable, and is closed to others."""
    if not path.exists():
        yield ok("home", f"the first release will create {path}")
        return
    there = path.stat()
    if there.st_uid != os.getuid() or not os.access(path, os.W_OK | os.X_OK):
        yield wrong(
            "home",
            f"{path} belongs to another user, or cannot be written to",
            f"chown -R $(id -un) {path}, or name another folder in HALLMARK_HOME",
        )
    elif there.st_mode & 0o077:
        yield wrong(
            "home",
            f"others on this machine may enter {path}, which contains private records during a run",
            f"chmod 700 {path}",
        )
    else:
        yield ok("home", f"{path}, open only to its owner")


def disk(path: Path, *, wrong_below: int = GIB, warn_below: int = 10 * GIB) -> Iterator[Finding]:
    """Whether there is room for coded records and for data that workers spill."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    says = f"{free / GIB:.1f} GiB free under {path}"
    mend = "free some space, or move HALLMARK_HOME to a larger disk"
    if free < wrong_below:
        yield wrong("disk", says, mend)
    elif free < warn_below:
        yield warn("disk", says, mend)
    else:
        yield ok("disk", says)
