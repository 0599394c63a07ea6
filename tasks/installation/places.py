"""Where the paths lead that a flow is given: on a server a run starts in a folder of its own, which
is deleted afterwards.

So what a run publishes has a configured home there (`HALLMARK_RELEASES`), in which relative paths
start; and what a run reads must be named by an absolute path. A command resolves its paths where it
is typed, before a flow sees them.
"""

import os
from pathlib import Path

from prefect.runtime import deployment

from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.server_mode import RELEASES
from hallmark.tasks.installation.workspace import home


class PathRefused(SafeError):
    """A path leads nowhere that would last, or nowhere that was meant."""


def releases_home() -> Path | None:
    """The folder that this installation publishes in; None where none is configured.

    Raises:
        PathRefused: it is no absolute path.
    """
    named = os.environ.get(RELEASES)
    if not named:
        return None
    if not Path(named).is_absolute():
        raise PathRefused(f"{RELEASES} is {named!r}; give an absolute path")
    return Path(named)


def out_folder(out: str | Path | None, *, otherwise: str = "releases") -> Path:
    """The absolute folder in which a run makes its release folder; it need not exist.

    A relative one starts in the configured home, else where the process runs.

    Args:
        otherwise: the folder where neither `out` nor a home is given.
    Raises:
        PathRefused: it would be deleted after the run, whose release would be lost with it.
    """
    there = releases_home()
    if out is not None and Path(out).is_absolute():
        folder = Path(out)
    elif there is not None:
        folder = there / (out or "")
    elif deployment.id is None:
        folder = Path(out or otherwise).absolute()
    else:
        says = "is not given" if out is None else f"is {str(out)!r}, a relative path"
        raise PathRefused(
            f"out: {says}, and a run on a server starts in a folder that is deleted afterwards; "
            f"give an absolute path, or set {RELEASES} for the worker. Nothing was drawn"
        )
    return _lasting(folder)


def release_folder(folder: str) -> Path:
    """The release folder that a run looks at; a relative one starts in the configured home.

    Raises:
        PathRefused: it is relative on a server without such a home.
    """
    there = releases_home()
    return given("folder", folder) if there is None else there / folder


def given(parameter: str, path: str) -> Path:
    """A path to something that a run reads.

    Raises:
        PathRefused: it is relative on a server.
    """
    if not Path(path).is_absolute() and deployment.id is not None:
        raise PathRefused(
            f"{parameter}: {path!r} is a relative path, and a run on a server starts in an empty "
            "folder; give the absolute path that it has where the worker runs"
        )
    return Path(path)


def _lasting(folder: Path) -> Path:
    passing = home() / "tmp"
    if passing in (resolved := folder.resolve(), *resolved.parents):
        raise PathRefused(
            f"out: {folder} is in {passing}, whose content is deleted; name another folder. "
            "Nothing was drawn"
        )
    return folder
