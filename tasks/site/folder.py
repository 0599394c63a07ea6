"""The folder of a site: known again by its list of files, and replaced as a whole."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
from hallmark.tasks.installation.errors import SafeError

_LIST = "site.json"
_FORMAT = "hallmark-site/1"


class SiteRefused(SafeError):
    """A site cannot be made as it was asked for."""


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder in which anything lies that is not of a site that was made before.

    Raises:
        SiteRefused: it is no folder, or holds something else.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise SiteRefused(f"{folder} is no folder; give another --out")
    there = set(_files(folder))
    foreign = sorted(there - _made(folder))
    if foreign:
        raise SiteRefused(
            f"{folder} holds {foreign[0]}, which `hallmark site` did not make, and all in the "
            "folder would be replaced; give another --out, or move that file away"
        )


@contextmanager
def whole_site(folder: Path) -> Iterator[Path]:
    """A draft that takes the place of `folder` when it is complete, and leaves nothing else."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{uuid4().hex}.{folder.name}")
    before = folder.with_name(f".{uuid4().hex}.{folder.name}")
    try:
        draft.mkdir()
        yield draft
        listed = {"format": _FORMAT, "files": sorted(_files(draft))}
        (draft / _LIST).write_text(json.dumps(listed, indent=1) + "\n", encoding="ascii")
        if folder.exists():
            folder.rename(before)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        if before.exists():
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _made(folder: Path) -> set[str]:
    """Names of the files of the site that was made in a folder; none where none was."""
    try:
        told = json.loads(bytes_of(folder / _LIST, MOST_DOCUMENT))
    except (OSError, ValueError):
        return set()
    if not isinstance(told, dict) or told.get("format") != _FORMAT:
        return set()
    return {_LIST, *map(str, told.get("files", []))}


def _files(folder: Path) -> Iterator[str]:
    """Whatever lies in a folder and is no folder, by its path within."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()
